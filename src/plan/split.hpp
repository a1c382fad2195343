// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One team in one domain: the two basic moves of the planner. The domain is the whole mask (outermost team)
// or the territory of the thread that opens the team (sub* strategies); the team's thread 0 keeps its
// parent's seat, the others get disjoint shares of the domain while there are enough leaves.
#pragma once

#include <vector>

#include "plan/place.hpp"

namespace nigh {

// Some PUs of one leaf, in SMT order.
struct RankRange {
  int first = 0, ranks = 1;
};

// A set of leaves of a tree, seen through the tree.
class Domain {
 public:
  // The leaves of a territory; its first leaf is the anchor. Of the other leaves, the PUs that other root
  // threads' plans take least are used, the first run of them in SMT order (all, where nobody is).
  Domain(const CoreTree& tree, const Territory& territory, const Occupancy& taken);
  // All leaves; the anchor is the tree's first.
  explicit Domain(const CoreTree& tree);

  [[nodiscard]] const CoreTree& tree() const { return *tree_; }
  [[nodiscard]] int anchor() const { return anchor_; }
  [[nodiscard]] int size() const { return before_.back(); }
  [[nodiscard]] bool holds(int leaf) const { return capacity_between(leaf, leaf + 1) == 1; }
  // Number of the domain's leaves below a node.
  [[nodiscard]] int capacity(const TreeNode& node) const { return capacity_between(node.first, node.last); }
  // The domain's leaves below a node, in tree order.
  [[nodiscard]] std::vector<int> leaves_of(const TreeNode& node) const;
  // Children of a node that hold leaves of the domain.
  [[nodiscard]] std::vector<int> children_of(const TreeNode& node) const;
  // The smallest node below which the whole domain lies; chains that the domain cuts into are walked down.
  [[nodiscard]] int top() const;
  // PUs of a leaf that belong to the domain: [first rank, first rank + ranks).
  [[nodiscard]] RankRange ranks(int leaf) const;

 private:
  [[nodiscard]] int capacity_between(int first, int last) const {
    return before_[static_cast<std::size_t>(last)] - before_[static_cast<std::size_t>(first)];
  }
  const CoreTree* tree_;
  const Occupancy* taken_ = nullptr;
  int anchor_ = 0;
  RankRange anchor_ranks_;
  std::vector<int> before_;  // before_[i]: leaves of the domain with a number below i
};

using Share = std::vector<int>;  // leaves; the first one is the seat

// Shares as far apart as possible: in tree order, cut as high in the tree as possible. Every thread stands
// for `weight` threads of deeper levels. More threads than leaves: single leaves, repeated.
std::vector<Share> scatter_shares(const Domain& domain, int threads, int weight);

// Shares as close as possible to the anchor, `weight` leaves each; nearest first.
std::vector<Share> compact_shares(const Domain& domain, int threads, int weight);

// A team of `threads` opened by `parent`; `domain` must hold the parent's seat as its anchor.
std::vector<Place> plan_team(const Domain& domain, Strategy strategy, const Place& parent, int threads,
                             int weight);

// The range of the k-th of `count` threads that share `ranks` PUs of a leaf from `first` on. Each gets up to
// `weight` ranks, the last one the rest; with more threads than PUs, blocks of threads on one PU.
RankRange share_ranks(RankRange range, int count, int k, int weight);

}  // namespace nigh
