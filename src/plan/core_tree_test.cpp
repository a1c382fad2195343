// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The tree the planner sees: cut to the mask, chains collapsed, leaves in SMT order.
#include "plan/core_tree.hpp"

#include <gtest/gtest.h>

#include "plan/test_machines.hpp"

namespace nigh {
namespace {

TEST(CoreTree, CollapsesChains) {
  auto tree = *CoreTree::cut(test::four_by_four(), CpuSet::range(0, 15));
  ASSERT_EQ(tree.size(), 16);
  EXPECT_EQ(tree.node(0).kind, Kind::machine);
  ASSERT_EQ(tree.node(0).children.size(), 4u);
  for (int child : tree.node(0).children) {
    EXPECT_EQ(tree.node(child).kind, Kind::package);
    EXPECT_EQ(tree.node(child).children.size(), 4u);  // cores, not the NUMA node in between
  }
  EXPECT_EQ(tree.leaf(9).core, 9);
  EXPECT_EQ(tree.leaf(9).node, 2);
}

TEST(CoreTree, ParentsComeFirstAndCoverTheirChildren) {
  auto tree = *CoreTree::cut(test::scalemp(), CpuSet::range(0, 103));
  for (int i = 0; i < static_cast<int>(tree.nodes.size()); ++i) {
    int at = tree.node(i).first;
    for (int child : tree.node(i).children) {
      EXPECT_GT(child, i);
      EXPECT_EQ(tree.node(child).first, at);
      at = tree.node(child).last;
    }
    EXPECT_EQ(at, tree.node(i).children.empty() ? tree.node(i).first : tree.node(i).last);
  }
}

TEST(CoreTree, CutsToTheMask) {
  auto tree = *CoreTree::cut(test::nehalem_sun(), *CpuSet::parse("1,8-9,20"));
  ASSERT_EQ(tree.size(), 2);
  EXPECT_EQ(tree.leaf(0).pus, std::vector<int>({8}));  // the second sibling alone
  EXPECT_EQ(tree.leaf(1).pus, std::vector<int>({1, 9}));
  EXPECT_EQ(tree.mask.to_list(), "1,8-9");
}

TEST(CoreTree, CoreNumbersDoNotDependOnTheMask) {
  auto tree = *CoreTree::cut(test::four_by_four(), CpuSet{13});
  ASSERT_EQ(tree.nodes.size(), 1u);
  EXPECT_EQ(tree.node(0).kind, Kind::core);
  EXPECT_EQ(tree.leaf(0).core, 13);
  EXPECT_EQ(tree.leaf(0).node, 3);
}

TEST(CoreTree, PusWithoutCoresAreLeavesAndMemoryIsIgnored) {
  auto tree = *CoreTree::cut(test::bare_pus(), CpuSet::range(0, 3));
  ASSERT_EQ(tree.size(), 4);
  ASSERT_EQ(tree.node(0).children.size(), 2u);
  EXPECT_EQ(tree.leaf(3).core, -1);
  EXPECT_EQ(tree.leaf(3).node, 1);
  EXPECT_EQ(tree.node(tree.node(0).children[0]).kind, Kind::numa);
}

TEST(CoreTree, SaysWhatIsWrongWithAMask) {
  auto empty = CoreTree::cut(test::four_by_four(), CpuSet{});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message, "the mask is empty; it must hold at least one PU");
  auto outside = CoreTree::cut(test::four_by_four(), CpuSet{16, 17});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message,
            "the mask 16-17 and the machine 'packages' (PUs 0-15) have no PU in common");
}

TEST(CoreTree, OrdersByDistance) {
  auto tree = *CoreTree::cut(test::tigerton(), CpuSet::range(0, 15));
  EXPECT_EQ(tree.by_distance(6), std::vector<int>({6, 7, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace nigh
