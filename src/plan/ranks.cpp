// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks are scattered as the threads of one team are, each with the whole of its part of the tree. Scatter
// lists the parts in tree order, which for ranks is "compact"; for "scatter" they are dealt out anew, one of
// each outermost object in turn.
#include "plan/ranks.hpp"

#include <algorithm>
#include <string>

#include "plan/split.hpp"

namespace nigh {

namespace {

// A part of the tree: its PUs, and the first of its leaves.
struct Part {
  CpuSet pus;
  int first = 0;
};

std::vector<Part> parts_of_leaves(const CoreTree& tree, int ranks) {
  std::vector<Part> parts;
  for (const Share& share : scatter_shares(Domain(tree), ranks, 1)) {
    Part part;
    part.first = *std::min_element(share.begin(), share.end());
    for (int leaf : share)
      for (int pu : tree.leaf(leaf).pus) part.pus.set(pu);
    parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
  return parts;
}

// More ranks than cores: runs of PUs, those of a core together.
std::vector<Part> parts_of_pus(const CoreTree& tree, int ranks) {
  std::vector<std::pair<int, int>> pus;  // PU and leaf
  for (int leaf = 0; leaf < tree.size(); ++leaf)
    for (int pu : tree.leaf(leaf).pus) pus.emplace_back(pu, leaf);
  std::vector<Part> parts(static_cast<std::size_t>(ranks));
  std::size_t count = pus.size();
  for (std::size_t r = 0; r < parts.size(); ++r) {
    std::size_t first = r * count / parts.size(), last = (r + 1) * count / parts.size();
    parts[r].first = pus[first].second;
    for (std::size_t i = first; i < last; ++i) parts[r].pus.set(pus[i].first);
  }
  return parts;
}

// The outermost object that divides the tree and holds the leaf.
int outermost_of(const CoreTree& tree, int leaf) {
  const auto& children = tree.node(0).children;
  for (std::size_t i = 0; i < children.size(); ++i)
    if (tree.node(children[i]).holds(leaf)) return static_cast<int>(i);
  return 0;
}

void deal_out(const CoreTree& tree, std::vector<Part>& parts) {
  std::vector<std::pair<std::pair<int, int>, std::size_t>> order;  // (turn, object), part
  std::vector<int> turns(std::max<std::size_t>(tree.node(0).children.size(), 1), 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    int object = outermost_of(tree, parts[i].first);
    order.push_back({{turns[static_cast<std::size_t>(object)]++, object}, i});
  }
  std::sort(order.begin(), order.end());
  std::vector<Part> dealt;
  for (const auto& entry : order) dealt.push_back(parts[entry.second]);
  parts = std::move(dealt);
}

}  // namespace

Result<RankBinding> rank_binding_from(std::string_view name) {
  for (RankBinding one : {RankBinding::compact, RankBinding::scatter, RankBinding::none})
    if (name == rank_binding_name(one)) return one;
  return fail(Errc::invalid, "'" + std::string(name) + "' is none of compact, scatter, none");
}

const char* rank_binding_name(RankBinding binding) {
  switch (binding) {
    case RankBinding::compact: return "compact";
    case RankBinding::scatter: return "scatter";
    case RankBinding::none: break;
  }
  return "none";
}

std::vector<CpuSet> rank_shares(const CoreTree& tree, int ranks, RankBinding binding) {
  NIGH_CHECK(ranks >= 1);
  if (binding == RankBinding::none || ranks > tree.pu_count())
    return std::vector<CpuSet>(static_cast<std::size_t>(ranks), tree.mask);
  std::vector<Part> parts = ranks <= tree.size() ? parts_of_leaves(tree, ranks) : parts_of_pus(tree, ranks);
  if (binding == RankBinding::scatter) deal_out(tree, parts);
  std::vector<CpuSet> shares;
  for (const Part& part : parts) shares.push_back(part.pus);
  return shares;
}

}  // namespace nigh
