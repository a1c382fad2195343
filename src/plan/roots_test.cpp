// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Several threads of one process that each open regions: every later one starts where the earlier ones
// left the most room, and its teams go beside theirs.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "plan/test_machines.hpp"
#include "plan/test_maps.hpp"

namespace nigh {
namespace {

using test::map_of;
using test::plan_for;

TEST(Roots, CompactTeamsTakeTheNextPackage) {
  auto plan = plan_for(test::four_by_four(), "4,compact");
  EXPECT_EQ(map_of(plan, 0), "0 1 2 3");
  EXPECT_EQ(map_of(plan, 1), "4 5 6 7");
  EXPECT_EQ(map_of(plan, 3), "12 13 14 15");
  EXPECT_EQ(map_of(plan, 4), "0 1 2 3");  // all taken once: from the start
}

TEST(Roots, CompactTeamsThatDoNotFitAPackage) {
  auto plan = plan_for(test::four_by_four(), "6,compact");
  EXPECT_EQ(map_of(plan, 0), "0 1 2 3 4 5");
  EXPECT_EQ(map_of(plan, 1), "8 9 10 11 12 13");
  EXPECT_EQ(map_of(plan, 2), "6 7 14 15 4 5");  // the free ones first, nearest first
}

TEST(Roots, ScatteredTeamsTakeTheNextCoreOfEachPackage) {
  auto plan = plan_for(test::four_by_four(), "4,scatter");
  EXPECT_EQ(map_of(plan, 1), "1 5 9 13");
  EXPECT_EQ(map_of(plan, 2), "2 6 10 14");
  EXPECT_EQ(map_of(plan, 3), "3 7 11 15");
}

TEST(Roots, AFullMachineIsSharedAlike) {
  auto plan = plan_for(test::four_by_four(), "4,scatter,4,subcompact");
  EXPECT_EQ(map_of(plan, 1), map_of(plan, 0));
  auto sun = plan_for(test::nehalem_sun(), "2,scatter,4,subcompact");
  EXPECT_EQ(map_of(sun, 0), "0 1 2 3 | 4 5 6 7");
  EXPECT_EQ(map_of(sun, 1), "8 9 10 11 | 12 13 14 15");
}

TEST(Roots, TheLaterRootSaysSo) {
  auto plan = plan_for(test::four_by_four(), "4,compact");
  EXPECT_EQ((*expand(plan, 1))[0].reason, "a later root thread starts in the least loaded part");
}

TEST(Roots, AreTheSameInAnyOrderAndFromAnyThread) {
  auto forward = plan_for(test::scalemp(), "5,scatter,3,scatter");
  auto backward = plan_for(test::scalemp(), "5,scatter,3,scatter");
  std::vector<std::string> expected;
  for (int root = 0; root < 12; ++root) expected.push_back(map_of(forward, root));
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int root = 11; root >= 0; --root)
        if (map_of(backward, (root + 3 * t) % 12) != expected[static_cast<std::size_t>((root + 3 * t) % 12)])
          ++different;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
  EXPECT_EQ(map_of(forward, NestedPlan::max_roots), expected[0]);
}

}  // namespace
}  // namespace nigh
