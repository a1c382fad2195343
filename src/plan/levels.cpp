// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Seats become nested groups by keys that only grow finer: a cache counts only within its node, a node only
// within its socket. So the groups nest even where the numbers of caches start anew on every socket, or where
// a rank's cache is unknown though its socket is not.
#include "plan/levels.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace nigh::plan {
namespace {

using Key = std::array<int, 3>;

// Ranks with equal keys, in the order of their first members.
Levels::Level group_by(const std::vector<Key>& keys) {
  Levels::Level level;
  std::map<Key, std::size_t> place;
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    auto [found, fresh] = place.try_emplace(keys[rank], level.groups.size());
    if (fresh) level.groups.emplace_back();
    level.groups[found->second].push_back(static_cast<int>(rank));
  }
  return level;
}

bool divides(const Levels::Level& level) {
  return level.groups.size() > 1 && std::any_of(level.groups.begin(), level.groups.end(),
                                                [](const auto& group) { return group.size() > 1; });
}

}  // namespace

Levels levels_of(const std::vector<Seat>& seats) {
  Levels result;
  for (int depth = 3; depth >= 1; --depth) {  // cache within node within socket; node within socket; socket
    std::vector<Key> keys;
    keys.reserve(seats.size());
    for (const Seat& seat : seats)
      keys.push_back({seat.socket, depth >= 2 ? seat.node : -1, depth >= 3 ? seat.cache : -1});
    Levels::Level level = group_by(keys);
    if (!divides(level)) continue;
    if (!result.levels.empty() && result.levels.back().groups == level.groups) continue;
    result.levels.push_back(std::move(level));
  }
  return result;
}

bool nested(const Levels& levels, int ranks) {
  std::vector<int> finer(static_cast<std::size_t>(ranks));  // each rank's group on the level below
  for (int rank = 0; rank < ranks; ++rank) finer[static_cast<std::size_t>(rank)] = rank;
  for (const Levels::Level& level : levels.levels) {
    std::vector<int> mine(static_cast<std::size_t>(ranks), -1);
    for (std::size_t group = 0; group < level.groups.size(); ++group) {
      int last = -1;
      for (int rank : level.groups[group]) {
        if (rank <= last || rank >= ranks || mine[static_cast<std::size_t>(rank)] != -1) return false;
        mine[static_cast<std::size_t>(rank)] = static_cast<int>(group);
        last = rank;
      }
      if (last < 0) return false;
    }
    std::map<int, int> above;  // the group here of each group below: one alone
    for (std::size_t rank = 0; rank < mine.size(); ++rank) {
      if (mine[rank] == -1) return false;
      if (above.try_emplace(finer[rank], mine[rank]).first->second != mine[rank]) return false;
    }
    finer = std::move(mine);
  }
  return true;
}

}  // namespace nigh::plan
