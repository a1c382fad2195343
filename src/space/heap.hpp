// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// malloc and its family over jemalloc in the slot; libc's own when there is no slot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

void heap_start();  // the slot is there
// jemalloc's three fork handlers.
void heap_before_fork();
void heap_after_fork();
void heap_in_child();

}  // namespace nigh::space
