// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Huge pages for the slot. The kernel gives a file of memory none by itself (shmem_enabled=never nearly
// everywhere), but MADV_COLLAPSE makes them on request: touch one byte of each 2 MiB, then collapse, and 4
// KiB cost 280 ns instead of 2630, peers' faults 20 instead of 316, and page tables a tenth. Two occasions:
//   eager  a block of malloc of 2 MiB or more, when there is one NUMA node (else the first touch decides
//          where pages lie, and must stay the program's), and memory is ample: at most an eighth of what is
//          free, shared among the ranks, and 1 GiB, so that a sparse block of any size is not populated;
//   lazy   collapse(), before the first transfer of a buffer: the pages are there already.
// Neither where ranks outnumber CPUs, nor for a while after collapses that took longer than they are worth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

void huge_start();
void huge_opened(std::uintptr_t lo, std::size_t bytes);  // just handed out
void huge_forget(std::uintptr_t lo, std::size_t bytes);  // about to be emptied
bool huge_is_eager();
// A block of malloc, or of a program that asked for huge pages; not touched yet.
void huge_block(std::uintptr_t lo, std::size_t bytes);
// Touched bytes.
void huge_collapse(std::uintptr_t lo, std::size_t bytes);

}  // namespace nigh::space
