// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "space/budget.hpp"

#include <gtest/gtest.h>

namespace nigh::space {
namespace {

void work(int ms) {
  const auto used = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  };
  for (const auto end = used() + ms; used() < end;) continue;
}

// Spends what is there, asking again and again; how many bytes that were.
std::int64_t spend_all(Budget& budget) {
  std::int64_t bytes = 0;
  while (budget.pay(1)) ++bytes;
  return bytes;
}

TEST(Budget, HasSomeAtFirstAndEarnsByTime) {
  Budget budget(100, 1'000'000);
  work(20);
  EXPECT_GE(spend_all(budget), 100 + 20'000);
  work(20);
  EXPECT_GE(spend_all(budget), 20'000);
}

TEST(Budget, MayOverdrawOnce) {
  Budget budget(100, 0);
  EXPECT_TRUE(budget.pay(1000));
  EXPECT_FALSE(budget.pay(1));
  budget.add(800);
  EXPECT_FALSE(budget.pay(1));
  budget.add(101);
  EXPECT_TRUE(budget.pay(1));
}

TEST(Budget, EarnsNothingWithoutSigns) {
  Signs signs;
  Budget budget(100, 1'000'000, &signs);
  work(20);
  EXPECT_EQ(spend_all(budget), 100);
  work(20);
  EXPECT_FALSE(budget.pay(1));
  // The time before is lost; from now on it pays, for a second.
  signs.seen();
  work(20);
  const std::int64_t earned = spend_all(budget);
  EXPECT_GE(earned, 20'000);
  work(20);
  EXPECT_GE(spend_all(budget), 20'000);
}

TEST(Budget, SignsLastForASecond) {
  Signs signs;
  EXPECT_FALSE(signs.last(0));
  signs.seen();
  EXPECT_TRUE(signs.last(5000));
  EXPECT_TRUE(signs.last(6000));
  EXPECT_FALSE(signs.last(6001));
  signs.seen();
  EXPECT_TRUE(signs.last(7000));
}

}  // namespace
}  // namespace nigh::space
