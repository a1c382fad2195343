// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Conclusions from made-up samples: medians, knees of known curves, memory that is short, contradictions that
// are there and ones that noise only suggests.
#include "machine/probe_stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace nigh::probe {
namespace {

Figure exactly(double value) { return summarize({value, value, value, value, value}); }

TEST(Stats, MedianLowHigh) {
  Figure odd = summarize({5, 1, 9, 3, 4}, 2);
  EXPECT_EQ(odd.median, 4);
  EXPECT_EQ(odd.low, 1);
  EXPECT_EQ(odd.high, 9);
  EXPECT_EQ(odd.samples, 5);
  EXPECT_EQ(odd.discarded, 2);
  EXPECT_DOUBLE_EQ(spread(odd), 2.0);
  EXPECT_EQ(summarize({4, 2}).median, 3);
  EXPECT_FALSE(summarize({}, 3).known());
}

TEST(Stats, TheLadderEndsWithAllAndRises) {
  EXPECT_EQ(thread_ladder(1), std::vector<int>{1});
  EXPECT_EQ(thread_ladder(2), (std::vector<int>{1, 2}));
  EXPECT_EQ(thread_ladder(7), (std::vector<int>{1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(thread_ladder(16), (std::vector<int>{1, 2, 3, 4, 6, 8, 12, 16}));
  EXPECT_TRUE(thread_ladder(0).empty());
  for (int n = 1; n < 300; ++n) {
    auto counts = thread_ladder(n);
    ASSERT_EQ(counts.front(), 1);
    ASSERT_EQ(counts.back(), n);
    for (std::size_t i = 1; i < counts.size(); ++i) ASSERT_LT(counts[i - 1], counts[i]);
  }
}

int knee_of(double per_thread, double limit, int n, int* tried = nullptr) {
  Knee knee;
  for (int threads : thread_ladder(n)) {
    knee.add(threads, std::min(per_thread * threads, limit));
    if (tried != nullptr) *tried = threads;
    if (knee.done()) break;
  }
  return knee.at();
}

TEST(Stats, TheKneeIsWhereMoreThreadsStopGaining) {
  int tried = 0;
  EXPECT_EQ(knee_of(10, 40, 64, &tried), 4);
  EXPECT_EQ(tried, 8) << "two steps without gain end the search";
  EXPECT_EQ(knee_of(10, 1e9, 128), 128) << "linear to the end, though one more thread of 100 gains but 1 %";
  EXPECT_EQ(knee_of(10, 5, 2), 1);
  Knee dip;  // one bad step is not the knee
  for (auto [threads, rate] : {std::pair{1, 10.0}, {2, 10.1}, {3, 15.0}, {4, 20.0}}) dip.add(threads, rate);
  EXPECT_FALSE(dip.done());
  EXPECT_EQ(dip.at(), 4);
}

TEST(Stats, SizesAreFourTimesTheCacheOrSayThatTheyAreNot) {
  const std::uint64_t mib = std::uint64_t{1} << 20;
  Sizes plenty = fit_sizes(32 * mib, 2, 4096 * mib);
  EXPECT_EQ(plenty.slice, 128 * mib);
  EXPECT_EQ(plenty.chase, 128 * mib);
  EXPECT_FALSE(plenty.reduced);
  EXPECT_EQ(plenty.total(2), 384 * mib);
  for (std::uint64_t available : {0UL, 100000UL, 96 * mib, 383 * mib}) {
    Sizes tight = fit_sizes(32 * mib, 2, available);
    EXPECT_TRUE(tight.reduced);
    EXPECT_LE(tight.total(2), available);
    EXPECT_EQ(tight.slice % 65536, 0U);
  }
  EXPECT_EQ(fit_sizes(32 * mib, 2, 1000).slice, 0U);
}

TEST(Stats, WorkingSetsNameEachLevelOnceInOrder) {
  const std::uint64_t kib = 1024, mib = 1024 * kib;
  auto sets = working_sets({{"L1", 32 * kib}, {"L2", mib}, {"L3", 32 * mib}}, 128 * mib, 1);
  std::set<std::string> levels;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    ASSERT_TRUE(i == 0 || sets[i - 1].bytes < sets[i].bytes);
    ASSERT_EQ(sets[i].bytes % 1024, 0U);
    EXPECT_TRUE(sets[i].level.empty() || levels.insert(sets[i].level).second);
  }
  EXPECT_EQ(levels, (std::set<std::string>{"L1", "L2", "L3", "memory"}));
  EXPECT_EQ(sets.back().bytes, 128 * mib);
  for (const auto& set : working_sets({{"L3", 32 * mib}}, 16 * mib, 2))
    EXPECT_NE(set.level, "memory") << "16 MiB stay in a cache of 32";
}

TEST(Stats, PairsAreAllOrAnEvenSample) {
  EXPECT_EQ(pick_pairs(4, 6).size(), 6U);
  auto some = pick_pairs(100, 64);
  EXPECT_EQ(some.size(), 64U);
  EXPECT_EQ(std::set(some.begin(), some.end()).size(), 64U);
  for (auto [a, b] : some) EXPECT_LT(a, b);
  EXPECT_TRUE(pick_pairs(1, 9).empty());
}

TEST(Stats, SamplesShareTheTime) {
  EXPECT_DOUBLE_EQ(sample_seconds(10, 100, 0.02, 0.001, 1), 0.08);
  EXPECT_DOUBLE_EQ(sample_seconds(1, 1000, 0.5, 0.001, 1), 0.001);
  EXPECT_DOUBLE_EQ(sample_seconds(100, 1, 0, 0.001, 0.05), 0.05);
}

struct Made {
  std::vector<int> nodes;
  std::vector<Figure> measured;
  std::vector<double> reference;
  [[nodiscard]] CrossCheck bandwidth() const { return {nodes, measured, true, reference, false, "SLIT"}; }
  [[nodiscard]] CrossCheck latency() const { return {nodes, measured, false, reference, false, "SLIT"}; }
};

TEST(CrossCheck, ANearerButSlowerLinkIsNamed) {
  Made made{{1, 3, 7}, {}, {10, 16, 22, 16, 10, 16, 22, 16, 10}};
  for (double v : {100.0, 39.0, 50.0, 60.0, 100.0, 60.0, 50.0, 60.0, 100.0})
    made.measured.push_back(exactly(v));
  auto found = contradictions(made.bandwidth());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].find("1->3 is as near as 3->1 by SLIT (16 and 16), but 35 % slower"), std::string::npos);
  EXPECT_NE(
      found[1].find("1->3 is nearer than 1->7 by SLIT (16 and 22), but 22 % slower (39 against 50 MB/s)"),
      std::string::npos)
      << found[1];
  EXPECT_LT(rank_agreement(made.bandwidth()), 1);
}

TEST(CrossCheck, OverlappingRangesContradictNothing) {
  Made made{{0, 1, 2}, {}, {10, 16, 22, 16, 10, 16, 22, 16, 10}};
  for (double v : {100.0, 39.0, 50.0, 60.0, 100.0, 60.0, 50.0, 60.0, 100.0})
    made.measured.push_back(summarize({v * 0.5, v, v * 1.6}));
  EXPECT_TRUE(contradictions(made.bandwidth()).empty());
}

TEST(CrossCheck, LatenciesAreBetterLow) {
  Made made{{0, 1, 2}, {}, {10, 16, 22, 16, 10, 16, 22, 16, 10}};
  for (double v : {80.0, 120.0, 160.0, 120.0, 80.0, 120.0, 160.0, 120.0, 80.0})
    made.measured.push_back(exactly(v));
  EXPECT_TRUE(contradictions(made.latency()).empty());
  EXPECT_DOUBLE_EQ(rank_agreement(made.latency()), 1);
  EXPECT_DOUBLE_EQ(rank_agreement(made.bandwidth()), -1) << "the same numbers as bandwidths are upside down";
}

TEST(CrossCheck, EqualDistancesRankNothing) {
  Made made{{0, 1, 2, 3}, {}, std::vector<double>(16, 20)};
  for (int i = 0; i < 16; ++i) made.measured.push_back(exactly(100 + i));
  EXPECT_TRUE(std::isnan(rank_agreement(made.bandwidth())));
}

TEST(CrossCheck, UnknownEntriesAreLeftOut) {
  Made made{{0, 1}, {exactly(1), Figure{}, exactly(9), exactly(1)}, {10, 20, 20, 10}};
  EXPECT_EQ(contradictions(made.bandwidth()).size(), 1U) << "only 1->1 against 1->0 is left";
  EXPECT_TRUE(std::isnan(rank_agreement(made.bandwidth())));
}

}  // namespace
}  // namespace nigh::probe
