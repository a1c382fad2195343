// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The choice of a PE for each element, given its cost: level by level from the outermost (sockets, NUMA
// nodes, shared caches, PEs), so that only the surplus of a whole group crosses a border. Within a level by
// greed: the largest surplus first, to the member that has least. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/levels.hpp"

namespace nigh::chare {

struct Load {
  std::uint64_t element = 0;
  std::uint64_t ns = 0;  // of its entry methods
  std::uint32_t pe = 0;  // where it is
};
struct Move {
  std::uint64_t element = 0;
  std::uint32_t from = 0, to = 0;
};

// Nobody has more than 1.02 times the average, or one element more than that. No moves at all if the busiest
// PE would gain less than 2 %.
// `fixed`: what each PE has to do besides, in ns; empty: nothing.
std::vector<Move> balance(const std::vector<Load>& loads, std::uint32_t pes, const plan::Levels& levels,
                          std::vector<double> fixed = {});

}  // namespace nigh::chare
