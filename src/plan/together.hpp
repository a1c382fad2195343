// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// All sibling teams of one nesting level in the whole machine: what an inner level with plain compact or
// scatter means. No team may be planned alone here, since each could take the seats of the others; so they
// are seated in rounds (thread 1 of every team, thread 2 of every team, ...) on a common count of what is
// taken, after all masters. The same is used for a root thread that comes when others are there already.
#pragma once

#include <vector>

#include "plan/place.hpp"

namespace nigh {

// Teams of `threads` opened by each of `masters`; team r's thread j is entry r * threads + j of the answer.
// `taken` counts threads that are there besides the masters.
std::vector<Place> plan_together(const CoreTree& tree, Strategy strategy, const std::vector<Place>& masters,
                                 int threads, int weight, const Occupancy& taken);

// The start of a later root thread: from the top of the tree down, always into the least loaded part.
Place start_beside(const CoreTree& tree, const Occupancy& taken);

}  // namespace nigh
