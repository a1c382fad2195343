// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's NUMA balancing in /proc: whether it runs, the number of pages it moved, and for each thread
// the faults by memory node (/proc/PID/task/TID/sched, kernel/sched/debug.c, CONFIG_SCHED_DEBUG).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sys/os.hpp"

namespace nigh::watch {

// True if the kernel provokes hint faults: bit 0 of kernel.numa_balancing (bit 1 is for memory tiers only).
bool numa_balancing(const sys::Os& os);

// numa_pages_migrated of /proc/vmstat, 0 where it is not told.
std::uint64_t pages_moved_by_kernel(const sys::Os& os);

// A thread's file `sched`. The counts are the kernel's decaying ones: at the end of each scan pass, new = old
// / 2
// + the faults of the pass, in pages.
struct ThreadFaults {
  double runtime_ms = 0;        // se.sum_exec_runtime
  long scan_pass = 0;           // mm->numa_scan_seq
  std::vector<double> by_node;  // private and shared faults, index = OS number of the memory's node
};
// Nothing where the text holds no line "numa_faults node=": a kernel without NUMA balancing.
std::optional<ThreadFaults> parse_sched(const std::string& text);

// The faults between two such states; nothing happened where no pass ended or the thread did not run.
std::vector<double> fresh_faults(const ThreadFaults& before, const ThreadFaults& now);

}  // namespace nigh::watch
