// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The neighbourhoods of a group's ranks: the ranks that share an L3, a NUMA node, a socket, as nested groups
// with one leader each. Collectives send across a border once and spread within. Pure: the caller says where
// each rank sits.
#pragma once

#include <vector>

namespace nigh::plan {

// The place of one rank, as numbers that are equal for ranks in the same domain; -1 when it is not known or
// the rank may run in several.
struct Seat {
  int cache = -1;  // the last-level cache
  int node = -1;   // the NUMA node
  int socket = -1;
};

struct Levels {
  // levels[0] is the innermost; groups[g] lists ranks in ascending order, the first is the leader. Only
  // levels that divide the ranks into more than one group, and at least one of them with more than one
  // member, are listed.
  struct Level {
    std::vector<std::vector<int>> groups;
  };
  std::vector<Level> levels;  // empty: flat
};

// Levels of ranks 0 .. seats.size()-1. Ranks of unknown seat form a domain together.
Levels levels_of(const std::vector<Seat>& seats);

// True if each level parts ranks 0 .. ranks-1 into ascending groups that are unions of groups of the level
// below.
bool nested(const Levels& levels, int ranks);

}  // namespace nigh::plan
