// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/rank_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "machine/load.hpp"
#include "plan/core_tree.hpp"
#include "plan/partition.hpp"
#include "plan/rank_slots.hpp"
#include "plan/ranks.hpp"

namespace nigh {
namespace {

using Entries = std::vector<Traffic::Entry>;

// Each rank of a grid sends 1000 bytes to its neighbours in each direction.
Entries grid(int x, int y, int z) {
  Entries out;
  const auto rank = [&](int i, int j, int k) { return (i * y + j) * z + k; };
  for (int i = 0; i < x; ++i)
    for (int j = 0; j < y; ++j)
      for (int k = 0; k < z; ++k) {
        if (i + 1 < x) out.push_back({rank(i, j, k), rank(i + 1, j, k), 1000});
        if (j + 1 < y) out.push_back({rank(i, j, k), rank(i, j + 1, k), 1000});
        if (k + 1 < z) out.push_back({rank(i, j, k), rank(i, j, k + 1), 1000});
      }
  return out;
}

// Exchanges within the rows and within the columns of rows x columns ranks, as a 3-D FFT by pencils makes
// them.
Entries pencils(int rows, int columns) {
  Entries out;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      for (int k = j + 1; k < columns; ++k) out.push_back({i * columns + j, i * columns + k, 100});
      for (int k = i + 1; k < rows; ++k) out.push_back({i * columns + j, k * columns + j, 100});
    }
  return out;
}

Entries at_random(int ranks, int degree, unsigned start) {
  std::mt19937 random(start);
  Entries out;
  for (int i = 0; i < ranks * degree; ++i)
    out.push_back({static_cast<int>(random() % static_cast<unsigned>(ranks)),
                   static_cast<int>(random() % static_cast<unsigned>(ranks)), 1.0 + random() % 1000});
  return out;
}

Entries renamed(Entries entries, int ranks, unsigned start) {
  std::vector<int> name(static_cast<std::size_t>(ranks));
  std::iota(name.begin(), name.end(), 0);
  std::shuffle(name.begin(), name.end(), std::mt19937(start));
  for (Traffic::Entry& entry : entries) {
    entry.from = name[static_cast<std::size_t>(entry.from)];
    entry.to = name[static_cast<std::size_t>(entry.to)];
  }
  return entries;
}

// Nodes of 2 packages with 2 caches each, or of single places.
RankSlots nodes_of(int nodes, int ranks, bool inner = true) {
  const int most = (ranks + nodes - 1) / nodes;
  std::vector<RankSlots::Level> levels;
  if (inner)
    for (const int groups : {2, 4}) {
      RankSlots::Level level{groups == 2 ? "package" : "l3", 1, {}};
      for (int i = 0; i < most; ++i) level.group.push_back(i * groups / most);
      levels.push_back(level);
    }
  return slots_of_nodes(nodes, ranks, 0, levels);
}

bool is_permutation_of_slots(const RankMap& map) {
  std::vector<int> slots = map.slot;
  std::sort(slots.begin(), slots.end());
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i] != static_cast<int>(i)) return false;
  return true;
}

TEST(Traffic, AddsUpWhatTwoRanksSendEachOther) {
  const Traffic traffic(3, {{0, 1, 5}, {1, 0, 7}, {1, 1, 100}, {2, 1, 1}, {0, 2, 0}});
  EXPECT_EQ(traffic.total(), 13);
  ASSERT_EQ(traffic.of(0).size(), 1U);
  EXPECT_EQ(traffic.of(0)[0].to, 1);
  EXPECT_EQ(traffic.of(0)[0].bytes, 12);
  ASSERT_EQ(traffic.of(1).size(), 2U);
  EXPECT_EQ(traffic.of(1)[1].bytes, 1);
}

TEST(RankMap, CountsWhatCrossesEachLevel) {
  // Two nodes of two packages of two ranks.
  const RankSlots slots = nodes_of(2, 8, false);
  const Traffic traffic(8, {{0, 1, 10}, {0, 4, 100}, {3, 7, 1000}});
  const RankMap map = map_in_order(traffic, slots);
  EXPECT_EQ(map.crossed, std::vector<double>{1100});
  const RankMap turn = map_in_turn(traffic, slots);
  EXPECT_EQ(turn.slot, (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(turn.crossed, std::vector<double>{10});
}

TEST(RankMap, InTurnFillsNodesOfDifferentSizes) {
  const RankSlots slots = slots_of_nodes(3, 8, 0, {});
  EXPECT_EQ(slots.levels[0].group, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(map_in_turn(Traffic(8, {}), slots).slot, (std::vector<int>{0, 3, 6, 1, 4, 7, 2, 5}));
}

TEST(RankMap, KeepsTheOrderWhereNothingIsGained) {
  const RankSlots slots = nodes_of(4, 16);
  for (const Entries& entries : {Entries{}, grid(16, 1, 1)}) {
    const RankMap map = map_ranks(Traffic(16, entries), slots);
    for (int rank = 0; rank < 16; ++rank) EXPECT_EQ(map.slot[static_cast<std::size_t>(rank)], rank);
  }
}

// All ways to share out 8 or 9 ranks among nodes.
TEST(RankMap, IsAsGoodAsAllWaysForFewRanks) {
  for (unsigned start = 0; start < 60; ++start) {
    const int ranks = start % 2 == 0 ? 8 : 9, nodes = start % 3 == 0 ? 4 : start % 3 == 1 ? 2 : 3;
    const RankSlots slots = nodes_of(nodes, ranks, false);
    const Traffic traffic(ranks, at_random(ranks, 3, start));
    const std::vector<int>& node = slots.levels[0].group;
    std::vector<int> of = node;
    double best = INFINITY;
    do {
      double cut = 0;
      for (int rank = 0; rank < ranks; ++rank)
        for (const Traffic::Edge& edge : traffic.of(rank))
          if (of[static_cast<std::size_t>(rank)] != of[static_cast<std::size_t>(edge.to)])
            cut += edge.bytes / 2;
      best = std::min(best, cut);
    } while (std::next_permutation(of.begin(), of.end()));
    const RankMap map = map_ranks(traffic, slots);
    EXPECT_TRUE(is_permutation_of_slots(map));
    EXPECT_LE(map.crossed[0], 1.02 * best) << "case " << start;
  }
}

// Shapes whose best cut is known: blocks of the grid, whole rows or columns of pencils.
TEST(RankMap, FindsTheBlocksOfGridsWhateverTheirNames) {
  struct Shape {
    int nodes, ranks;
    Entries entries;
    double best;  // bytes between nodes
  };
  const Shape shapes[] = {
      {16, 64, grid(8, 8, 1), 48e3},         // 2 x 2
      {32, 1024, grid(32, 32, 1), 320e3},    // 4 x 8
      {16, 512, grid(8, 8, 8), 640e3},       // 2 x 4 x 4
      {32, 1024, pencils(32, 32), 1587200},  // a row each
  };
  for (const Shape& shape : shapes)
    for (const unsigned start : {0U, 1U, 2U}) {
      const Traffic traffic(shape.ranks,
                            start == 0 ? shape.entries : renamed(shape.entries, shape.ranks, start));
      const RankMap map = map_ranks(traffic, nodes_of(shape.nodes, shape.ranks));
      EXPECT_TRUE(is_permutation_of_slots(map));
      EXPECT_LE(map.crossed[0], 1.02 * shape.best) << shape.ranks << " ranks, names " << start;
    }
}

TEST(RankMap, IsNeverWorseThanTheLaunchers) {
  for (unsigned start = 0; start < 40; ++start) {
    std::mt19937 random(start);
    const int ranks = 1 + static_cast<int>(random() % 90), nodes = 1 + static_cast<int>(random() % 7);
    const RankSlots slots = nodes_of(std::min(nodes, ranks), ranks);
    const Traffic traffic(ranks, at_random(ranks, static_cast<int>(random() % 12), start));
    const RankMap map = map_ranks(traffic, slots);
    EXPECT_TRUE(is_permutation_of_slots(map));
    EXPECT_LE(map.cost, map_in_order(traffic, slots).cost);
    EXPECT_LE(map.cost, map_in_turn(traffic, slots).cost);
    EXPECT_EQ(map.slot, map_ranks(traffic, slots).slot);  // the same again
  }
}

TEST(RankMap, IsQuick) {
#ifdef NIGH_SANITIZED
  GTEST_SKIP() << "sanitizers slow it down";
#endif
  for (const Entries& entries : {grid(32, 32, 1), pencils(32, 32), at_random(1024, 8, 1)}) {
    const Traffic traffic(1024, renamed(entries, 1024, 7));
    const RankSlots slots = nodes_of(32, 1024);
    const auto start = std::chrono::steady_clock::now();
    const RankMap map = map_ranks(traffic, slots);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(is_permutation_of_slots(map));
    EXPECT_LT(seconds.count(), 2.0);  // 0.3 to 0.7 on a quiet machine
  }
}

TEST(Partition, HasPartsOfExactSizes) {
  for (unsigned start = 0; start < 40; ++start) {
    std::mt19937 random(start);
    std::vector<int> sizes(2 + random() % 6);
    for (int& size : sizes) size = 1 + static_cast<int>(random() % 40);
    const int count = std::accumulate(sizes.begin(), sizes.end(), 0);
    std::vector<int> ranks;  // every second one of the job
    for (int i = 0; i < count; ++i) ranks.push_back(2 * i);
    const Traffic traffic(2 * count, at_random(2 * count, 5, start));
    const std::vector<int> part = partition(traffic, ranks, sizes, 2, start);
    for (std::size_t p = 0; p < sizes.size(); ++p)
      EXPECT_EQ(std::count(part.begin(), part.end(), static_cast<int>(p)), sizes[p]);
  }
}

// No memory grows with the square of the number of nodes.
TEST(RankMap, TakesManyNodes) {
  const int ranks = 40'000, nodes = 20'000;
  const RankMap map =
      map_ranks(Traffic(ranks, renamed(grid(200, 200, 1), ranks, 1)), nodes_of(nodes, ranks, false));
  EXPECT_TRUE(is_permutation_of_slots(map));
  EXPECT_LE(map.crossed[0], 0.85 * map_in_order(Traffic(ranks, renamed(grid(200, 200, 1), ranks, 1)),
                                                nodes_of(nodes, ranks, false))
                                       .crossed[0]);
}

TEST(RankSlots, LevelsFollowTheMachine) {
  const auto machine = load_machine("synthetic:pack:2 numa:2 l3:1 core:4 pu:2");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto tree = CoreTree::cut(*machine, machine->pus());
  ASSERT_TRUE(tree);
  const auto levels = levels_of_shares(*machine, rank_shares(*tree, 8, RankBinding::compact));
  ASSERT_EQ(levels.size(), 2U);  // an L3 is a NUMA node
  EXPECT_EQ(levels[0].name, "package");
  EXPECT_EQ(levels[0].group, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(levels[1].name, "numa");
  EXPECT_EQ(levels[1].group, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_TRUE(levels_of_shares(*machine, rank_shares(*tree, 1, RankBinding::compact)).empty());
}

}  // namespace
}  // namespace nigh
