// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/team.hpp"

#include <gtest/gtest.h>

#include "sys/os.hpp"

namespace nigh::transpose {
namespace {

TEST(Team, EveryThreadWorksOnceEachRound) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    ASSERT_EQ(team.threads(), threads);
    std::vector<int> counts(static_cast<std::size_t>(threads));
    for (int round = 1; round <= 2000; ++round) {
      team.run([&](int thread) { ++counts[static_cast<std::size_t>(thread)]; });
      for (const int count : counts) ASSERT_EQ(count, round) << threads;
    }
  }
}

TEST(Team, SleepersWake) {
  Team team(3);
  std::atomic<int> sum{0};
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until they sleep
    team.run([&](int thread) {
      if (thread == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the caller does
      sum += thread;
    });
  }
  EXPECT_EQ(sum, 9);
}

TEST(Team, ThreadsSitWhereTheyAreTold) {
  const auto before = sys::affinity();
  ASSERT_TRUE(before);
  const CpuSet seat{before->first()};
  Team team(2, {CpuSet(), seat});
  Result<CpuSet> there = CpuSet();
  team.run([&](int thread) {
    if (thread == 1) there = sys::affinity();
  });
  ASSERT_TRUE(there);
  EXPECT_EQ(*there, seat);
  EXPECT_EQ(*sys::affinity(), *before);
}

TEST(Team, NeverUsedItEnds) {
  for (int i = 0; i < 100; ++i) Team team(2);
}

}  // namespace
}  // namespace nigh::transpose
