// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Scratch memory of a thread, got and given back for every few rows. malloc would give what is as large back
// to the kernel each time, and the next use would fault its pages in again: a third of a transform's time.
#pragma once

#include <cstddef>

namespace nigh::fft {

// At a cache line. nullptr: there is none.
void* get_workspace(std::size_t bytes) noexcept;
// From any thread; nullptr is nothing.
void give_workspace(void* memory) noexcept;

}  // namespace nigh::fft
