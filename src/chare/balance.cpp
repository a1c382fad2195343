// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/balance.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace nigh::chare {

namespace {

constexpr double slack = 1.02;  // above the average: not worth a move
constexpr std::size_t nowhere = SIZE_MAX;

struct Item {
  double ns = 0;
  std::uint32_t pe = 0;      // where it is
  std::size_t at = nowhere;  // its part
};

using Pes = std::vector<std::uint32_t>;

double sum_of(const std::vector<Item*>& items) {
  double out = 0;
  for (const Item* item : items) out += item->ns;
  return out;
}

bool is_larger(const Item* a, const Item* b) { return a->ns > b->ns; }

// Gives each item a part. Those that have one keep it unless it has too much.
void spread(std::vector<Item*>& items, const std::vector<Pes>& parts, const std::vector<double>& fixed) {
  std::vector<double> load(parts.size()), share(parts.size());
  double pes = 0;
  for (const Pes& part : parts) pes += static_cast<double>(part.size());
  double all = sum_of(items);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::uint32_t pe : parts[i]) load[i] += fixed[pe], all += fixed[pe];
  for (std::size_t i = 0; i < parts.size(); ++i) share[i] = all * static_cast<double>(parts[i].size()) / pes;
  for (const Item* item : items)
    if (item->at != nowhere) load[item->at] += item->ns;
  std::sort(items.begin(), items.end(), is_larger);
  struct Offer {
    Item* item;
    std::size_t from;
  };
  std::vector<Offer> offers;
  for (Item* item : items) {
    if (item->at == nowhere) {
      offers.push_back({item, nowhere});
      continue;
    }
    const std::size_t i = item->at;
    if (load[i] <= slack * share[i] || load[i] - item->ns < share[i] - item->ns / 2) continue;
    load[i] -= item->ns;
    offers.push_back({item, i});
  }
  auto filled = [&](std::size_t i, double more) {
    return (load[i] + more) / static_cast<double>(parts[i].size());
  };
  using Filled = std::pair<double, std::size_t>;
  std::priority_queue<Filled, std::vector<Filled>, std::greater<>> emptiest;
  for (std::size_t i = 0; i < parts.size(); ++i) emptiest.push({filled(i, 0), i});
  for (const Offer& offer : offers) {
    // An element that was put back elsewhere is still in the list, with less than it has now.
    while (emptiest.top().first < filled(emptiest.top().second, 0)) {
      const std::size_t i = emptiest.top().second;
      emptiest.pop();
      emptiest.push({filled(i, 0), i});
    }
    std::size_t to = emptiest.top().second;
    if (offer.from != nowhere && filled(to, offer.item->ns) >= filled(offer.from, offer.item->ns))
      to = offer.from;
    offer.item->at = to;
    load[to] += offer.item->ns;
  }
}

std::vector<Pes> parts_of(const Pes& pes, const plan::Levels& levels, std::size_t depth) {
  std::vector<Pes> out;
  if (depth == 0) {
    for (const std::uint32_t pe : pes) out.push_back({pe});
    return out;
  }
  const std::unordered_set<std::uint32_t> here(pes.begin(), pes.end());
  for (const std::vector<int>& group : levels.levels[depth - 1].groups) {
    Pes part;
    for (const int pe : group)
      if (here.count(static_cast<std::uint32_t>(pe)) > 0) part.push_back(static_cast<std::uint32_t>(pe));
    if (!part.empty()) out.push_back(part);
  }
  return out;
}

// `items` are to be on `pes`, which are a group of level `depth`. What comes of it stands in `to`, by the
// address of the item.
void settle(std::vector<Item*> items, const Pes& pes, const plan::Levels& levels, std::size_t depth,
            Item* first, const std::vector<double>& fixed, std::vector<std::uint32_t>& to) {
  const std::vector<Pes> parts = parts_of(pes, levels, depth);
  std::unordered_map<std::uint32_t, std::size_t> part_of;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::uint32_t pe : parts[i]) part_of[pe] = i;
  for (Item* item : items) {
    const auto found = part_of.find(item->pe);
    item->at = found == part_of.end() ? nowhere : found->second;
  }
  spread(items, parts, fixed);
  std::vector<std::vector<Item*>> of(parts.size());
  for (Item* item : items) of[item->at].push_back(item);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (depth > 0)
      settle(std::move(of[i]), parts[i], levels, depth - 1, first, fixed, to);
    else
      for (const Item* item : of[i]) to[static_cast<std::size_t>(item - first)] = parts[i].front();
  }
}

}  // namespace

std::vector<Move> balance(const std::vector<Load>& loads, std::uint32_t pes, const plan::Levels& levels,
                          std::vector<double> fixed) {
  fixed.resize(pes);
  std::vector<Item> items;
  std::vector<Item*> all;
  items.reserve(loads.size());
  for (const Load& load : loads) {
    items.push_back({static_cast<double>(load.ns), load.pe});
    all.push_back(&items.back());
  }
  Pes every(pes);
  for (std::uint32_t pe = 0; pe < pes; ++pe) every[pe] = pe;
  std::vector<std::uint32_t> to(items.size());
  settle(all, every, levels, levels.levels.size(), items.data(), fixed, to);
  std::vector<double> before = fixed, after = fixed;
  std::vector<Move> moves;
  for (std::size_t i = 0; i < items.size(); ++i) {
    before[loads[i].pe] += items[i].ns;
    after[to[i]] += items[i].ns;
    if (to[i] != loads[i].pe) moves.push_back({loads[i].element, loads[i].pe, to[i]});
  }
  const double busiest = pes > 0 ? *std::max_element(before.begin(), before.end()) : 0;
  if (busiest == 0 || *std::max_element(after.begin(), after.end()) > busiest / slack) moves.clear();
  return moves;
}

}  // namespace nigh::chare
