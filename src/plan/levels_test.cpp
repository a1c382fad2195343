// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Seats in, nested groups out: the shapes that machines have, those that users make by binding oddly, and a
// thousand random ones that must all nest.
#include "plan/levels.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using nigh::plan::Levels;
using nigh::plan::levels_of;
using nigh::plan::nested;
using nigh::plan::Seat;
using Groups = std::vector<std::vector<int>>;

TEST(levels, one_cache_is_flat) {
  EXPECT_TRUE(levels_of(std::vector<Seat>(4, Seat{0, 0, 0})).levels.empty());
  EXPECT_TRUE(levels_of({}).levels.empty());
  EXPECT_TRUE(levels_of({Seat{}, Seat{}, Seat{}}).levels.empty());
}

TEST(levels, each_rank_alone_is_flat) {
  EXPECT_TRUE(levels_of({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}).levels.empty());
}

TEST(levels, caches_nodes_sockets_innermost_first) {
  std::vector<Seat> seats;
  for (int rank = 0; rank < 16; ++rank) seats.push_back({rank / 2, rank / 4, rank / 8});
  const Levels levels = levels_of(seats);
  ASSERT_EQ(levels.levels.size(), 3u);
  EXPECT_EQ(levels.levels[0].groups.size(), 8u);
  EXPECT_EQ(levels.levels[1].groups.size(), 4u);
  EXPECT_EQ(levels.levels[2].groups, (Groups{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
}

TEST(levels, equal_levels_are_listed_once) {
  const Levels levels = levels_of({{0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}});
  ASSERT_EQ(levels.levels.size(), 1u);
  EXPECT_EQ(levels.levels[0].groups, (Groups{{0, 1}, {2, 3}}));
}

TEST(levels, round_robin_ranks_keep_ascending_order) {
  const Levels levels = levels_of({{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}});
  ASSERT_EQ(levels.levels.size(), 1u);
  EXPECT_EQ(levels.levels[0].groups, (Groups{{0, 2}, {1, 3}}));
}

TEST(levels, cache_numbers_that_start_anew_on_each_socket) {
  const Levels levels = levels_of({{0, 0, 0}, {0, 0, 0}, {0, 1, 1}, {0, 1, 1}});
  ASSERT_EQ(levels.levels.size(), 1u);
  EXPECT_EQ(levels.levels[0].groups, (Groups{{0, 1}, {2, 3}}));
}

TEST(levels, unknown_seats_form_a_domain_together) {
  const Levels levels = levels_of({{0, 0, 0}, Seat{}, {0, 0, 0}, Seat{}});
  ASSERT_EQ(levels.levels.size(), 1u);
  EXPECT_EQ(levels.levels[0].groups, (Groups{{0, 2}, {1, 3}}));
}

TEST(levels, nested_knows_what_is_not) {
  EXPECT_TRUE(nested({}, 3));
  EXPECT_TRUE(nested({{{{{0, 1}, {2}}}}}, 3));
  EXPECT_FALSE(nested({{{{{0, 1}}}}}, 3));                              // 2 is missing
  EXPECT_FALSE(nested({{{{{0, 1}, {1, 2}}}}}, 3));                      // 1 is twice
  EXPECT_FALSE(nested({{{{{1, 0}, {2}}}}}, 3));                         // not ascending
  EXPECT_FALSE(nested({{{{{0, 1}, {2, 3}}}, {{{0, 2}, {1, 3}}}}}, 4));  // crosses
  EXPECT_FALSE(nested({{{{{0, 1}, {2, 3}, {}}}}}, 4));                  // an empty group
  EXPECT_TRUE(nested({{{{{0, 1}, {2, 3}, {4, 5}}}, {{{0, 1, 4, 5}, {2, 3}}}}}, 6));
}

TEST(levels, any_seats_nest) {
  std::mt19937 random(20090506);
  for (int round = 0; round < 1000; ++round) {
    const int ranks = static_cast<int>(random() % 20) + 1;
    std::vector<Seat> seats;
    for (int rank = 0; rank < ranks; ++rank) {
      auto number = [&] { return static_cast<int>(random() % 4) - 1; };
      seats.push_back({number(), number(), number()});
    }
    const Levels levels = levels_of(seats);
    EXPECT_TRUE(nested(levels, ranks));
    for (const auto& level : levels.levels) EXPECT_GT(level.groups.size(), 1u);
  }
}

}  // namespace
