// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/places.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nigh::sys {
namespace {

CpuSet first_cpus(int count) {
  CpuSet out;
  for (int cpu = 0; cpu < count; ++cpu) out.set(cpu);
  return out;
}

// The tests' folder has no planner.
TEST(Places, WithoutAPlannerInTheOrderOfTheirNumbers) {
  CpuSet usable;
  for (const int cpu : {3, 5, 8, 9}) usable.set(cpu);
  EXPECT_EQ(plan_places(usable, 0, 3, Bind::scatter).cpus, (std::vector<int>{3, 5, 8}));
  EXPECT_EQ(plan_places(usable, 0, 4, Bind::compact).cpus, (std::vector<int>{3, 5, 8, 9}));
  EXPECT_TRUE(plan_places(usable, 0, 5, Bind::scatter).cpus.empty());
  EXPECT_TRUE(plan_places(usable, 0, 2, Bind::none).cpus.empty());
  EXPECT_EQ(plan_places(first_cpus(1), 0, 1, Bind::scatter).cpus, std::vector<int>{0});
}

// Its CPUs' numbers alternate between the two nodes.
TEST(Places, NeighboursFollowTheTree) {
  const CpuSet usable = first_cpus(8);
  auto cpus = [&](int threads, Bind bind) {
    return plan_places(usable, 0, threads, bind, "nehalem-hp", NIGH_BINARY_DIR "/lib/libnigh.so.0").cpus;
  };
  EXPECT_EQ(cpus(8, Bind::scatter), (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(cpus(4, Bind::scatter), (std::vector<int>{0, 4, 1, 5}));
  EXPECT_EQ(cpus(4, Bind::compact), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(cpus(2, Bind::scatter), (std::vector<int>{0, 1}));
  EXPECT_TRUE(cpus(9, Bind::scatter).empty());
  EXPECT_TRUE(cpus(2, Bind::none).empty());
  const Places odd =
      plan_places(CpuSet{1, 3, 4, 6}, 2, 4, Bind::scatter, "nehalem-hp", NIGH_BINARY_DIR "/lib/libnigh.so.0");
  EXPECT_EQ(odd.cpus, (std::vector<int>{4, 6, 1, 3}));
  EXPECT_EQ(odd.first, 2);
}

}  // namespace
}  // namespace nigh::sys
