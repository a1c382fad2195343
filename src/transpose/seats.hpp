// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The PUs of a transpose's threads: as the planner says, spread over the NUMA nodes and caches that they may
// use, since memory is what bounds them. The calling thread is the program's and is left where it is.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"

namespace nigh::transpose {

// This process's threads among those of all processes that share its CPUs.
struct Sharing {
  int first = 0, all = 1;
};

// For Team. NIGH_TRANSPOSE_BIND=scatter (the default), compact or none; empty: none, or there are more
// threads than CPUs. The planner is asked once for each number of threads and mask.
std::vector<CpuSet> seats(int threads, const Sharing& sharing);
// ", on CPUs 0,2": of the threads that have a seat.
std::string seats_text(const std::vector<CpuSet>& seats);

}  // namespace nigh::transpose
