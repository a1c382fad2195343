// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Cuts a set of ranks into parts of exact sizes, so that few bytes go between the parts: multilevel
// bisection by heavy-edge matching (Karypis and Kumar, A Fast and High Quality Multilevel Scheme for
// Partitioning Irregular Graphs, SIAM J. Sci. Comput. 20, 1998), refined by Fiduccia and Mattheyses' moves (A
// Linear-Time Heuristic for Improving Network Partitions, DAC 1982), then all pairs of parts once more. Pure
// and deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/traffic.hpp"

namespace nigh {

// The part of each of `ranks`, in their order. Requires: `sizes` add up to the number of ranks. `tries`: how
// many partitions are made, of which the best is returned; the numbers of `random` decide which.
std::vector<int> partition(const Traffic& traffic, const std::vector<int>& ranks,
                           const std::vector<int>& sizes, int tries, std::uint64_t random);

// Improves parts that are there, whose sizes stay. `part` holds a part, 0 to parts - 1, for each of `ranks`.
void refine(const Traffic& traffic, const std::vector<int>& ranks, int parts, std::vector<int>& part);

}  // namespace nigh
