// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The processes of a machine with the PUs that their threads may use, from /proc. Processes that end while
// they are looked at are left out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "sys/os.hpp"

namespace nigh::report {

struct ThreadView {
  int tid = 0;
  std::string name;
  CpuSet pus;    // that it may use
  int cpu = -1;  // where it ran last
  double cpu_seconds = 0;
};

// The memory of a process by node.
struct MemoryView {
  double resident_mib = 0, huge_mib = 0;  // of it in pages of 2 MiB or more
  std::map<int, double> by_node;          // MiB on each NUMA node; empty: the kernel does not say it
};

struct ProcessView {
  int pid = 0;
  std::string command;   // its words, or its name in brackets where it shows none (kernel threads)
  double megabytes = 0;  // resident; what it shares with others counts, too
  std::vector<ThreadView> threads;

  [[nodiscard]] CpuSet pus() const;         // of all its threads
  [[nodiscard]] int bound_threads() const;  // that have one PU
  // True if a thread may use fewer PUs than are online.
  [[nodiscard]] bool is_restricted(const CpuSet& online) const;
};

CpuSet online_pus(const sys::Os& os);
// Those with these numbers, in their order; without numbers all that have words, ascending.
std::vector<ProcessView> processes(const sys::Os& os, const std::vector<int>& pids);
// The kernel walks all its pages: 10 to 20 ms for each GB. None: it has ended, or may not be looked at.
std::optional<MemoryView> memory_of(const sys::Os& os, int pid);

}  // namespace nigh::report
