// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/rank_slots.hpp"

namespace nigh {

std::vector<RankSlots::Level> levels_of_shares(const Machine& machine, const std::vector<CpuSet>& shares) {
  std::vector<RankSlots::Level> out;
  const std::vector<int> one_group(shares.size(), 0);
  for (const Kind kind : {Kind::package, Kind::numa, Kind::l3}) {
    const std::vector<int>& around = out.empty() ? one_group : out.back().group;
    std::vector<int> group;
    int before = -1;
    for (std::size_t slot = 0; slot < shares.size(); ++slot) {
      const int pu = shares[slot].empty() ? -1 : shares[slot].first();
      const int object = kind == Kind::numa ? machine.node_of_pu(pu) : machine.ancestor_of_pu(pu, kind);
      const bool next = slot > 0 && (object != before || around[slot] != around[slot - 1]);
      group.push_back(group.empty() ? 0 : group.back() + (next ? 1 : 0));
      before = object;
    }
    if (!group.empty() && group != around) out.push_back({kind_name(kind), 1, std::move(group)});
  }
  return out;
}

}  // namespace nigh
