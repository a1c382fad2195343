// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The levels within a node, for a map of ranks: who of the ranks of a node shares a package, a NUMA node, an
// L3.
#pragma once

#include <vector>

#include "base/cpuset.hpp"
#include "machine/machine.hpp"
#include "plan/rank_map.hpp"

namespace nigh {

// `shares`: the PUs of each slot of a node, in the order of the tree (rank_shares with RankBinding::compact).
// A rank whose share spans several objects is counted to that of its first PU. Levels that all slots share,
// or that say the same as the level around them, are left out.
std::vector<RankSlots::Level> levels_of_shares(const Machine& machine, const std::vector<CpuSet>& shares);

}  // namespace nigh
