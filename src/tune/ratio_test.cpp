// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/ratio.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nigh::tune {
namespace {

TEST(CompareRatio, MedianOfFewAndMany) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({4, 1}), 2.5);
  EXPECT_EQ(median_of({9, 1, 2}), 2);
}

TEST(CompareRatio, IntervalLeavesOutWhatATableOfTheSignTestDoes) {
  // n: how many values at each end lie outside of the 95 % interval of the median.
  const std::pair<std::size_t, std::size_t> table[] = {{6, 0},  {8, 0},  {9, 1}, {12, 2},
                                                       {15, 3}, {20, 5}, {25, 7}};
  for (const auto& [n, outside] : table) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(n - i));
    const Ratio ratio = ratio_of(values);
    EXPECT_TRUE(ratio.known);
    EXPECT_EQ(ratio.low, static_cast<double>(1 + outside)) << n;
    EXPECT_EQ(ratio.high, static_cast<double>(n - outside)) << n;
  }
  EXPECT_FALSE(ratio_of({1, 1, 1, 1, 1}).known);
  EXPECT_FALSE(ratio_of({}).known);
}

TEST(CompareRatio, ThousandsOfPairsHaveAnInterval) {
  std::size_t before = 0;
  for (const std::size_t n : {990U, 1000U, 1001U, 1010U, 1100U, 5000U, 100000U}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
    const Ratio ratio = ratio_of(values);
    const auto outside = static_cast<std::size_t>(ratio.low);
    EXPECT_EQ(ratio.high, static_cast<double>(n - 1 - outside)) << n;
    EXPECT_NEAR(static_cast<double>(outside), static_cast<double>(n) / 2 - 0.98 * std::sqrt(n), 2) << n;
    EXPECT_GE(outside, before) << n;
    before = outside;
  }
}

TEST(CompareRatio, IntervalHoldsTheMedianAsOftenAsPromised) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> skewed(0, 0.3);  // its median is 1
  int held = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<double> values(15);
    for (double& value : values) value = skewed(random);
    const Ratio ratio = ratio_of(values);
    held += ratio.low <= 1 && 1 <= ratio.high ? 1 : 0;
  }
  EXPECT_GT(held, 4000 * 0.95);
}

TEST(CompareRatio, VerdictNeedsAnIntervalOnOneSideOfOne) {
  EXPECT_EQ(verdict_of({0.79, 0.78, 0.80, true}, "with nigh"), "faster: with nigh takes 0.79 of the time");
  EXPECT_EQ(verdict_of({1.2, 1.01, 1.3, true}, "B"), "slower: B takes 1.2 of the time");
  EXPECT_EQ(verdict_of({0.99, 0.97, 1.01, true}, "B"), "no difference that is larger than 3.0 %");
  EXPECT_NE(verdict_of({0.5, 0.5, 0.5, false}, "B").find("fewer than 6 pairs"), std::string::npos);
  EXPECT_EQ(ratio_text({0.5, 0.4, 0.6, true}), "0.500 [0.400, 0.600]");
  EXPECT_EQ(ratio_text({0.5, 0.4, 0.6, false}), "0.500");
}

}  // namespace
}  // namespace nigh::tune
