// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// CpuSet: the kernel's list format both ways, set algebra, and what bad text gets.
#include "base/cpuset.hpp"

#include <gtest/gtest.h>

namespace nigh {
namespace {

TEST(CpuSet, ReadsAndWritesTheKernelsListFormat) {
  for (const char* list : {"", "0", "0-5,8,12-15", "63-64", "127", "0,2,4,6"}) {
    auto set = CpuSet::parse(list);
    ASSERT_TRUE(set.has_value()) << list;
    EXPECT_EQ(set->to_list(), list);
  }
  EXPECT_EQ(CpuSet::parse(" 3 - 4 , 1\n")->to_list(), "1,3-4");
}

TEST(CpuSet, BadTextNamesThePosition) {
  for (const char* list : {"a", "1,", "1-", "-1", "1..2", "5-3", "99999", "1 2", "4294967296"}) {
    auto set = CpuSet::parse(list);
    ASSERT_FALSE(set.has_value()) << list;
    EXPECT_EQ(set.error().code, Errc::invalid);
    EXPECT_NE(set.error().message.find(list), std::string::npos) << set.error().message;
  }
}

TEST(CpuSet, Algebra) {
  CpuSet a{0, 1, 64, 130};
  CpuSet b{1, 130, 200};
  EXPECT_EQ((a & b), (CpuSet{1, 130}));
  EXPECT_EQ((a | b), (CpuSet{0, 1, 64, 130, 200}));
  EXPECT_EQ(a.minus(b), (CpuSet{0, 64}));
  EXPECT_TRUE(a.contains(CpuSet{64}));
  EXPECT_FALSE(a.contains(b));
  EXPECT_TRUE(a.intersects(b));
  EXPECT_EQ(a.count(), 4);
  EXPECT_EQ(a.next(1), 64);
  EXPECT_EQ(a.next(130), -1);
  a.clear(130);
  EXPECT_EQ(a.words().size(), 2u);  // no trailing zero words, so equality is that of the words
  EXPECT_EQ(a, (CpuSet{0, 1, 64}));
  EXPECT_EQ(CpuSet::range(3, 6).members(), (std::vector<int>{3, 4, 5, 6}));
}

}  // namespace
}  // namespace nigh
