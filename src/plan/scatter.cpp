// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Scatter cuts a domain into shares from the top of the tree down: threads go to as many packages as there
// are, then to as many caches, then to cores. A child that would be overloaded by what a thread stands for
// gets none while another has room, so a package of which the mask leaves one core is passed over by teams
// of two.
#include <algorithm>
#include <cstdint>

#include "plan/split.hpp"

namespace nigh {

namespace {
struct Children {
  std::vector<int> nodes;
  std::vector<int> capacity;
  int anchor = -1;  // position of the child that holds the domain's anchor
  [[nodiscard]] int count() const { return static_cast<int>(nodes.size()); }
};

// Leaves a thread would get: what counts when two ways of splitting are compared.
int room(int capacity, int threads, int weight) { return std::min(weight, capacity / threads); }

// Adds threads one at a time: to the child that is overloaded least, unused ones first, then by load.
std::vector<int> deal(const Children& children, int threads, int weight) {
  std::vector<int> dealt(static_cast<std::size_t>(children.count()), 0);
  auto better = [&](std::size_t a, std::size_t b) {
    // load = (dealt + 1) * weight / capacity, compared without dividing; below 1 all loads are alike
    std::int64_t threads_a = static_cast<std::int64_t>(dealt[a] + 1) * weight,
                 capacity_a = children.capacity[a];
    std::int64_t threads_b = static_cast<std::int64_t>(dealt[b] + 1) * weight,
                 capacity_b = children.capacity[b];
    std::int64_t over_a = std::max(threads_a, capacity_a) * capacity_b;
    std::int64_t over_b = std::max(threads_b, capacity_b) * capacity_a;
    if (over_a != over_b) return over_a < over_b;
    if ((dealt[a] == 0) != (dealt[b] == 0)) return dealt[a] == 0;
    return threads_a * capacity_b < threads_b * capacity_a;
  };
  int first = 0;
  if (children.anchor >= 0) {  // the master is there already
    dealt[static_cast<std::size_t>(children.anchor)] = 1;
    first = 1;
  }
  for (int t = first; t < threads; ++t) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < dealt.size(); ++i)
      if (better(i, best)) best = i;
    ++dealt[best];
  }
  return dealt;
}

int room_of_deal(const Children& children, const std::vector<int>& dealt, int weight) {
  int least = weight;
  for (std::size_t i = 0; i < dealt.size(); ++i)
    if (dealt[i] > 0) least = std::min(least, room(children.capacity[i], dealt[i], weight));
  return least;
}

// Sizes of `groups` contiguous groups of whole children, as even as can be, bigger groups first.
std::vector<int> even_groups(int children, int groups) {
  std::vector<int> sizes(static_cast<std::size_t>(groups), children / groups);
  for (int i = 0; i < children % groups; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

// Contiguous groups of at least `least` leaves each; empty if there are not enough of them.
std::vector<int> groups_of_at_least(const Children& children, int groups, int least) {
  std::vector<int> sizes(1, 0);
  int filled = 0;
  for (int capacity : children.capacity) {
    if (filled >= least && static_cast<int>(sizes.size()) < groups) {
      sizes.push_back(0);
      filled = 0;
    }
    ++sizes.back();
    filled += capacity;
  }
  bool enough = static_cast<int>(sizes.size()) == groups && filled >= least;
  return enough ? sizes : std::vector<int>();
}

int smallest_group(const Children& children, const std::vector<int>& sizes) {
  int least = INT32_MAX;
  std::size_t at = 0;
  for (int size : sizes) {
    int sum = 0;
    for (int i = 0; i < size; ++i) sum += children.capacity[at++];
    least = std::min(least, sum);
  }
  return least;
}

// Even by number of children, unless some group is too small for its team and uneven groups are not.
std::vector<int> group_children(const Children& children, int groups, int weight) {
  auto best = even_groups(children.count(), groups);
  int low = smallest_group(children, best), high = weight;
  while (low < high) {  // the largest least size, up to what a thread needs
    int middle = low + (high - low + 1) / 2;
    auto sizes = groups_of_at_least(children, groups, middle);
    if (sizes.empty()) {
      high = middle - 1;
    } else {
      best = std::move(sizes);
      low = middle;
    }
  }
  return best;
}

struct Scatterer {
  const Domain& domain;
  int weight;
  std::vector<Share> shares = {};

  [[nodiscard]] const TreeNode& node(int index) const { return domain.tree().node(index); }

  [[nodiscard]] Children children_of(int index) const {
    Children out{domain.children_of(node(index)), {}};
    for (int i = 0; i < out.count(); ++i) {
      const TreeNode& child = node(out.nodes[static_cast<std::size_t>(i)]);
      out.capacity.push_back(domain.capacity(child));
      if (child.holds(domain.anchor()) && domain.holds(domain.anchor())) out.anchor = i;
    }
    return out;
  }

  void split(int index, int threads) {
    if (threads == 0) return;
    if (threads == 1) {
      shares.push_back(domain.leaves_of(node(index)));
      return;
    }
    if (threads >= domain.capacity(node(index))) {
      for (int leaf : domain.leaves_of(node(index))) shares.push_back({leaf});
      return;
    }
    Children children = children_of(index);
    if (children.count() == 1) return split(children.nodes.front(), threads);
    auto dealt = deal(children, threads, weight);
    if (threads < children.count()) {
      auto groups = group_children(children, threads, weight);
      if (std::min(weight, smallest_group(children, groups)) >= room_of_deal(children, dealt, weight))
        return take_groups(children, groups);
    }
    for (std::size_t i = 0; i < dealt.size(); ++i) split(children.nodes[i], dealt[i]);
  }

  void take_groups(const Children& children, const std::vector<int>& groups) {
    std::size_t at = 0;
    for (int size : groups) {
      Share share;
      for (int i = 0; i < size; ++i)
        for (int leaf : domain.leaves_of(node(children.nodes[at + static_cast<std::size_t>(i)])))
          share.push_back(leaf);
      at += static_cast<std::size_t>(size);
      shares.push_back(std::move(share));
    }
  }
};
}  // namespace

std::vector<Share> scatter_shares(const Domain& domain, int threads, int weight) {
  Scatterer scatterer{domain, weight};
  scatterer.split(domain.top(), threads);
  return std::move(scatterer.shares);
}

}  // namespace nigh
