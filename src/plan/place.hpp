// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The place of a thread and the part of the machine that it may hand on to the teams it opens. A seat is a
// leaf (core) and an SMT rank on it; the territory is the leaves that sub* strategies of inner teams may use.
// Several threads may have to share one leaf: then each has its own range of the leaf's ranks, so that
// territories stay disjoint down to the PU as long as there are PUs.
//
//     territory.leaves   [5, 6, 7, 4]      the seat's leaf first, the others whole
//     ranks of leaf 5    first_rank .. first_rank + ranks - 1; the seat has first_rank
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/core_tree.hpp"
#include "plan/spec.hpp"

namespace nigh {

struct Territory {
  std::vector<int> leaves;
  int first_rank = 0;
  int ranks = 0;
};

// Why a thread is where it is; turned into words only when someone reads it.
struct Why {
  enum class Kind : std::uint8_t { start, later_start, split, packed, far_part, nearest };
  Kind kind = Kind::start;
  bool kept = false;  // by thread 0 of a deeper team: the rest says why its parent is there
  Strategy strategy = Strategy::compact;
  int part = 0, parts = 0;  // which share of how many (split, packed, far_part)
  nigh::Kind over = nigh::Kind::machine;
  int over_count = 0;                   // split: over how many objects of that kind
  int threads = 0, cores = 0, pus = 0;  // of the domain, when a core has to be shared
  int sharing = 1;                      // threads of the team (or teams) on this core
};

struct Place {
  int leaf = 0;
  int rank = 0;
  Territory territory;
  Why why;
};

// Threads per PU, [leaf][rank].
using Occupancy = std::vector<std::vector<int>>;
Occupancy nobody(const CoreTree& tree);

inline int pu_of(const CoreTree& tree, const Place& place) {
  return tree.leaf(place.leaf).pus[static_cast<std::size_t>(place.rank)];
}

// One short sentence for people.
std::string reason(const CoreTree& tree, const Place& place);

}  // namespace nigh
