// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The CPU of each thread of a job on its node, by the planner. This library is opened for that, so that a
// library of ours that starts threads needs no topology library.
#pragma once

#include <vector>

#include "base/cpuset.hpp"

namespace nigh::sys {

enum class Bind { scatter, compact, none };

// Threads of several processes share a node's CPUs: this one's are `first` and those behind it, of `all`.
struct Places {
  CpuSet usable;
  int first = 0, all = 1;
  std::vector<int> cpus = {};  // of each thread of `all`; empty: they stay where they are
};

CpuSet usable_cpus();

// Neighbours next to each other along the machine's tree, and a core each while there are enough. No CPUs:
// there are more threads than CPUs. Without a planner (`library`; libnigh.so.0 beside this library) in the
// order of the CPUs' numbers. `machine`: as for nigh_planner_new().
Places plan_places(const CpuSet& usable, int first, int all, Bind bind, const char* machine = nullptr,
                   const char* library = nullptr);

}  // namespace nigh::sys
