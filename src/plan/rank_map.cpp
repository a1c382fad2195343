// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/rank_map.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "plan/partition.hpp"

namespace nigh {
namespace {

constexpr double exchanges = 300'000;     // that are looked at from random starts
constexpr double worth_improving = 1.25;  // a map that costs so many times the best
constexpr double inner_cost = 0.25;       // of a level, of what the level around it costs

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The outermost level that two slots differ in; the number of levels: none.
std::size_t crossing(const RankSlots& slots, int a, int b) {
  std::size_t level = 0;
  while (level < slots.levels.size() && slots.levels[level].group[at(a)] == slots.levels[level].group[at(b)])
    ++level;
  return level;
}

double cost_between(const RankSlots& slots, int a, int b) {
  const std::size_t level = crossing(slots, a, b);
  return level < slots.levels.size() ? slots.levels[level].cost : 0;
}

// --- from the outermost level inwards ---

// The number of partitions to try: as many as a second allows for 1024 ranks.
int tries_for(const Traffic& traffic, std::size_t ranks) {
  const double share = static_cast<double>(ranks) / std::max(traffic.ranks(), 1);
  const double work = 4.0 * static_cast<double>(traffic.edges()) * share + 20.0 * static_cast<double>(ranks);
  return std::clamp(static_cast<int>(500'000 / std::max(work, 1.0)), work < 1e6 ? 2 : 1, 24);
}

class Multisection {
 public:
  Multisection(const Traffic& traffic, const RankSlots& slots)
      : traffic_(traffic), slots_(slots), slot_(at(slots.slots()), 0) {}

  std::vector<int> map() {
    std::vector<int> ranks(at(slots_.slots()));
    std::iota(ranks.begin(), ranks.end(), 0);
    place(ranks, 0, 0);
    return slot_;
  }

 private:
  // The ranks get the slots from `first` on.
  void place(const std::vector<int>& ranks, int first, std::size_t level) {
    if (level == slots_.levels.size() || ranks.size() == 1) {
      for (std::size_t i = 0; i < ranks.size(); ++i) slot_[at(ranks[i])] = first + static_cast<int>(i);
      return;
    }
    const std::vector<int>& group = slots_.levels[level].group;
    std::vector<int> sizes;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (i == 0 || group[at(first) + i] != group[at(first) + i - 1])
        sizes.push_back(1);
      else
        ++sizes.back();
    if (sizes.size() == 1) return place(ranks, first, level + 1);
    const std::vector<int> part =
        partition(traffic_, ranks, sizes, tries_for(traffic_, ranks.size()), 1 + level);
    std::vector<std::vector<int>> members(sizes.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) members[at(part[i])].push_back(ranks[i]);
    // Parts of one size are exchangeable: that of the lowest rank comes first.
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::size_t lowest = i;
      for (std::size_t k = i + 1; k < members.size(); ++k)
        if (members[k].size() == members[i].size() && members[k].front() < members[lowest].front())
          lowest = k;
      std::swap(members[i], members[lowest]);
      place(members[i], first, level + 1);
      first += static_cast<int>(members[i].size());
    }
  }

  const Traffic& traffic_;
  const RankSlots& slots_;
  std::vector<int> slot_;
};

// --- exchanges of two ranks, over all levels at once ---

// Savings of each rank in each innermost group, over being alone in another node: an exchange of any two
// ranks is then judged without a look at their edges.
class Exchanges {
 public:
  static constexpr std::size_t most_entries = std::size_t{1} << 24;  // of the table: 128 MiB
  static std::size_t entries(const RankSlots& slots) {
    return at(slots.slots()) * (at(slots.levels.back().group.back()) + 1);
  }

  Exchanges(const Traffic& traffic, const RankSlots& slots, std::vector<int> slot)
      : traffic_(traffic),
        slots_(slots),
        groups_(at(slots.levels.back().group.back()) + 1),
        slot_(std::move(slot)),
        group_(slot_.size()),
        home_(slot_.size(), 0),
        mine_(groups_),
        near_(entries(slots), 0) {
    const std::vector<int>& inner = slots.levels.back().group;
    for (int s = 0; s < slots.slots(); ++s)
      if (s == 0 || inner[at(s)] != inner[at(s) - 1]) first_.push_back(s);
    const std::vector<int>& outer = slots.levels.front().group;
    for (const int s : first_) {
      const auto range = std::equal_range(outer.begin(), outer.end(), outer[at(s)]);
      around_.push_back({at(inner[at(static_cast<int>(range.first - outer.begin()))]),
                         at(inner[at(static_cast<int>(range.second - outer.begin()) - 1)]) + 1});
    }
    for (std::size_t rank = 0; rank < slot_.size(); ++rank) group_[rank] = inner[at(slot_[rank])];
    for (int rank = 0; rank < traffic.ranks(); ++rank) count(rank, slot_[at(rank)], 1);
  }

  std::vector<int> improved() {
    for (int round = 0; round < 50; ++round) {
      bool better = false;
      for (int rank = 0; rank < traffic_.ranks(); ++rank) better |= exchange(rank);
      if (!better) break;
    }
    return slot_;
  }

 private:
  double* near(std::size_t group) { return near_.data() + group * slot_.size(); }

  // Its neighbours save something where the rank is, and in the groups around that.
  void count(int rank, int slot, double sign) {
    const double outermost = slots_.levels.front().cost;
    const auto [begin, end] = around_[at(slots_.levels.back().group[at(slot)])];
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t level = crossing(slots_, slot, first_[group]);
      if (level == 0) continue;
      const double inner = level < slots_.levels.size() ? slots_.levels[level].cost : 0;
      double* const column = near(group);
      for (const Traffic::Edge& edge : traffic_.of(rank)) {
        const double saves = sign * edge.bytes * (outermost - inner);
        column[edge.to] += saves;
        if (at(group_[at(edge.to)]) == group) home_[at(edge.to)] += saves;
      }
    }
  }

  double bytes_between(int a, int b) const {
    const auto edges = traffic_.of(a);
    const auto edge = std::lower_bound(edges.begin(), edges.end(), b,
                                       [](const Traffic::Edge& e, int to) { return e.to < to; });
    return edge != edges.end() && edge->to == b ? edge->bytes : 0;
  }

  // With the rank whose exchange saves most.
  bool exchange(int rank) {
    const int here = slot_[at(rank)];
    const auto mine = at(group_[at(rank)]);
    for (std::size_t group = 0; group < groups_; ++group) mine_[group] = near(group)[rank];
    const double* const column = near(mine);
    const double now = home_[at(rank)];
    double best = 0;
    int with = -1;
    for (int other = 0; other < traffic_.ranks(); ++other) {
      double saved = mine_[at(group_[at(other)])] - now + column[other] - home_[at(other)];
      if (!(saved > best)) continue;
      saved -= 2 * bytes_between(rank, other) * cost_between(slots_, here, slot_[at(other)]);
      if (saved > best + 1e-9 * (now + home_[at(other)])) best = saved, with = other;
    }
    if (with < 0) return false;
    move(rank, with);
    return true;
  }

  void move(int rank, int with) {
    const int here = slot_[at(rank)], there = slot_[at(with)];
    count(rank, here, -1);
    count(with, there, -1);
    std::swap(slot_[at(rank)], slot_[at(with)]);
    std::swap(group_[at(rank)], group_[at(with)]);
    for (const int one : {rank, with}) home_[at(one)] = near(at(group_[at(one)]))[one];
    count(rank, there, 1);
    count(with, here, 1);
  }

  const Traffic& traffic_;
  const RankSlots& slots_;
  std::size_t groups_;  // innermost
  std::vector<int> slot_;
  std::vector<int> group_;                                   // of each rank
  std::vector<double> home_;                                 // near_ of each rank in its own group
  std::vector<double> mine_;                                 // of the rank that is looked at
  std::vector<int> first_;                                   // slot of each group
  std::vector<std::pair<std::size_t, std::size_t>> around_;  // groups of the same node as each
  std::vector<double> near_;                                 // groups x ranks, bytes x cost
};

}  // namespace

RankMap valued(const Traffic& traffic, const RankSlots& slots, std::vector<int> slot) {
  RankMap out{std::move(slot), std::vector<double>(slots.levels.size(), 0), 0};
  for (int rank = 0; rank < traffic.ranks(); ++rank)
    for (const Traffic::Edge& edge : traffic.of(rank)) {
      if (edge.to < rank) continue;
      const std::size_t first = crossing(slots, out.slot[at(rank)], out.slot[at(edge.to)]);
      for (std::size_t level = first; level < slots.levels.size(); ++level) out.crossed[level] += edge.bytes;
      if (first < slots.levels.size()) out.cost += edge.bytes * slots.levels[first].cost;
    }
  return out;
}

RankMap map_in_order(const Traffic& traffic, const RankSlots& slots) {
  std::vector<int> slot(at(traffic.ranks()));
  std::iota(slot.begin(), slot.end(), 0);
  return valued(traffic, slots, std::move(slot));
}

RankMap map_in_turn(const Traffic& traffic, const RankSlots& slots) {
  std::vector<std::vector<int>> free;  // of each group, the last slot first
  const std::vector<int>& group = slots.levels.front().group;
  for (int slot = slots.slots() - 1; slot >= 0; --slot) {
    if (free.size() <= at(group[at(slot)])) free.resize(at(group[at(slot)]) + 1);
    free[at(group[at(slot)])].push_back(slot);
  }
  std::vector<int> out;
  for (std::size_t turn = 0; static_cast<int>(out.size()) < traffic.ranks(); turn = (turn + 1) % free.size())
    if (!free[turn].empty()) {
      out.push_back(free[turn].back());
      free[turn].pop_back();
    }
  return valued(traffic, slots, std::move(out));
}

RankMap map_ranks(const Traffic& traffic, const RankSlots& slots) {
  const RankMap in_order = map_in_order(traffic, slots), in_turn = map_in_turn(traffic, slots);
  RankMap best = in_order;
  const auto offer = [&](std::vector<int> slot) {
    if (Exchanges::entries(slots) <= Exchanges::most_entries)
      slot = Exchanges(traffic, slots, std::move(slot)).improved();
    RankMap map = valued(traffic, slots, std::move(slot));
    if (map.cost < best.cost * (1 - 1e-9)) best = std::move(map);
  };
  offer(Multisection(traffic, slots).map());
  // Few ranks are quickly exchanged, from anywhere.
  std::mt19937 random(1);  // the same numbers everywhere
  const double pairs = 1.0 * traffic.ranks() * traffic.ranks();
  std::vector<int> slot = in_order.slot;
  for (int left = static_cast<int>(std::min(200.0, exchanges / pairs)); left > 0; --left) {
    for (std::size_t i = slot.size(); i > 1; --i) std::swap(slot[i - 1], slot[random() % i]);
    offer(slot);
  }
  // Launchers' own maps are worth improving where they are good ones.
  for (const RankMap& map : {in_order, in_turn})
    if (map.cost < best.cost * worth_improving) offer(map.slot);
  return best;
}

RankSlots slots_of_nodes(int nodes, int ranks, int slots_of_node,
                         const std::vector<RankSlots::Level>& inner) {
  RankSlots out;
  out.levels.push_back({"node", 1, {}});
  out.levels.insert(out.levels.end(), inner.begin(), inner.end());
  for (std::size_t level = 0; level < out.levels.size(); ++level) {
    out.levels[level].group.clear();
    out.levels[level].cost = level == 0 ? 1 : out.levels[level - 1].cost * inner_cost;
  }
  for (int node = 0, slot = 0; node < nodes && slot < ranks; ++node) {
    // The first nodes have one more where ranks don't fit evenly.
    const int here = slots_of_node > 0 ? std::min(slots_of_node, ranks - slot)
                                       : (ranks - slot + nodes - node - 1) / (nodes - node);
    for (int i = 0; i < here; ++i, ++slot) {
      out.levels[0].group.push_back(node);
      for (std::size_t level = 0; level < inner.size(); ++level) {
        std::vector<int>& group = out.levels[level + 1].group;
        const std::vector<int>& here_group = inner[level].group;
        const bool next = i == 0 || here_group[at(i)] != here_group[at(i) - 1];
        group.push_back(group.empty() ? 0 : group.back() + (next ? 1 : 0));
      }
    }
  }
  return out;
}

}  // namespace nigh
