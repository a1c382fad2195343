// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Two heaps, libc's and ours, that keep what the program uses by turns need twice its memory. So when one of
// them gets a large block, as much that is free in the other goes back to the kernel, if it is an eighth of
// the process's memory. A program that goes on by turns faults it in again, up to 3 us a page, so there is a
// budget: 64 MiB, and 16 MiB for each second of CPU time (50 ms, and a hundredth).
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

constexpr std::size_t kLeastIdle = std::size_t{4} << 20;  // smaller blocks are not looked at

// A block of ours became free, or (negative) was used again or returned.
void trim_note(std::int64_t bytes);
// A block has just been made in our heap, or in libc's.
void trim_for_ours(std::uintptr_t lo, std::size_t bytes);
void trim_for_libcs(std::size_t bytes);

}  // namespace nigh::space
