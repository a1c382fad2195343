// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The promises of balance(), on made-up and random loads.
#include "chare/balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace nigh::chare {
namespace {

std::vector<double> loads_after(const std::vector<Load>& loads, std::uint32_t pes,
                                const std::vector<Move>& moves) {
  std::map<std::uint64_t, std::uint32_t> to;
  for (const Move& move : moves) to[move.element] = move.to;
  std::vector<double> out(pes);
  for (const Load& load : loads)
    out[to.count(load.element) > 0 ? to[load.element] : load.pe] += static_cast<double>(load.ns);
  return out;
}

std::vector<Load> elements(std::vector<std::vector<std::uint64_t>> of_each) {
  std::vector<Load> out;
  for (std::size_t pe = 0; pe < of_each.size(); ++pe)
    for (const std::uint64_t ns : of_each[pe])
      out.push_back({out.size(), ns, static_cast<std::uint32_t>(pe)});
  return out;
}

TEST(Balance, MovesWhatIsTooMuch) {
  const std::vector<Load> loads = elements({{30, 20, 10}, {}, {}});
  const std::vector<Move> moves = balance(loads, 3, {});
  std::vector<double> after = loads_after(loads, 3, moves);
  std::sort(after.begin(), after.end());
  EXPECT_EQ(after, (std::vector<double>{10, 20, 30}));
  EXPECT_EQ(moves.size(), 2U);
}

TEST(Balance, LeavesWhatIsWell) {
  EXPECT_TRUE(balance({}, 4, {}).empty());
  EXPECT_TRUE(balance(elements({{0, 0}, {0}}), 2, {}).empty());
  EXPECT_TRUE(balance(elements({{10, 10}, {20}}), 2, {}).empty());
  EXPECT_TRUE(balance(elements({{100, 100, 1}, {200}}), 2, {}).empty());  // less than 2 %
  EXPECT_TRUE(balance(elements({{1000}, {1, 1}}), 2, {}).empty());        // can't be better
  EXPECT_TRUE(balance(elements({{5, 6, 7}}), 1, {}).empty());
}

// PEs 0 to 3 in one group, 4 to 7 in the other.
plan::Levels two_groups() { return {{{{{0, 1, 2, 3}, {4, 5, 6, 7}}}}}; }

TEST(Balance, CrossesNoBorderWithoutNeed) {
  const std::vector<Load> loads = elements({{10, 10, 10, 10}, {}, {}, {}, {}, {}, {}, {10, 10, 10, 10}});
  const std::vector<Move> moves = balance(loads, 8, two_groups());
  EXPECT_EQ(loads_after(loads, 8, moves), std::vector<double>(8, 10));
  EXPECT_EQ(moves.size(), 6U);
  for (const Move& move : moves) EXPECT_EQ(move.from / 4, move.to / 4);
}

TEST(Balance, TakesOverTheBorderWhatAGroupHasTooMuch) {
  const std::vector<Load> loads = elements({{10, 10, 10}, {10, 10}, {10}, {}, {}, {10}, {10}, {}});
  const std::vector<Move> moves = balance(loads, 8, two_groups());
  EXPECT_EQ(loads_after(loads, 8, moves), std::vector<double>(8, 10));
  EXPECT_EQ(std::count_if(moves.begin(), moves.end(), [](const Move& m) { return m.from / 4 != m.to / 4; }),
            2);
}

TEST(Balance, WhatPesHaveToDoBesidesCounts) {
  std::vector<Load> loads;
  for (std::uint64_t i = 0; i < 40; ++i) loads.push_back({i, 10, i < 20 ? 0U : 1U});
  EXPECT_TRUE(balance(loads, 2, {}).empty());
  EXPECT_EQ(loads_after(loads, 2, balance(loads, 2, {}, {800, 0})), (std::vector<double>{0, 400}));
  EXPECT_EQ(loads_after(loads, 2, balance(loads, 2, {}, {0, 200})), (std::vector<double>{300, 100}));
  EXPECT_TRUE(balance(loads, 2, {}, {500, 500}).empty());
}

TEST(Balance, HoldsItsBoundOnRandomLoads) {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t pes = 1 + random() % 16;
    plan::Levels levels;
    if (random() % 2 == 0) {
      levels.levels.emplace_back();
      for (std::uint32_t pe = 0; pe < pes; ++pe) {
        if (pe % 3 == 0) levels.levels.back().groups.emplace_back();
        levels.levels.back().groups.back().push_back(static_cast<int>(pe));
      }
    }
    std::vector<Load> loads;
    const std::size_t count = random() % 200;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t pe = random() % 4 == 0 ? random() % pes : 0;
      loads.push_back({i, random() % 3 == 0 ? random() % 5000 : random() % 100, pe});
    }
    const std::vector<Move> moves = balance(loads, pes, levels);
    const std::vector<double> before = loads_after(loads, pes, {}), after = loads_after(loads, pes, moves);
    const double busiest = *std::max_element(after.begin(), after.end());
    const double average = std::accumulate(after.begin(), after.end(), 0.0) / pes;
    double largest = 0;
    for (const Load& load : loads) largest = std::max(largest, static_cast<double>(load.ns));
    EXPECT_NEAR(std::accumulate(before.begin(), before.end(), 0.0), average * pes, 1e-6);
    const double parts = levels.levels.empty() ? 1 : 2;  // each level may be off by one element
    EXPECT_LE(busiest, 1.05 * average + parts * largest) << round;
    EXPECT_LE(busiest, *std::max_element(before.begin(), before.end())) << round;
    for (const Move& move : moves) EXPECT_TRUE(move.to < pes && move.to != move.from);
  }
}

}  // namespace
}  // namespace nigh::chare
