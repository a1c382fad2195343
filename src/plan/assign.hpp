// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The assignment of clusters to nodes: an exact search. Each cluster has options (a set of nodes, a value, a
// cost); one of each is chosen, no node twice, so that the values' sum is large and the costs' sum small.
// First the best reachable sum is computed for every set of free nodes; then depth first, cut by it.
//
//     cluster 0   {0,1} 9.1  {2,3} 9.0 ...        best[k][free]: the most that clusters k, k+1, ... can have
//     cluster 1   {0,1} 4.2  {0,4} 3.9 ...        of the nodes in `free`; exact up to 16 nodes, above that
//     ...                                          the sum of each cluster's best (a bound that is looser)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/application.hpp"

namespace nigh {

// One way to place a cluster: group g goes to node nodes[g].
struct Option {
  std::uint64_t mask = 0;
  double value = 0;
  double cost = 0;
  std::vector<std::uint8_t> nodes;
};

struct OptionLimits {
  std::uint64_t allowed = ~std::uint64_t{0};  // nodes that may be used at all
  std::size_t most = 300'000;                 // options looked at for a cluster
};

struct Options {
  std::vector<Option>
      list;  // by falling value; of one set of nodes only those that are no worse in cost or value
  bool complete = true;  // false: there were more than could be looked at
};

// All ordered tuples of nodes for a cluster's groups, but of groups that are interchangeable (as many
// threads, and the traffic is the same after swapping them) in one order only. Ends when visit returns false.
void for_each_tuple(int nodes, const Cluster& cluster, std::uint64_t allowed,
                    const std::function<bool(const std::vector<std::uint8_t>&, std::uint64_t mask)>& visit);

// Value: weight times the bandwidth (MB/s) at which the cluster's accesses between its nodes can go on, in
// their proportions; cost: megabytes that change their node. Of tuples that differ in the order of
// interchangeable groups alone the one that moves least is kept.
Options find_options(const Links& links, const Cluster& cluster, const OptionLimits& limits = {});

struct Assignment {
  std::vector<std::size_t> chosen;  // an index into each cluster's options
  double value = 0;
  double cost = 0;
};

struct Assignments {
  std::vector<Assignment> list;
  bool exact = true;  // false: the search was stopped at its limit
};

struct AssignLimits {
  double keep = 0.9;  // of the best value is good enough, then costs decide
  std::size_t most_steps = 2'000'000;
};

// The cheapest of all assignments whose value is at least `keep` of the best (then the most valuable, then
// the first). An empty list: the clusters do not fit the nodes.
Assignments cheapest_good(const std::vector<Options>& clusters, int nodes, const AssignLimits& limits = {});

// The `count` most valuable ones, falling.
Assignments most_valuable(const std::vector<Options>& clusters, int nodes, std::size_t count,
                          const AssignLimits& limits = {});

}  // namespace nigh
