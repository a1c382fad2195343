// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What can be asked of, and done to, the pages of another process so as to see who touches them: on which
// node each lies (move_pages(2) without targets), the writable ones made to fault again at their next write
// (/proc/PID/clear_refs, the kernel's admin-guide/mm/soft-dirty).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

// Bytes of a small page.
std::uint64_t page_size();

// The node of the page at each address, or a negative errno of the kernel (-ENOENT: no page there now; before
// Linux 6.4 also a page that waits for a NUMA hint fault). Errors: permission (the process of another user:
// needs CAP_SYS_PTRACE), io (it has ended), unsupported (a kernel without NUMA).
Result<std::vector<int>> page_nodes(int pid, std::span<const std::uint64_t> addresses);

// Whether the kernel tracks soft-dirty pages (CONFIG_MEM_SOFT_DIRTY): a page that was just written must carry
// the bit in /proc/self/pagemap.
bool soft_dirty_works();

// Write-protects all pages of a process, so that the next write to each is a minor fault. Takes time in
// proportion to its resident memory. Errors: permission (the process of another user), io.
Result<void> clear_soft_dirty(const Os& os, int pid);

}  // namespace nigh::sys
