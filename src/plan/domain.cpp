// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Domain counts leaves with prefix sums, since a node is a range of leaves: any capacity is one subtraction.
#include <algorithm>

#include "plan/split.hpp"

namespace nigh {

Domain::Domain(const CoreTree& tree, const Territory& territory, const Occupancy& taken)
    : tree_(&tree),
      taken_(&taken),
      anchor_(territory.leaves.front()),
      anchor_ranks_{territory.first_rank, territory.ranks},
      before_(static_cast<std::size_t>(tree.size()) + 1, 0) {
  for (int leaf : territory.leaves) before_[static_cast<std::size_t>(leaf) + 1] = 1;
  for (std::size_t i = 1; i < before_.size(); ++i) before_[i] += before_[i - 1];
}

Domain::Domain(const CoreTree& tree)
    : tree_(&tree),
      anchor_ranks_{0, tree.leaf(0).ranks()},
      before_(static_cast<std::size_t>(tree.size()) + 1) {
  for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = static_cast<int>(i);
}

RankRange Domain::ranks(int leaf) const {
  if (leaf == anchor_) return anchor_ranks_;
  if (taken_ == nullptr) return {0, tree_->leaf(leaf).ranks()};
  const auto& used = (*taken_)[static_cast<std::size_t>(leaf)];
  auto first = std::min_element(used.begin(), used.end());
  auto last = std::find_if(first, used.end(), [&](int threads) { return threads != *first; });
  return {static_cast<int>(first - used.begin()), static_cast<int>(last - first)};
}

std::vector<int> Domain::leaves_of(const TreeNode& node) const {
  std::vector<int> out;
  for (int leaf = node.first; leaf < node.last; ++leaf)
    if (holds(leaf)) out.push_back(leaf);
  return out;
}

std::vector<int> Domain::children_of(const TreeNode& node) const {
  std::vector<int> out;
  for (int child : node.children)
    if (capacity(tree_->node(child)) > 0) out.push_back(child);
  return out;
}

int Domain::top() const {
  int at = 0;
  for (;;) {
    auto inside = children_of(tree_->node(at));
    if (inside.size() != 1) return at;
    at = inside.front();
  }
}

}  // namespace nigh
