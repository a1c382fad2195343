// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The map of a job's ranks, so that ranks that send each other much are near each other. It is hierarchical
// multisection followed by exchanges of pairs (Schulz and Traeff, Better Process Mapping and Sparse Quadratic
// Assignment, SEA 2017): ranks are partitioned into nodes, those of a node into packages, and so on inwards.
// Pure and deterministic: the same map for the same question.
//
//     bytes that cross     nodes   packages   NUMA nodes   caches
//     each counts          1       1/4        1/16         1/64      (the outermost that they cross)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/traffic.hpp"

namespace nigh {

// The places for ranks, one slot for each rank, in the order in which a launcher fills them. Slots of one
// group of a level follow each other and are of one group of the level before.
struct RankSlots {
  struct Level {
    std::string name;        // "node", "package", "numa", "l3"
    double cost = 1;         // of a byte between two groups of it, within one of the level before
    std::vector<int> group;  // of each slot: 0, 1, ..., each one used
  };
  std::vector<Level> levels;  // outermost first
  [[nodiscard]] int slots() const {
    return levels.empty() ? 0 : static_cast<int>(levels.front().group.size());
  }
};
// Nodes that are all alike: `inner` holds the groups of the slots of one node, outermost level first, and its
// cost is ignored.
RankSlots slots_of_nodes(int nodes, int ranks, int slots_of_node, const std::vector<RankSlots::Level>& inner);

struct RankMap {
  std::vector<int> slot;  // of each rank
  std::vector<double>
      crossed;  // bytes that leave a group of each level; those of the levels before count, too
  double cost = 0;
};

// Computes the cost of a map. Requires: as many slots as ranks.
RankMap valued(const Traffic& traffic, const RankSlots& slots, std::vector<int> slot);
// Rank i on slot i.
RankMap map_in_order(const Traffic& traffic, const RankSlots& slots);
// One rank to each group of the outermost level in turn, as `--map-by node` and Slurm's cyclic do.
RankMap map_in_turn(const Traffic& traffic, const RankSlots& slots);
// The best that was found; in order where nothing costs less.
RankMap map_ranks(const Traffic& traffic, const RankSlots& slots);

}  // namespace nigh
