// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The targets of regions: each node ends with its part of the memory, and nothing moves without need.
#include "watch/carry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace nigh::watch {
namespace {

constexpr std::size_t most_nodes = 8;

// Regions of weight 1 that several nodes use, counts[n] on node n.
Watched unit_with(const std::vector<int>& counts) {
  Watched out;
  for (std::size_t node = 0; node < counts.size(); ++node)
    for (int i = 0; i < counts[node]; ++i)
      out.regions.push_back({1000 + out.regions.size(), static_cast<int>(node), -1, 1});
  return out;
}

Action action_to(const std::vector<double>& shared) {
  Action out;
  out.to.resize(shared.size());
  std::iota(out.to.begin(), out.to.end(), 0);
  out.after.shared = shared;
  out.after.own.assign(shared.size(), std::vector<double>(shared.size(), 0));
  for (std::size_t n = 0; n < shared.size(); ++n) out.after.own[n][n] = 1;
  return out;
}

std::vector<int> arrivals(const std::vector<RegionMove>& moves, std::size_t nodes) {
  std::vector<int> out(nodes, 0);
  for (const RegionMove& move : moves) ++out[static_cast<std::size_t>(move.to)];
  return out;
}

TEST(RegionsToMove, HalfHereHalfThere) {
  const auto moves = regions_to_move(unit_with({10, 0, 0, 0}), action_to({0.5, 0, 0, 0.5}));
  EXPECT_EQ(arrivals(moves, 4), (std::vector<int>{0, 0, 0, 5}));
  for (const RegionMove& move : moves) EXPECT_EQ(move.from, 0);
  EXPECT_TRUE(regions_to_move(unit_with({5, 0, 0, 5}), action_to({0.5, 0, 0, 0.5})).empty());
  // An odd one stays where it is, on either side.
  EXPECT_TRUE(regions_to_move(unit_with({3, 2}), action_to({0.5, 0.5})).empty());
  EXPECT_TRUE(regions_to_move(unit_with({2, 3}), action_to({0.5, 0.5})).empty());
  EXPECT_TRUE(regions_to_move(unit_with({0, 1}), action_to({0.5, 0.5})).empty());
}

TEST(RegionsToMove, AllToOneNode) {
  const auto moves = regions_to_move(unit_with({4, 5, 6}), action_to({0, 1, 0}));
  EXPECT_EQ(arrivals(moves, 3), (std::vector<int>{0, 10, 0}));
  for (const RegionMove& move : moves) EXPECT_NE(move.from, 1);
}

// Seven nodes may keep two regions each although their part is one and a half: not all of them.
TEST(RegionsToMove, RoundingLeavesNobodyShort) {
  const auto moves = regions_to_move(
      unit_with({2, 2, 2, 2, 2, 2, 2, 0}),
      action_to({1.5 / 14, 1.5 / 14, 1.5 / 14, 1.5 / 14, 1.5 / 14, 1.5 / 14, 1.5 / 14, 3.5 / 14}));
  EXPECT_EQ(arrivals(moves, 8), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 3}));
}

// Memory that one node's threads use goes with them, wherever it was; others' stays.
TEST(RegionsToMove, OwnMemoryFollowsItsThreads) {
  Watched unit;
  for (std::uint64_t i = 0; i < 12; ++i)
    unit.regions.push_back({i, static_cast<int>(i % 2), static_cast<int>(i % 3) / 2, 1});
  Action action = action_to({1, 0, 0, 0});
  action.to = {3, 1, 2, 0};  // node 0's threads to node 3
  for (const RegionMove& move : regions_to_move(unit, action)) {
    const int user = unit.regions[move.region].user;
    EXPECT_EQ(move.to, user == 0 ? 3 : 1);
  }
  EXPECT_EQ(regions_to_move(unit, action).size(), 8U + 2U);  // user 0: all eight; user 1: 2 of 4 are there
}

struct Case {
  Watched unit;
  Action action;
  std::size_t nodes = 0;
};

std::vector<double> random_parts(std::mt19937& random, std::size_t nodes) {
  std::vector<double> out(nodes, 0);
  for (double& part : out) part = random() % 3 == 0 ? 0 : static_cast<double>(random() % 100);
  out[random() % nodes] += 1;
  const double all = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& part : out) part /= all;
  return out;
}

Case random_case(std::mt19937& random) {
  Case out;
  out.nodes = 2 + random() % (most_nodes - 1);
  const bool equal = random() % 2 == 0;
  const std::size_t regions = random() % 60, users = 1 + random() % (out.nodes + 1);
  for (std::size_t i = 0; i < regions; ++i)
    out.unit.regions.push_back({i, static_cast<int>(random() % out.nodes),
                                static_cast<int>(random() % users) - 1,
                                equal ? 1.0 : 1 + static_cast<double>(random() % 1000)});
  out.action = action_to(random_parts(random, out.nodes));
  std::shuffle(out.action.to.begin(), out.action.to.end(), random);
  for (auto& row : out.action.after.own) row = random_parts(random, out.nodes);
  return out;
}

// The weight of the user's regions on each node, and the heaviest of them.
struct Load {
  std::vector<double> by_node;
  double all = 0, heaviest = 0;
};
Load load_of(const Watched& unit, int user, std::size_t nodes) {
  Load out{std::vector<double>(nodes, 0), 0, 0};
  for (const UnitRegion& region : unit.regions)
    if (region.user == user) {
      out.by_node[static_cast<std::size_t>(region.node)] += region.weight;
      out.all += region.weight;
      out.heaviest = std::max(out.heaviest, region.weight);
    }
  return out;
}

const std::vector<double>& parts_of(const Action& action, int user) {
  if (user < 0) return action.after.shared;
  return action.after.own[static_cast<std::size_t>(action.to[static_cast<std::size_t>(user)])];
}

// Each region moves at most once, from where it is, to another node that may have some of it.
Watched moved(const Case& one) {
  Watched out = one.unit;
  std::vector<bool> seen(out.regions.size(), false);
  for (const RegionMove& move : regions_to_move(one.unit, one.action)) {
    EXPECT_FALSE(seen[move.region]);
    seen[move.region] = true;
    UnitRegion& region = out.regions[move.region];
    EXPECT_EQ(move.from, region.node);
    EXPECT_NE(move.to, move.from);
    region.node = move.to;
    EXPECT_GT(parts_of(one.action, region.user)[static_cast<std::size_t>(move.to)], 0);
  }
  return out;
}

TEST(RegionsToMove, EveryNodeEndsWithItsPartToWithinARegion) {
  std::mt19937 random(20261123);
  for (int round = 0; round < 2000; ++round) {
    const Case one = random_case(random);
    const Watched after = moved(one);
    for (int user = -1; user < static_cast<int>(one.nodes); ++user) {
      const Load now = load_of(after, user, one.nodes);
      for (std::size_t n = 0; n < one.nodes; ++n)
        ASSERT_NEAR(now.by_node[n], parts_of(one.action, user)[n] * now.all, now.heaviest * 1.000001)
            << "round " << round << ", user " << user << ", node " << n;
    }
  }
}

// No more moves than what is missing, and a region for each node.
TEST(RegionsToMove, NothingMovesWithoutNeed) {
  std::mt19937 random(4711);
  for (int round = 0; round < 2000; ++round) {
    const Case one = random_case(random);
    const Watched after = moved(one);
    for (int user = -1; user < static_cast<int>(one.nodes); ++user) {
      const Load before = load_of(one.unit, user, one.nodes);
      double missing = 0, went = 0;
      for (std::size_t n = 0; n < one.nodes; ++n)
        missing += std::max(0.0, parts_of(one.action, user)[n] * before.all - before.by_node[n]);
      for (std::size_t i = 0; i < after.regions.size(); ++i)
        if (after.regions[i].user == user && after.regions[i].node != one.unit.regions[i].node)
          went += after.regions[i].weight;
      ASSERT_LE(went, missing + before.heaviest * static_cast<double>(one.nodes)) << "round " << round;
    }
  }
}

// The parts that memory has already: all of it stays, whatever the regions weigh.
TEST(RegionsToMove, WhatIsRightAlreadyStays) {
  std::mt19937 random(99);
  for (int round = 0; round < 2000; ++round) {
    Case one = random_case(random);
    std::iota(one.action.to.begin(), one.action.to.end(), 0);
    for (int user = -1; user < static_cast<int>(one.nodes); ++user) {
      const Load now = load_of(one.unit, user, one.nodes);
      auto& parts = user < 0 ? one.action.after.shared : one.action.after.own[static_cast<std::size_t>(user)];
      for (std::size_t n = 0; n < one.nodes && now.all > 0; ++n) parts[n] = now.by_node[n] / now.all;
    }
    ASSERT_TRUE(regions_to_move(one.unit, one.action).empty()) << "round " << round;
  }
}

}  // namespace
}  // namespace nigh::watch
