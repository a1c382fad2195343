// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Huge pages for the slot. The kernel gives a memfd none by itself (shmem_enabled=never nearly everywhere),
// so
//   touch  the slot is a file of a tmpfs of our own (sys/raw_tmpfs.hpp): blocks of malloc of 2 MiB or more
//          are advised, and the first touch of each 2 MiB within makes a huge page: 4 KiB cost a quarter of
//          an anonymous small page, and nothing that the program does not touch is populated;
// and where that is refused, MADV_COLLAPSE makes them on request: touch one byte of each 2 MiB, then
// collapse, and 4 KiB cost 280 ns instead of 2630, peers' faults 20 instead of 316, page tables a tenth:
//   eager  when such a block is made, with one NUMA node (else the first touch decides where pages lie, and
//          must stay the program's), up to 1 GiB, so that a sparse block of any size is not populated;
//   lazy   collapse(), before the first transfer of a buffer: the pages are there already.
// Blocks get at most an eighth of the memory that is free, shared among the ranks. Nothing is collapsed where
// ranks outnumber CPUs, nor for a while after collapses that took longer than they are worth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

// Decides, when ranks and nodes are known. The file for a slot of `span` bytes, or -1: a memfd will do.
long huge_start(std::uint64_t span);
void huge_opened(std::uintptr_t lo, std::size_t bytes);  // just handed out
void huge_forget(std::uintptr_t lo, std::size_t bytes);  // about to be emptied
// A block of malloc, or of a program that asked for huge pages; not touched yet.
void huge_block(std::uintptr_t lo, std::size_t bytes);
// True while a huge page costs less than the 512 small ones in its place. A virtual machine whose host takes
// free memory back (balloon, free page reporting) may have to fetch it again: 4 to 8 ms instead of 0.2 were
// seen.
bool huge_is_cheap();
// Touched bytes.
void huge_collapse(std::uintptr_t lo, std::size_t bytes);

int huge_explain(char* text, std::size_t bytes);  // one line, or none, as snprintf

}  // namespace nigh::space
