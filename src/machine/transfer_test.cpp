// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The two laws of moving data: where they must agree with simpler ones, what may never fall or rise, and
// which figures are refused.
#include "machine/transfer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "machine/load.hpp"

namespace nigh {
namespace {

// Two protocols, as MPI libraries have them; the second one's fit lies below the first one's end.
Network network() {
  return {.ranges = {{8192, 2, 2000, 10000}, {0, 3, 9000, 12000}}, .source = Source::measured};
}

TEST(Network, OfOneProcessIsThePostalModel) {
  for (const double bytes : {0.0, 1.0, 4096.0, 8192.0})
    EXPECT_DOUBLE_EQ(network().message_seconds(bytes, 1), 1e-6 * (2 + bytes / 2000));
  for (const double bytes : {1e6, 1e9})
    EXPECT_DOUBLE_EQ(network().message_seconds(bytes, 1), 1e-6 * (3 + bytes / 9000));
}

TEST(Network, ManyProcessesShareWhatTheNodeHas) {
  EXPECT_DOUBLE_EQ(network().message_seconds(4000, 4), 1e-6 * (2 + 4000 / 2000.0));     // below: as alone
  EXPECT_DOUBLE_EQ(network().message_seconds(4000, 10), 1e-6 * (2 + 40000 / 10000.0));  // above: the node's
  EXPECT_DOUBLE_EQ(network().message_seconds(1e8, 2), 1e-6 * (3 + 2e8 / 12000));
}

TEST(Network, LongerMessagesAndMoreProcessesNeverTakeLess) {
  for (int k = 1; k <= 64; ++k) {
    double before = 0;
    for (double bytes = 1; bytes < 1e9; bytes *= 1.1) {
      const double now = network().message_seconds(bytes, k);
      EXPECT_GE(now, before) << bytes << ' ' << k;
      EXPECT_LE(now, (1 + 1e-12) * network().message_seconds(bytes, k + 1)) << bytes << ' ' << k;
      before = now;
    }
  }
  EXPECT_DOUBLE_EQ(network().message_seconds(8200, 1), 1e-6 * (2 + 8192 / 2000.0));  // not 3.9 us
}

TEST(Network, StreamsOfSeveralMayHaveMoreOrLessThanOne) {
  Network streams = network();
  EXPECT_EQ(streams.stream_seconds(1e6, 2), 0);
  const double latency = streams.ranges.front().latency_us * 1e-6;
  streams.stream_process_rate = 50;
  streams.stream_node_rate = 80;
  EXPECT_DOUBLE_EQ(streams.stream_seconds(1e6, 1), latency + 1.0 / 50);
  EXPECT_DOUBLE_EQ(streams.stream_seconds(1e6, 2), latency + 1.0 / 80);
  streams.stream_node_rate = 40;
  EXPECT_DOUBLE_EQ(streams.stream_seconds(1e6, 1), latency + 1.0 / 50);
  EXPECT_DOUBLE_EQ(streams.stream_seconds(1e6, 4), latency + 1.0 / 40);
}

TEST(Network, SharingMayCostMoreThanItsShare) {
  Network shared = network();
  for (NetworkRange& range : shared.ranges) {
    range.latency_growth = 0.5;
    range.rate_loss = 0.1;
  }
  EXPECT_DOUBLE_EQ(shared.message_seconds(1e8, 1), network().message_seconds(1e8, 1));
  EXPECT_DOUBLE_EQ(shared.message_seconds(1e8, 3), 1e-6 * (3 * 2 + 3e8 / (12000 / (1 + 0.1 * 2 / 3))));
}

// 8 cores, an L2 each, an L3 for each four.
CopyRates rates() {
  return {.levels = {{1000, 1, 50, 400}, {10000, 4, 30, 240}, {0, 0, 10, 40}},
          .barrier_us = 2,
          .source = Source::measured};
}

TEST(CopyRates, AreThoseOfTheCacheThatHoldsAllOfAGroupsData) {
  EXPECT_EQ(rates().rate(1000, 1, 1), 50);
  EXPECT_EQ(rates().rate(1001, 1, 1), 30);
  EXPECT_EQ(rates().rate(1000, 1, 8), 400);
  EXPECT_EQ(rates().rate(2500, 1, 8), 240);  // four share an L3
  EXPECT_EQ(rates().rate(2501, 1, 8), 40);
  EXPECT_EQ(rates().rate(2501, 1, 3), 90);
  EXPECT_EQ(rates().rate(100, 2, 1), 60);  // data goes from thread to thread: not by an L2 of one
  EXPECT_EQ(rates().rate(5000, 2, 4), 240);
  EXPECT_EQ(rates().rate(100, 8, 1), 40);  // nothing is shared by eight but the memory
  EXPECT_EQ(rates().rate(1e9, 1, 3), 30);
}

TEST(CopyRates, BarriersGrowWithTheLogarithm) {
  EXPECT_EQ(rates().barrier_seconds(1), 0);
  EXPECT_DOUBLE_EQ(rates().barrier_seconds(2), 2e-6);
  EXPECT_DOUBLE_EQ(rates().barrier_seconds(16), 8e-6);
}

TEST(Transfer, NothingKnownIsEmpty) {
  EXPECT_TRUE(Network().empty() && CopyRates().empty());
  EXPECT_TRUE(Network().validate() && CopyRates().validate());
  EXPECT_TRUE(network().validate() && rates().validate());
}

TEST(Transfer, FiguresThatMakeNoSenseAreRefused) {
  const auto refused = [](auto good, auto change) {
    change(good);
    EXPECT_FALSE(good.validate());
  };
  refused(network(), [](Network& n) { n.ranges[1].upto = 4096; });
  refused(network(), [](Network& n) { n.ranges[0].upto = 0; });
  refused(network(), [](Network& n) { n.ranges = {{8, 1, 1, 1}, {8, 1, 1, 1}, {0, 1, 1, 1}}; });
  refused(network(), [](Network& n) { n.ranges[0].node_rate = 0; });
  refused(network(), [](Network& n) { n.ranges[0].latency_us = std::nan(""); });
  refused(network(), [](Network& n) { n.ranges[0].rate_loss = -1; });
  refused(network(), [](Network& n) { n.source = Source::unknown; });
  refused(rates(), [](CopyRates& r) { r.levels.back().bytes = 5; });
  refused(rates(), [](CopyRates& r) { r.levels[0].cores = -1; });
  refused(rates(), [](CopyRates& r) { r.transpose_others = 0; });
  refused(rates(), [](CopyRates& r) { r.levels.clear(); });
}

}  // namespace
}  // namespace nigh
