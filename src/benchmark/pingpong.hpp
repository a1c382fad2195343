// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The distance of two PUs at this moment. On a rented machine the hypervisor may move virtual CPUs between
// cores that share a cache and cores that don't, and timings of the two states must not be mixed. So two
// threads bound to the first two allowed PUs hand a cache line to and fro before and after each sample.
#pragma once

#include <string>
#include <vector>

#include "sys/threads.hpp"

namespace nigh::benchmark {

// One way, in ns; up to this two PUs are "near" (they share a cache: 5 to 50 ns on machines of today), above
// it "far" (another cache, die or socket: 80 ns and more).
constexpr double near_below_ns = 65.0;
// No two cores are this far apart: the threads never ran at the same time, on a machine that is busy with
// others.
constexpr double nowhere_above_ns = 1000.0;

// "near", "far"; "n/a" for an unknown time (negative, or nowhere).
std::string core_state_of(double one_way_ns);
// The state of a sample from the readings around it: "n/a" if it changed in between.
std::string core_state_between(double before_ns, double after_ns);

class PingPong {
 public:
  // Between the first two PUs given; with fewer than two there is nothing to measure.
  explicit PingPong(const std::vector<int>& pus);
  // One-way time in ns, the least over many short stretches: 3 ms when that finds them near, else up to 30
  // ms. -1 if it can't be measured.
  double measure();

 private:
  std::vector<int> pus_;
  sys::Crew crew_;
};

}  // namespace nigh::benchmark
