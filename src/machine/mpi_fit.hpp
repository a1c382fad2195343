// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From times of messages to the few figures of max-rate (transfer.hpp). Each k's times are straight lines
// over the size, one for each protocol of the MPI library; where one ends and the next begins is what the
// fit finds. Weights are relative: a microsecond counts as much of ten as a millisecond of ten. Pure.
#pragma once

#include <vector>

#include "machine/transfer.hpp"

namespace nigh {

// us that messages of `bytes` took, one from each of k processes of every node at the same time.
struct MpiPoint {
  int k = 1;
  double bytes = 0;
  double us = 0;
  friend bool operator==(const MpiPoint&, const MpiPoint&) = default;
};

// us that the global reorder of Haan took, but for what stays on a node: of k processes on each of some
// nodes, in messages of `bytes`. In step s each rank sends to the s-th after it, so in the first and in the
// last k - 1 steps only 1, 2, ... processes of a node send; what those steps take is taken to lie on a line
// between what one process and what k take. Gives the us of one message in such a sequence. Sizes that one
// process alone was not measured with are left out.
std::vector<MpiPoint> points_of_reorder(const std::vector<MpiPoint>& reorders, int nodes);

// Points of one k = 1, and of one larger k if several processes were measured; any order. Less than two
// points of k = 1, or times that don't grow, give an empty network.
Network fit_network(const std::vector<MpiPoint>& points);

}  // namespace nigh
