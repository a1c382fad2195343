// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that stands for w deeper ones claims w leaves at once: its seat and the nearest least-claimed
// ones, so that its inner teams find room beside it. A leaf's level is how often its PUs are all claimed,
// then how many of them are, then how many by these teams; a seat is always taken on a leaf of the lowest
// level there is for it.
#include "plan/together.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "plan/split.hpp"

namespace nigh {

namespace {
constexpr int nowhere = -1;

class Crowd {
 public:
  Crowd(const CoreTree& tree, Strategy strategy, const std::vector<Place>& masters, int threads, int weight,
        const Occupancy& taken)
      : tree_(tree),
        masters_(masters),
        threads_(threads),
        weight_(weight),
        seated_(taken),
        strategy_(strategy) {
    std::int64_t all = static_cast<std::int64_t>(masters.size()) * threads;
    wide_ = static_cast<int>(std::clamp<std::int64_t>(tree.size() / all, 1, weight));
    std::int64_t total = all * wide_;
    for (const auto& ranks : taken) {
      claimed_.push_back(std::accumulate(ranks.begin(), ranks.end(), 0));
      total += claimed_.back();
    }
    to_come_ = all * wide_;
    per_leaf_ = static_cast<int>((total + tree.size() - 1) / tree.size());
    places_.resize(static_cast<std::size_t>(all));
    own_.resize(static_cast<std::size_t>(tree.size()));
    orders_.resize(static_cast<std::size_t>(tree.size()));
  }

  std::vector<Place> plan() {
    seat_masters();
    if (is_scatter(strategy_)) find_homes();
    for (int thread = 1; thread < threads_; ++thread)
      for (std::size_t team = 0; team < masters_.size(); ++team) seat_thread(team, thread);
    for (auto& place : places_) place.territory.ranks = own_ranks(place);
    for (auto& place : places_)
      if (!place.why.kept) place.why.sharing = occupants(place.leaf);
    return std::move(places_);
  }

 private:
  struct Level {
    int rounds, more, own;
    auto operator<=>(const Level&) const = default;
  };

  [[nodiscard]] Level level(int leaf) const {
    int claims = claimed_[static_cast<std::size_t>(leaf)], ranks = tree_.leaf(leaf).ranks();
    return {claims / ranks, claims % ranks, own_[static_cast<std::size_t>(leaf)]};
  }

  // The first leaf of the lowest level among `leaves`.
  [[nodiscard]] int least_claimed(const std::vector<int>& leaves) const {
    int best = leaves.front();
    for (int leaf : leaves)
      if (level(leaf) < level(best)) best = leaf;
    return best;
  }

  const std::vector<int>& order_from(int leaf) {
    auto& order = orders_[static_cast<std::size_t>(leaf)];
    if (order.empty()) order = tree_.by_distance(leaf);
    return order;
  }

  // Claims that would bring every leaf up to the level of `leaf`.
  [[nodiscard]] std::int64_t lacking(int leaf) const {
    Level goal = level(leaf);
    std::int64_t sum = 0;
    for (int other = 0; other < tree_.size(); ++other) {
      int ranks = tree_.leaf(other).ranks();
      sum += std::max(
          0, goal.rounds * ranks + std::min(goal.more, ranks) - claimed_[static_cast<std::size_t>(other)]);
    }
    return sum;
  }

  // The least claimed leaf of a part, unless those who come later are too few to take all that is freer.
  int leaf_in_part(const std::vector<int>& part) {
    int best = least_claimed(part);
    return lacking(best) < to_come_ ? best : least_claimed(order_from(part.front()));
  }

  // Each team's home part: the one nearest to its master, which is the one its master is in where all leaves
  // belong to a part.
  void find_homes() {
    parts_ = scatter_shares(Domain(tree_), threads_, wide_);
    std::vector<int> part_of(static_cast<std::size_t>(tree_.size()), nowhere);
    for (std::size_t i = parts_.size(); i-- > 0;)
      for (int leaf : parts_[i]) part_of[static_cast<std::size_t>(leaf)] = static_cast<int>(i);
    for (const auto& master : masters_)
      for (int leaf : order_from(master.leaf))
        if (int part = part_of[static_cast<std::size_t>(leaf)]; part != nowhere) {
          homes_.push_back(static_cast<std::size_t>(part));
          break;
        }
  }

  Place& place_of(std::size_t team, int thread) {
    return places_[team * static_cast<std::size_t>(threads_) + static_cast<std::size_t>(thread)];
  }

  void claim(int leaf) {
    ++claimed_[static_cast<std::size_t>(leaf)];
    ++own_[static_cast<std::size_t>(leaf)];
    --to_come_;
  }

  void sit(Place& place, int leaf, int rank) {
    place.leaf = leaf;
    place.rank = rank;
    place.territory = {{leaf}, rank, 1};
    claim(leaf);
    ++seated_[static_cast<std::size_t>(leaf)][static_cast<std::size_t>(rank)];
  }

  void seat_masters() {
    for (std::size_t team = 0; team < masters_.size(); ++team) {
      Place& place = place_of(team, 0);
      sit(place, masters_[team].leaf, masters_[team].rank);
      place.why = masters_[team].why;
      place.why.kept = true;
    }
    for (std::size_t team = 0; team < masters_.size(); ++team) claim_more(place_of(team, 0));
  }

  // The rest of what the thread stands for.
  void claim_more(Place& place) {
    auto& leaves = place.territory.leaves;
    while (static_cast<int>(leaves.size()) < wide_) {
      int best = nowhere;
      for (int leaf : order_from(place.leaf)) {
        if (best != nowhere && !(level(leaf) < level(best))) continue;
        if (std::find(leaves.begin(), leaves.end(), leaf) == leaves.end()) best = leaf;
      }
      claim(best);
      leaves.push_back(best);
    }
  }

  // The least used PU of a leaf; while there are some free, those that leave room for what the thread
  // stands for come first.
  [[nodiscard]] int rank_on(int leaf) const {
    const auto& used = seated_[static_cast<std::size_t>(leaf)];
    int ranks = static_cast<int>(used.size());
    int stride = std::max(1, std::min(weight_, ranks / std::max(1, per_leaf_)));
    int best = 0;
    for (int phase = 0; phase < stride; ++phase)
      for (int rank = phase; rank < ranks; rank += stride)
        if (used[static_cast<std::size_t>(rank)] < used[static_cast<std::size_t>(best)]) best = rank;
    return best;
  }

  void seat_thread(std::size_t team, int thread) {
    Place& place = place_of(team, thread);
    int leaf = 0;
    if (is_scatter(strategy_)) {
      // as many parts as threads, or all leaves where there are fewer of them: then threads in blocks
      std::size_t steps =
          static_cast<std::size_t>(thread) * parts_.size() / static_cast<std::size_t>(threads_);
      std::size_t part = (homes_[team] + steps) % parts_.size();
      leaf = leaf_in_part(parts_[part]);
      place.why.kind = Why::Kind::far_part;
      place.why.part = static_cast<int>(part) + 1;
    } else {
      leaf = least_claimed(order_from(masters_[team].leaf));
      place.why.kind = Why::Kind::nearest;
    }
    place.why.strategy = strategy_;
    place.why.parts = static_cast<int>(parts_.size());
    place.why.threads = static_cast<int>(places_.size());
    place.why.cores = tree_.size();
    place.why.pus = tree_.pu_count();
    sit(place, leaf, rank_on(leaf));
    claim_more(place);
  }

  // A seat's PUs on its core: up to the next one that somebody else has.
  [[nodiscard]] int own_ranks(const Place& place) const {
    const auto& used = seated_[static_cast<std::size_t>(place.leaf)];
    auto end = static_cast<std::size_t>(place.rank) + 1;
    while (end < used.size() && used[end] == 0) ++end;
    return static_cast<int>(end) - place.rank;
  }

  [[nodiscard]] int occupants(int leaf) const {
    const auto& used = seated_[static_cast<std::size_t>(leaf)];
    return std::accumulate(used.begin(), used.end(), 0);
  }

  const CoreTree& tree_;
  const std::vector<Place>& masters_;
  int threads_, weight_;
  int wide_ = 1;                    // leaves a thread claims
  int per_leaf_ = 1;                // claims on a leaf when all are seated, rounded up
  std::int64_t to_come_ = 0;        // claims still to be made
  std::vector<int> claimed_, own_;  // by leaf: all claims, those of the teams being planned
  Occupancy seated_;
  Strategy strategy_;
  std::vector<Share> parts_;
  std::vector<std::size_t> homes_;
  std::vector<Place> places_;
  std::vector<std::vector<int>> orders_;  // by leaf, filled when asked for
};
}  // namespace

Occupancy nobody(const CoreTree& tree) {
  Occupancy out;
  for (const auto& leaf : tree.leaves) out.emplace_back(leaf.pus.size(), 0);
  return out;
}

std::vector<Place> plan_together(const CoreTree& tree, Strategy strategy, const std::vector<Place>& masters,
                                 int threads, int weight, const Occupancy& taken) {
  if (threads == 1) {
    auto same = masters;
    for (auto& place : same) place.why.kept = true;
    return same;
  }
  return Crowd(tree, strategy, masters, threads, weight, taken).plan();
}

Place start_beside(const CoreTree& tree, const Occupancy& taken) {
  auto load = [&](const TreeNode& node) {  // threads, PUs
    std::pair<std::int64_t, std::int64_t> sum{0, 0};
    for (int leaf = node.first; leaf < node.last; ++leaf)
      for (int used : taken[static_cast<std::size_t>(leaf)]) {
        sum.first += used;
        ++sum.second;
      }
    return sum;
  };
  int at = 0;
  while (!tree.node(at).children.empty()) {
    int best = tree.node(at).children.front();
    for (int child : tree.node(at).children) {
      auto [threads, pus] = load(tree.node(child));
      auto [best_threads, best_pus] = load(tree.node(best));
      if (threads * best_pus < best_threads * pus) best = child;
    }
    at = best;
  }
  Place place;
  place.leaf = tree.node(at).first;
  const auto& used = taken[static_cast<std::size_t>(place.leaf)];
  place.rank = static_cast<int>(std::min_element(used.begin(), used.end()) - used.begin());
  place.territory = {tree.by_distance(place.leaf), place.rank, tree.leaf(place.leaf).ranks() - place.rank};
  place.why.kind = Why::Kind::later_start;
  return place;
}

}  // namespace nigh
