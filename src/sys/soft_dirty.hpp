// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The writable pages of a process made to fault again at their next write, so as to see who writes them
// (/proc/PID/clear_refs, the kernel's admin-guide/mm/soft-dirty).
#pragma once

#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

// True if the kernel tracks soft-dirty pages (CONFIG_MEM_SOFT_DIRTY): a page that was just written must carry
// the bit in /proc/self/pagemap.
bool soft_dirty_works();

// Write-protects all pages of a process, so that the next write to each is a minor fault. Takes time in
// proportion to its resident memory. Errors: permission (the process of another user), io.
Result<void> clear_soft_dirty(const Os& os, int pid);

}  // namespace nigh::sys
