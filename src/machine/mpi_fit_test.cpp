// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/mpi_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "machine/machine.hpp"

namespace nigh {
namespace {

constexpr double sizes[] = {8, 64, 512, 1024, 4096, 8192, 16384, 65536, 262144, 1048576};

std::vector<MpiPoint> points_of(const Network& network, int k, double noise) {
  std::vector<MpiPoint> out;
  int turn = 0;
  for (const double bytes : sizes)
    for (const int processes : {1, k})
      if (processes == 1 || k > 1)
        out.push_back({processes, bytes,
                       1e6 * network.message_seconds(bytes, processes) * (1 + noise * ((turn++ % 3) - 1))});
  return out;
}

Network known() {
  return {.ranges = {{8192, 2, 4000, 12000}, {0, 9, 9000, 12000}}, .source = Source::measured};
}

TEST(MpiFit, FindsWhatPointsWereMadeOf) {
  const Network fitted = fit_network(points_of(known(), 4, 0));
  ASSERT_EQ(fitted.ranges.size(), 2U);
  EXPECT_EQ(fitted.ranges[0].upto, 8192U);
  EXPECT_NEAR(fitted.ranges[0].latency_us, 2, 0.1);
  EXPECT_NEAR(fitted.ranges[1].latency_us, 9, 0.5);
  EXPECT_NEAR(fitted.ranges[1].process_rate, 9000, 100);
  EXPECT_NEAR(fitted.ranges[1].node_rate, 12000, 300);
  EXPECT_NEAR(fitted.ranges[0].latency_growth, 0, 0.02);
  EXPECT_TRUE(fitted.validate().has_value());
}

TEST(MpiFit, NoiseOfAFewPercentMakesNoProtocols) {
  const Network one{.ranges = {{0, 50, 100, 100}}, .source = Source::measured};
  const Network fitted = fit_network(points_of(one, 4, 0.04));
  ASSERT_EQ(fitted.ranges.size(), 1U);
  for (const double bytes : sizes)
    for (const int k : {1, 4})
      EXPECT_NEAR(fitted.message_seconds(bytes, k) / one.message_seconds(bytes, k), 1, 0.1) << bytes;
}

TEST(MpiFit, WaitingAndLossBySharing) {
  const Network shared{.ranges = {{0, 80, 86, 86, 0.9, 0.05}}, .source = Source::measured};
  const Network fitted = fit_network(points_of(shared, 4, 0));
  ASSERT_EQ(fitted.ranges.size(), 1U);
  EXPECT_NEAR(fitted.ranges[0].latency_growth, 0.9, 0.05);
  EXPECT_NEAR(fitted.ranges[0].rate_loss, 0.05, 0.005);
}

// The time of the reorder if each of its steps takes the time that `network` gives, with as many at a time as
// send then.
MpiPoint reorder_of(const Network& network, int nodes, int k, double bytes) {
  double seconds = (k * nodes - 2 * k + 1) * network.message_seconds(bytes, k);
  for (int j = 1; j < k; ++j) seconds += 2 * network.message_seconds(bytes, j);
  return {k, bytes, 1e6 * seconds};
}

TEST(MpiFit, MessagesOfAReorder) {
  const Network shared{.ranges = {{0, 80, 86, 86, 0.9, 0.2}}, .source = Source::measured};
  for (const int nodes : {2, 3, 4}) {
    std::vector<MpiPoint> reorders;
    for (const double bytes : sizes)
      for (const int k : {1, 4}) reorders.push_back(reorder_of(shared, nodes, k, bytes));
    const auto points = points_of_reorder(reorders, nodes);
    ASSERT_EQ(points.size(), reorders.size());
    for (const MpiPoint& p : points)
      EXPECT_NEAR(p.us / (1e6 * shared.message_seconds(p.bytes, p.k)), 1, 1e-9) << nodes << ' ' << p.k;
  }
  EXPECT_TRUE(points_of_reorder({{1, 8, 3}}, 1).empty());
  // A size that one process was not measured with determines nothing; no time is less than for one process.
  EXPECT_EQ(points_of_reorder({{1, 8, 3}, {2, 8, 5}, {2, 64, 20}}, 2),
            (std::vector<MpiPoint>{{1, 8, 3}, {2, 8, 3}}));
}

TEST(MpiFit, APointThatWasDisturbedDrawsNoLineToItself) {
  const Network one{.ranges = {{0, 50, 100, 100}}, .source = Source::measured};
  std::vector<MpiPoint> points = points_of(one, 4, 0);
  points.back().us *= 2;
  points[4].us *= 3;
  const Network fitted = fit_network(points);
  for (const double bytes : {1e5, 1e7})
    EXPECT_NEAR(fitted.message_seconds(bytes, 1) / one.message_seconds(bytes, 1), 1, 0.01);
}

// Eager messages and those that are offered first: one process sees no difference, several do.
TEST(MpiFit, AProtocolThatShowsInSharingOnly) {
  const Network both{.ranges = {{65536, 0, 35, 35}, {0, 0, 35, 35, 0, 0.4}}, .source = Source::measured};
  const Network fitted = fit_network(points_of(both, 4, 0.01));
  for (const double bytes : {32768.0, 262144.0, 4e6})
    EXPECT_NEAR(fitted.message_seconds(bytes, 4) / both.message_seconds(bytes, 4), 1, 0.04) << bytes;
}

TEST(MpiFit, OnePointOfSeveralIsEnough) {
  const Network shared{.ranges = {{0, 80, 86, 86, 0, 0.2}}, .source = Source::measured};
  std::vector<MpiPoint> points = points_of(shared, 1, 0);
  points.push_back({4, 65536, 1e6 * shared.message_seconds(65536, 4)});
  EXPECT_NEAR(fit_network(points).ranges.back().rate_loss, 0.2, 0.01);
}

// Several processes were measured with short messages only beyond 32 KiB, of nearly one size: by noise the
// longer one took less, but longer ones still will not.
TEST(MpiFit, PointsTooCloseTellNoSlope) {
  const Network shared{.ranges = {{0, 10, 20, 20, 0, 0.4}}, .source = Source::measured};
  std::vector<MpiPoint> points;
  for (const double bytes : {1024.0, 16384.0, 32768.0, 61440.0, 65536.0, 262144.0}) {
    points.push_back({1, bytes, 1e6 * shared.message_seconds(bytes, 1) * (bytes > 40000 ? 1.3 : 1)});
    if (bytes < 1e5)
      points.push_back({3, bytes, 1e6 * shared.message_seconds(bytes, 3) * (bytes == 61440 ? 1.1 : 1)});
  }
  const Network fitted = fit_network(points);
  EXPECT_NEAR(fitted.message_seconds(1e6, 3) / shared.message_seconds(1e6, 3), 1, 0.1);
}

TEST(MpiFit, OneProcessAlone) {
  const Network fitted = fit_network(points_of(known(), 1, 0));
  ASSERT_FALSE(fitted.empty());
  EXPECT_EQ(fitted.ranges.back().node_rate, fitted.ranges.back().process_rate);
}

TEST(MpiFit, NothingToFit) {
  EXPECT_TRUE(fit_network({}).empty());
  EXPECT_TRUE(fit_network({{1, 8, 3}}).empty());
  EXPECT_TRUE(fit_network({{4, 8, 3}, {4, 64, 4}}).empty());
  EXPECT_TRUE(fit_network({{1, 8, 3}, {1, 64, 3}, {1, 1e6, 3}}).empty());  // takes no time
}

}  // namespace
}  // namespace nigh
