// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// malloc and its family over jemalloc in the slot; libc's own when there is no slot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

void heap_start();       // the slot is there
void heap_aside();       // there will be none
void heap_ready();       // libc is up
void heap_watch_libc();  // from now on every call of libc's allocator goes through libc_heap.hpp
// jemalloc's three fork handlers.
void heap_before_fork();
void heap_after_fork();
void heap_in_child();

// This thread's allocation is zeroed by writing, not by giving pages back.
extern constinit thread_local bool t_zeroing __attribute__((tls_model("initial-exec")));

// Defined by the library that holds this code, or not at all: blocks of fewer bytes stay private, since
// nobody reads them where they lie.
__attribute__((weak)) std::size_t least_shared();

}  // namespace nigh::space
