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
  EXPECT_NEAR(fitted.latency_growth, 0, 0.02);
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
  Network shared{.ranges = {{0, 80, 86, 86}}, .latency_growth = 0.9, .rate_loss = 0.05};
  shared.source = Source::measured;
  const Network fitted = fit_network(points_of(shared, 4, 0));
  EXPECT_NEAR(fitted.latency_growth, 0.9, 0.05);
  EXPECT_NEAR(fitted.rate_loss, 0.05, 0.005);
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
