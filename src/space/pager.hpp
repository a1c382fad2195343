// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Hands out page ranges of the slot and takes them back: what malloc's allocator and the program's own mmap
// both stand on. A range that was handed out is open (its protection), dumped in cores, and reads as zeros;
// one taken back is closed (touching it faults, as after munmap), left out of cores, and its memory is given
// back to the kernel. In the child of a fork the same addresses go on with private memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "space/ranges.hpp"

namespace nigh::space {

constexpr int kOpen = PROT_READ | PROT_WRITE;

void pager_start();

// `bytes` is a multiple of the page. 0: no room, or not affordable.
std::uintptr_t pager_take(std::size_t bytes, std::size_t align, int prot);
// These addresses and no others. False: some are in use.
bool pager_take_at(std::uintptr_t lo, std::size_t bytes, int prot);
void pager_give(std::uintptr_t lo, std::size_t bytes);
// The effect of madvise(MADV_DONTNEED) on private memory: the range reads as zeros from now on.
bool pager_empty(std::uintptr_t lo, std::size_t bytes);
// MAP_FIXED of anonymous memory over the slot: zeros, whatever was there.
bool pager_renew(std::uintptr_t lo, std::size_t bytes, int prot);
// Something else was mapped over [lo, lo + bytes) of the slot: peers don't see it.
void pager_note_hole(std::uintptr_t lo, std::size_t bytes);
// True if the whole range is handed out, and nothing else is mapped over it.
bool pager_is_ours(std::uintptr_t lo, std::size_t bytes);
bool pager_has_hole(std::uintptr_t lo, std::size_t bytes);
std::uint64_t pager_used();

// Memory for the heap: of the slot, or private from the overflow range; 0: none at all.
std::uintptr_t pager_heap(std::uintptr_t hint, std::size_t bytes);
void pager_heap_give(std::uintptr_t lo, std::size_t bytes);

// Around a fork.
void pager_before_fork();
void pager_after_fork();
void pager_in_child();
// For the child, single-threaded.
const Ranges& pager_free();
const Ranges& pager_holes();

}  // namespace nigh::space
