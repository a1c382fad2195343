// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Shares of ranks: known maps, and the laws that hold on every machine.
#include "plan/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "machine/load.hpp"

namespace nigh {
namespace {

CoreTree tree_of(const std::string& description, const CpuSet& mask = {}) {
  auto machine = load_hwloc_synthetic(description);
  EXPECT_TRUE(machine.has_value());
  auto tree = CoreTree::cut(*machine, mask.empty() ? machine->pus() : mask);
  EXPECT_TRUE(tree.has_value());
  return *tree;
}

std::vector<std::string> maps(const CoreTree& tree, int ranks, RankBinding binding) {
  std::vector<std::string> out;
  for (const CpuSet& share : rank_shares(tree, ranks, binding)) out.push_back(share.to_list());
  return out;
}

using Maps = std::vector<std::string>;

TEST(RankShares, CompactFollowsTheTree) {
  CoreTree tree = tree_of("pack:2 numa:1 core:4 pu:1");
  EXPECT_EQ(maps(tree, 1, RankBinding::compact), (Maps{"0-7"}));
  EXPECT_EQ(maps(tree, 2, RankBinding::compact), (Maps{"0-3", "4-7"}));
  EXPECT_EQ(maps(tree, 4, RankBinding::compact), (Maps{"0-1", "2-3", "4-5", "6-7"}));
  for (const CpuSet& share : rank_shares(tree, 3, RankBinding::compact))  // none straddles the packages
    EXPECT_TRUE(CpuSet::range(0, 3).contains(share) || CpuSet::range(4, 7).contains(share))
        << share.to_list();
}

TEST(RankShares, ScatterTakesTurnsOverPackages) {
  CoreTree tree = tree_of("pack:2 numa:1 core:4 pu:1");
  EXPECT_EQ(maps(tree, 4, RankBinding::scatter), (Maps{"0-1", "4-5", "2-3", "6-7"}));
  EXPECT_EQ(maps(tree, 8, RankBinding::scatter), (Maps{"0", "4", "1", "5", "2", "6", "3", "7"}));
}

TEST(RankShares, SiblingsStayTogetherUntilThereAreMoreRanksThanCores) {
  CoreTree tree = tree_of("pack:1 core:2 pu:2");
  EXPECT_EQ(maps(tree, 2, RankBinding::compact), (Maps{"0-1", "2-3"}));
  EXPECT_EQ(maps(tree, 4, RankBinding::compact), (Maps{"0", "1", "2", "3"}));
  EXPECT_EQ(maps(tree, 5, RankBinding::compact), Maps(5, "0-3"));
  EXPECT_EQ(maps(tree, 2, RankBinding::none), Maps(2, "0-3"));
}

TEST(RankShares, LawsOnAnyMachineAndMask) {
  std::mt19937 random(7);
  for (const char* description :
       {"pack:4 numa:1 core:4 pu:1", "pack:2 l3:4 core:3 pu:2", "numa:3 core:5 pu:1", "core:1 pu:1"}) {
    auto machine = load_hwloc_synthetic(description);
    ASSERT_TRUE(machine.has_value());
    for (int round = 0; round < 60; ++round) {
      CpuSet mask;
      for (int pu : machine->pus().members())
        if (random() % 3 != 0) mask.set(pu);
      if (mask.empty()) continue;
      CoreTree tree = tree_of(description, mask);
      int ranks = 1 + static_cast<int>(random() % static_cast<unsigned>(mask.count()));
      for (RankBinding binding : {RankBinding::compact, RankBinding::scatter}) {
        auto shares = rank_shares(tree, ranks, binding);
        ASSERT_EQ(shares.size(), static_cast<std::size_t>(ranks));
        CpuSet all;
        int sum = 0;
        for (const CpuSet& share : shares) all |= share, sum += share.count();
        EXPECT_EQ(all, mask) << description << " " << ranks << " ranks on " << mask.to_list();
        EXPECT_EQ(sum, mask.count()) << "shares overlap";
        EXPECT_TRUE(std::none_of(shares.begin(), shares.end(), [](const CpuSet& s) { return s.empty(); }));
      }
    }
  }
}

TEST(RankShares, NamesOfBindings) {
  for (const char* name : {"compact", "scatter", "none"})
    EXPECT_STREQ(rank_binding_name(*rank_binding_from(name)), name);
  EXPECT_EQ(rank_binding_from("spread").error().message, "'spread' is none of compact, scatter, none");
}

}  // namespace
}  // namespace nigh
