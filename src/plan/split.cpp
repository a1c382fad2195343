// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From shares to seats: the turn that keeps thread 0 on its parent's seat, and the sharing of cores when a
// team has more threads than its domain has cores.
#include "plan/split.hpp"

#include <algorithm>
#include <cstdint>

namespace nigh {

namespace {
// Turns the shares (and the leaves of the anchor's) so that thread 0's share starts with the anchor.
void anchor_first(std::vector<Share>& shares, int anchor) {
  for (auto share = shares.begin(); share != shares.end(); ++share) {
    auto at = std::find(share->begin(), share->end(), anchor);
    if (at == share->end()) continue;
    std::rotate(share->begin(), at, share->end());
    std::rotate(shares.begin(), share, shares.end());
    return;
  }
}

// Adds one thread to `extra` of the members, evenly spaced, from the first on.
void add_spaced(std::vector<int>& counts, const std::vector<std::size_t>& members, std::int64_t extra) {
  auto size = static_cast<std::int64_t>(members.size());
  for (std::int64_t i = 0; i < extra; ++i) ++counts[members[static_cast<std::size_t>(i * size / extra)]];
}

// The number of `threads` that each leaf takes: one layer of PUs after the other (first siblings, second
// siblings, ...), the last layer spaced evenly; when all PUs are taken, from the start. Equal leaves: blocks
// of i*L/n.
std::vector<int> fill(const Domain& domain, const std::vector<Share>& leaves, int threads) {
  std::int64_t pus = 0;
  int layers = 0;
  for (const auto& share : leaves) {
    pus += domain.ranks(share.front()).ranks;
    layers = std::max(layers, domain.ranks(share.front()).ranks);
  }
  NIGH_CHECK(pus > 0);  // a domain has leaves, and each of its leaves a PU
  std::int64_t rounds = threads / pus, left = threads % pus;
  std::vector<int> counts;
  for (const auto& share : leaves)
    counts.push_back(static_cast<int>(rounds * domain.ranks(share.front()).ranks));
  for (int layer = 0; layer < layers && left > 0; ++layer) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (domain.ranks(leaves[i].front()).ranks > layer) members.push_back(i);
    auto extra = std::min<std::int64_t>(left, static_cast<std::int64_t>(members.size()));
    add_spaced(counts, members, extra);
    left -= extra;
  }
  return counts;
}

struct Seating {
  const Domain& domain;
  int threads;
  int weight;
  Why why;
  std::vector<Place> places = {};

  void seat(const Share& share, int count) {
    int leaf = share.front();
    RankRange own = domain.ranks(leaf);
    for (int k = 0; k < count; ++k) {
      RankRange mine = share_ranks(own, count, k, weight);
      Place& place = places.emplace_back();
      place.leaf = leaf;
      place.rank = mine.first;
      place.territory = {share, mine.first, mine.ranks};
      place.why = why;
      place.why.part = static_cast<int>(places.size());
      place.why.sharing = count;
    }
  }
};

Why explain_split(const Domain& domain, Strategy strategy, int threads) {
  Why why;
  why.kind = is_scatter(strategy) ? Why::Kind::split : Why::Kind::packed;
  why.strategy = strategy;
  why.parts = why.threads = threads;
  const TreeNode& top = domain.tree().node(domain.top());
  auto children = domain.children_of(top);
  why.over = children.empty() ? top.kind : domain.tree().node(children.front()).kind;
  why.over_count = children.empty() ? 1 : static_cast<int>(children.size());
  why.cores = domain.size();
  for (int leaf = 0; leaf < domain.tree().size(); ++leaf)
    if (domain.holds(leaf)) why.pus += domain.ranks(leaf).ranks;
  return why;
}
}  // namespace

RankRange share_ranks(RankRange range, int count, int k, int weight) {
  if (count >= range.ranks)
    return {range.first + static_cast<int>(static_cast<std::int64_t>(k) * range.ranks / count), 1};
  int stride = std::max(1, std::min(weight, range.ranks / count));
  int skip = k * stride;
  return {range.first + skip, k + 1 == count ? range.ranks - skip : stride};
}

std::vector<Place> plan_team(const Domain& domain, Strategy strategy, const Place& parent, int threads,
                             int weight) {
  if (threads == 1) {
    Place same = parent;
    same.why.kept = true;
    return {same};
  }
  auto shares = is_scatter(strategy) ? scatter_shares(domain, threads, weight)
                                     : compact_shares(domain, threads, weight);
  anchor_first(shares, domain.anchor());
  std::vector<int> counts(shares.size(), 1);
  if (threads > static_cast<int>(shares.size())) counts = fill(domain, shares, threads);
  Seating seating{domain, threads, weight, explain_split(domain, strategy, threads)};
  for (std::size_t i = 0; i < shares.size(); ++i) seating.seat(shares[i], counts[i]);
  seating.places.front().why = parent.why;
  seating.places.front().why.kept = true;
  return std::move(seating.places);
}

}  // namespace nigh
