// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Compact fills the leaves around the anchor, nearest first, `weight` of them for each thread. While all
// fits, a share does not straddle two objects if whole objects can hold it: teams of two get the two cores
// of one L2 rather than one core of each of two.
#include <algorithm>
#include <cstdint>

#include "plan/split.hpp"

namespace nigh {

namespace {
struct Packer {
  const Domain& domain;
  int threads;
  int weight;

  [[nodiscard]] const TreeNode& node(int index) const { return domain.tree().node(index); }

  // The smallest object that holds the anchor and all the leaves that are needed.
  [[nodiscard]] int smallest_holding(std::int64_t needed) const {
    int at = 0;
    for (bool descended = true; descended;) {
      descended = false;
      for (int child : node(at).children)
        if (node(child).holds(domain.anchor()) && domain.capacity(node(child)) >= needed) {
          at = child;
          descended = true;
          break;
        }
    }
    return at;
  }

  // The innermost objects that hold `weight` leaves.
  void collect_hosts(int index, std::vector<int>& hosts) const {
    std::size_t before = hosts.size();
    for (int child : node(index).children)
      if (domain.capacity(node(child)) >= weight) collect_hosts(child, hosts);
    if (hosts.size() == before) hosts.push_back(index);
  }

  // Shares that each lie inside one innermost object; fewer than `threads` if there are not enough, or if
  // the anchor's own object is too small.
  [[nodiscard]] std::vector<Share> aligned(int inside, const std::vector<int>& order) const {
    std::vector<int> position(static_cast<std::size_t>(domain.tree().size()), -1);
    for (std::size_t i = 0; i < order.size(); ++i)
      position[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    std::vector<int> hosts;
    collect_hosts(inside, hosts);
    std::vector<std::vector<int>> places;  // positions in `order`, nearest host first
    for (int host : hosts) {
      auto& at = places.emplace_back();
      for (int leaf : domain.leaves_of(node(host))) at.push_back(position[static_cast<std::size_t>(leaf)]);
      std::sort(at.begin(), at.end());
    }
    std::sort(places.begin(), places.end());
    std::vector<Share> shares;
    if (places.front().front() != 0) return shares;
    auto wide = static_cast<std::size_t>(weight);
    for (const auto& at : places)
      for (std::size_t i = 0; i + wide <= at.size() && static_cast<int>(shares.size()) < threads; i += wide) {
        auto& share = shares.emplace_back();
        for (std::size_t k = i; k < i + wide; ++k) share.push_back(order[static_cast<std::size_t>(at[k])]);
      }
    return shares;
  }

  [[nodiscard]] std::vector<Share> consecutive(const std::vector<int>& order, std::int64_t used) const {
    std::vector<Share> shares;
    for (std::int64_t i = 0; i < threads; ++i)
      shares.emplace_back(order.begin() + i * used / threads, order.begin() + (i + 1) * used / threads);
    return shares;
  }
};
}  // namespace

std::vector<Share> compact_shares(const Domain& domain, int threads, int weight) {
  std::vector<int> order;
  auto needed = static_cast<std::int64_t>(threads) * weight;
  bool fits = needed <= domain.size();
  Packer packer{domain, threads, weight};
  int inside = packer.smallest_holding(std::min<std::int64_t>(needed, domain.size()));
  for (int leaf : domain.tree().by_distance(domain.anchor()))
    if (domain.holds(leaf) && packer.node(inside).holds(leaf)) order.push_back(leaf);
  if (threads >= domain.size()) {
    std::vector<Share> shares;
    for (int leaf : order) shares.push_back({leaf});
    return shares;
  }
  if (fits && weight > 1)
    if (auto shares = packer.aligned(inside, order); static_cast<int>(shares.size()) == threads)
      return shares;
  return packer.consecutive(order, fits ? needed : static_cast<std::int64_t>(order.size()));
}

}  // namespace nigh
