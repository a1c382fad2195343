// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The model of the transposition against what O. Haan published (SCICOMP 2000, slides 24 and 26: 16
// nodes with 4 processors), and what must hold of any machine and matrix.
#include "plan/transpose_model.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

#include "machine/load.hpp"

namespace nigh {
namespace {

using Method = TransposeMethod;
constexpr TransposeWay hybrid = {1, 4}, mpi = {4, 1};

TransposeDemand on_sp(std::uint64_t side, int nodes = 16) {
  return {.rows = side, .columns = side, .nodes = nodes, .cores = 4};
}

TransposeSteps on_sp(const TransposeDemand& demand, const TransposeWay& way) {
  const Machine machine = *load_model("winterhawk2");
  auto steps = predict(machine.network, machine.copying, demand, way);
  EXPECT_TRUE(steps) << steps.error().message;
  return *steps;
}

double seconds(std::uint64_t side, const TransposeWay& way) { return on_sp(on_sp(side), way).total(); }

double speed(std::uint64_t side, const TransposeWay& way) {
  return transpose_speed(on_sp(side), seconds(side, way));
}

double fft(std::uint64_t side, const TransposeWay& way) {
  return fft_speed(static_cast<double>(side) * static_cast<double>(side), 800, 2, speed(side, way));
}

// n = 10^9 is taken as 31623 x 31623.
TEST(TransposeModel, GivesThePublishedFigures) {
  struct Row {
    const char* what;
    double published, model;
  };
  const Row rows[] = {
      // fitted: latency, bandwidth, loss by sharing it, barrier
      {"hybrid, Mword/s, 10^6", 5.6, speed(1000, hybrid)},
      {"hybrid, Mword/s, 10^9", 7.8, speed(31623, hybrid)},
      {"MPI, Mword/s, 10^6", 2.5, speed(1000, mpi)},
      {"MPI, Mword/s, 10^9", 7.0, speed(31623, mpi)},
      // not fitted
      {"hybrid over MPI, 1000 x 1000", 2.3, seconds(1000, mpi) / seconds(1000, hybrid)},
      {"hybrid over MPI, 10000 x 10000", 1.1, seconds(10000, mpi) / seconds(10000, hybrid)},
      {"hybrid, FFT, Mflop/s, 10^6", 208, fft(1000, hybrid)},
      {"hybrid, FFT, Mflop/s, 10^9", 338, fft(31623, hybrid)},
      {"MPI, FFT, Mflop/s, 10^6", 108, fft(1000, mpi)},
      {"MPI, FFT, Mflop/s, 10^9", 317, fft(31623, mpi)},
  };
  for (const Row& row : rows) EXPECT_NEAR(row.model, row.published, 0.1 * row.published) << row.what;
}

TEST(TransposeModel, ShowsWhatTheSeedSaysIsTheReason) {
  const TransposeSteps coarse = on_sp(on_sp(1000), hybrid), fine = on_sp(on_sp(1000), mpi);
  EXPECT_LT(fine.local_reorder, coarse.local_reorder / 10);  // MPI "enhances use of cached data"
  EXPECT_LT(coarse.between_nodes, fine.between_nodes / 3);   // hybrid: latency and granularity
  EXPECT_GT(coarse.synchronisation, 0);                      // "additional synchronization steps"
  EXPECT_EQ(fine.synchronisation, 0);
  EXPECT_LT(on_sp(on_sp(4000), mpi).local_reorder, 0.01);  // four blocks of 2 MB are in 8 MB
  EXPECT_GT(on_sp(on_sp(4100), mpi).local_reorder, 0.01);
  const TransposeSteps large = on_sp(on_sp(10000), mpi);
  EXPECT_NEAR(large.local_reorder, on_sp(on_sp(10000), hybrid).local_reorder, 0.01 * large.local_reorder);
}

TEST(TransposeModel, FftSpeedIsTheSlidesFormula) {
  EXPECT_NEAR(fft_speed(1e6, 800, 2, 5.6), 207, 0.5);
  EXPECT_NEAR(fft_speed(1e9, 800, 2, 7.0), 316.4, 0.5);
  EXPECT_NEAR(fft_speed(1e6, 800, 2, 1e12), 800, 1e-3);
}

// Costs by hand, from rates that are easy to calculate with.
Network plain_network() { return {.ranges = {{0, 100, 50, 100}}, .source = Source::measured}; }
CopyRates plain_copying() {
  return {.levels = {{0, 0, 100, 400}},
          .transpose_others = 0.5,
          .barrier_us = 10,
          .message_us = 3,
          .source = Source::measured};
}

TransposeSteps plain(const TransposeDemand& demand, const TransposeWay& way) {
  auto steps = predict(plain_network(), plain_copying(), demand, way);
  EXPECT_TRUE(steps) << steps.error().message;
  return steps ? *steps : TransposeSteps();
}

TEST(TransposeModel, ThreeStepsByHand) {
  // 3 nodes x 2 ranks: blocks of 100 rows, 480000 B; pieces of 100 x 100 doubles, 80000 B.
  const TransposeSteps s = plain({600, 600, 8, 3, 4}, {2, 2, Method::three_steps, 1});
  EXPECT_NEAR(s.local_reorder, 2 * 2 * 480000 / 400e6, 1e-12);
  EXPECT_NEAR(s.local_transpose, 2 * s.local_reorder, 1e-12);
  EXPECT_NEAR(s.on_node, 2 * 2 * 80000 / 400e6 + (2 * 2 * 2 * 80000 / 200e6 + 3e-6), 1e-12);
  EXPECT_NEAR(s.between_nodes, 3 * (100e-6 + 2 * 80000 / 100e6) + 2 * (100e-6 + 80000 / 50e6), 1e-12);
  EXPECT_NEAR(s.synchronisation, 6 * 10e-6, 1e-12);
  EXPECT_EQ(s.overlapped, 0);
}

TEST(TransposeModel, TheLargestPartCounts) {
  const TransposeWay way{2, 2, Method::three_steps, 1};
  const TransposeSteps uneven = plain({601, 601, 8, 3, 4}, way), even = plain({606, 606, 8, 3, 4}, way);
  EXPECT_DOUBLE_EQ(uneven.between_nodes, even.between_nodes);
  EXPECT_DOUBLE_EQ(uneven.local_reorder * 606, even.local_reorder * 601);  // as many rows, fewer columns
}

TEST(TransposeModel, OnePassByHand) {
  // 4 nodes: blocks of 200 rows, 1280000 B; pieces of 200 x 200 doubles, 320000 B; 2 senders, 3 others.
  const TransposeDemand demand{800, 800, 8, 4, 4};
  const TransposeSteps s = plain(demand, {2, 2, Method::one_pass, 1});
  EXPECT_NEAR(s.local_reorder, 2 * 960000 / 400e6, 1e-12);
  EXPECT_NEAR(s.local_transpose, 2 * s.local_reorder, 1e-12);
  EXPECT_NEAR(s.on_node, 2 * 320000 / 200e6, 1e-12);
  EXPECT_NEAR(s.between_nodes, (100e-6 + 640000 / 100e6) + (100e-6 + 320000 / 50e6), 1e-12);
  EXPECT_NEAR(s.synchronisation, 4 * 20e-6, 1e-12);
  EXPECT_EQ(s.overlapped, 0);
  // In 2 panels: twice the messages; half of the packing and unpacking, and the node's part, meanwhile.
  const TransposeSteps halves = plain(demand, {2, 2, Method::one_pass, 2});
  EXPECT_NEAR(halves.between_nodes, s.between_nodes + 200e-6, 1e-12);
  EXPECT_NEAR(halves.overlapped, s.on_node + (s.local_reorder + s.local_transpose) / 2, 1e-12);
  // A transfer that is over sooner is hidden entirely.
  const Network fast = {.ranges = {{0, 0, 1e6, 1e6}}, .source = Source::measured};
  auto hidden = predict(fast, plain_copying(), demand, {2, 2, Method::one_pass, 2});
  ASSERT_TRUE(hidden);
  EXPECT_NEAR(hidden->overlapped, hidden->between_nodes, 1e-15);
}

TEST(TransposeModel, OneNodeSendsNothing) {
  for (const Method method : {Method::three_steps, Method::one_pass})
    EXPECT_EQ(plain({600, 600, 8, 1, 4}, {2, 2, method, 1}).between_nodes, 0);
  auto without = predict({}, plain_copying(), {600, 600, 8, 1, 4}, {2, 2, Method::one_pass, 1});
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->local_reorder, 0);
  EXPECT_EQ(without->local_transpose, 0);
  EXPECT_NEAR(without->on_node, 2 * 600 * 600 * 8 / 200e6, 1e-12);  // the whole matrix in one pass
}

TEST(TransposeModel, ShapesOfPowersOfTwoHaveTheirOwnRate) {
  CopyRates copying = plain_copying();
  copying.transpose_powers = 0.25;
  const TransposeWay way{1, 4, Method::three_steps, 1};
  const auto ratio = [&](std::uint64_t rows, std::uint64_t columns) {
    auto s = predict({}, copying, {rows, columns, 8, 1, 4}, way);
    return s ? s->local_transpose / s->local_reorder : 0;
  };
  EXPECT_NEAR(ratio(1024, 2048), 4, 1e-12);
  EXPECT_NEAR(ratio(1024, 2000), 2, 1e-12);
}

TEST(TransposeModel, RandomDemandsKeepWhatAlwaysHolds) {
  std::mt19937 random(20260102);
  const auto upto = [&](unsigned n) { return static_cast<int>(1 + random() % n); };
  const Network network = {.ranges = {{4096, 2, 2000, 9000}, {0, 3, 7000, 9000}}, .source = Source::measured};
  const CopyRates copying = {
      .levels = {{1 << 20, 1, 3000, 30000}, {0, 0, 1000, 8000}}, .barrier_us = 1, .source = Source::measured};
  for (int round = 0; round < 300; ++round) {
    TransposeDemand demand{static_cast<std::uint64_t>(upto(5000)) + 100,
                           static_cast<std::uint64_t>(upto(5000)) + 100, upto(16), upto(8), upto(12)};
    auto ways = every_way(network, copying, demand);
    ASSERT_TRUE(ways) << ways.error().message;
    for (std::size_t i = 0; i < ways->size(); ++i) {
      const TransposeForecast& f = (*ways)[i];
      const TransposeSteps& s = f.steps;
      EXPECT_LE((*ways)[i == 0 ? 0 : i - 1].steps.total(), s.total());
      EXPECT_EQ(f.way.ranks * f.way.threads, demand.cores);
      const double sum =
          s.local_reorder + s.on_node + s.between_nodes + s.local_transpose + s.synchronisation;
      EXPECT_DOUBLE_EQ(f.way.panels == 1 ? s.total() : sum, sum);  // nothing overlaps
      EXPECT_GE(s.overlapped, 0);
      EXPECT_LE(s.overlapped, s.between_nodes);
      EXPECT_GE(s.total(), s.between_nodes);  // the network is never idle for nothing
      EXPECT_GT(s.on_node, 0);
      TransposeDemand more = demand;
      ++more.nodes;  // the volume of a node does not grow, whatever the messages do
      auto spread = predict(network, copying, more, f.way);
      const bool comparable = spread && f.way.method == Method::three_steps;
      EXPECT_LE(comparable ? spread->local_reorder : 0, s.local_reorder);
      TransposeDemand wider = demand;
      wider.element_bytes *= 2;
      EXPECT_GT(predict(network, copying, wider, f.way)->total(), s.total());
    }
  }
}

TEST(TransposeModel, EveryWayIsThereOnce) {
  auto ways = every_way(plain_network(), plain_copying(), {6000, 6000, 8, 4, 12});
  ASSERT_TRUE(ways);
  std::set<std::tuple<int, int, Method, int>> seen;
  for (const auto& f : *ways)
    EXPECT_TRUE(seen.emplace(f.way.ranks, f.way.threads, f.way.method, f.way.panels).second);
  EXPECT_EQ(seen.size(), 6u * (1 + 6));  // divisors of 12; three steps, and 1 to 32 panels
  EXPECT_EQ(every_way(plain_network(), plain_copying(), {6000, 6000, 8, 1, 12})->size(), 6u * 2);
  EXPECT_EQ(every_way(plain_network(), plain_copying(), {12, 6000, 8, 4, 12})->size(),
            3u * 7);  // at most 3 ranks
}

TEST(TransposeModel, TheBestHasAReason) {
  const Machine machine = *load_model("winterhawk2");
  auto ways = every_way(machine.network, machine.copying, on_sp(1000));
  ASSERT_TRUE(ways);
  const std::string why = why_best(*ways);
  EXPECT_EQ(why.rfind(way_text(ways->front().way) + ": ", 0), 0u) << why;
  EXPECT_NE(why.find("% of it sending between nodes; "), std::string::npos) << why;
  EXPECT_NE(why.find(" more for sending between nodes"), std::string::npos) << why;
  std::vector<TransposeForecast> two = {{{1, 4}, {.on_node = 1}}, {{4, 1}, {.on_node = 1.009}}};
  EXPECT_EQ(why_best(two),
            "1 rank x 4 threads, three-steps: 1 s, 100 % of it the exchange on the node; as fast, "
            "within 1 %: 4 ranks x 1 thread, three-steps");
  two[0].steps = {.on_node = 1, .between_nodes = 1, .overlapped = 1};
  two[1].steps = {.on_node = 1, .between_nodes = 1, .overlapped = 0.5};
  EXPECT_NE(why_best(two).find("takes 1.5 s, as less of it overlaps"), std::string::npos) << why_best(two);
  EXPECT_EQ(way_text({1, 4, Method::one_pass, 2}), "1 rank x 4 threads, one-pass, 2 panels");
  EXPECT_EQ(why_best({}), "");
}

TEST(TransposeModel, WhatCannotBePlannedGetsASentence) {
  const TransposeDemand good{600, 600, 8, 3, 4};
  const TransposeWay way{2, 2, Method::three_steps, 1};
  const auto message = [&](TransposeDemand demand, TransposeWay how, const Network& network,
                           const CopyRates& copying) {
    auto out = predict(network, copying, demand, how);
    return out ? std::string("accepted") : out.error().message;
  };
  const auto of_demand = [&](TransposeDemand d) { return message(d, way, plain_network(), plain_copying()); };
  EXPECT_EQ(of_demand({0, 600, 8, 3, 4}), "a matrix has 1 to 2147483648 rows and columns, not 0 x 600");
  EXPECT_EQ(of_demand({600, 600, 8, 0, 4}), "there must be 1 to 65536 nodes and cores, not 0 and 4");
  EXPECT_EQ(of_demand({600, 600, 65, 3, 4}), "elements have 1 to 64 bytes, not 65");
  EXPECT_EQ(of_demand({600, 5, 8, 3, 4}),
            "a matrix of 600 x 5 can't be cut into 6 blocks of rows and of columns");
  EXPECT_EQ(message(good, {3, 1, Method::three_steps, 1}, plain_network(), plain_copying()),
            "3 x 1 does not make the 4 cores of a node, or it has no panels");
  EXPECT_EQ(message(good, {2, 2, Method::three_steps, 2}, plain_network(), plain_copying()),
            "the three steps know no panels");
  EXPECT_EQ(message(good, way, plain_network(), {}), "it is not known how fast this machine copies");
  EXPECT_EQ(message(good, way, {}, plain_copying()),
            "it is not known what messages between these nodes take");
  EXPECT_FALSE(every_way(plain_network(), plain_copying(), {2, 600, 8, 3, 4}));
  EXPECT_FALSE(every_way(plain_network(), plain_copying(), {600, 600, 8, 3, 0}));
  // At once, instead of after trying two thousand million ranks.
  for (const int huge : {65537, INT_MAX, -1, INT_MIN}) {
    EXPECT_FALSE(every_way(plain_network(), plain_copying(), {600, 600, 8, 3, huge}));
    EXPECT_FALSE(every_way(plain_network(), plain_copying(), {600, 600, 8, huge, 4}));
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  EXPECT_TRUE(every_way(plain_network(), plain_copying(), {most, most, 64, 65536, 65536}));
  EXPECT_GE(built_panels({most, most, 64, 1, 1}), 1);
}

// A stream that was measured: one latency, then its rate, whatever the panels are; all else is done
// meanwhile, two barriers of a rank's threads for each message among it.
TEST(TransposeModel, StreamsThatWereMeasured) {
  Network network{.ranges = {{0, 10, 100, 100}}, .source = Source::measured};
  network.stream_process_rate = 50;
  network.stream_node_rate = 80;
  const CopyRates copying{.levels = {{0, 0, 1e6, 1e6}}, .barrier_us = 100, .source = Source::measured};
  const TransposeDemand demand{1000, 1000, 8, 2, 4};  // 2 MB leave each node
  auto one = predict(network, copying, demand, {1, 4, TransposeMethod::one_pass, 4}),
       four = predict(network, copying, demand, {4, 1, TransposeMethod::one_pass, 4});
  ASSERT_TRUE(one.has_value() && four.has_value());
  EXPECT_NEAR(one->between_nodes, 10e-6 + 2.0 / 50, 1e-9);
  EXPECT_NEAR(four->between_nodes, 10e-6 + 2.0 / 80, 1e-9);
  EXPECT_NEAR(four->synchronisation, 2 * 200e-6, 1e-9);
  EXPECT_NEAR(one->synchronisation, 2 * 200e-6 + 2 * 4 * 200e-6, 1e-9);
  EXPECT_NEAR(one->total(), one->between_nodes, 1e-9);
  // Work that takes longer than the stream counts.
  const CopyRates slow{.levels = {{0, 0, 10, 10}}, .source = Source::measured};
  auto copied = predict(network, slow, demand, {1, 4, TransposeMethod::one_pass, 4});
  EXPECT_NEAR(copied->total(), copied->on_node + copied->local_reorder + copied->local_transpose, 1e-9);
  auto ways = every_way(network, copying, demand);
  ASSERT_TRUE(ways.has_value());
  for (const TransposeForecast& f : *ways)
    EXPECT_EQ(f.way.panels, f.way.method == TransposeMethod::one_pass ? built_panels(demand) : 1);
}

TEST(TransposeModel, PanelsAsTheyAreBuilt) {
  EXPECT_EQ(built_panels({64, 64, 8, 2, 4}), 1);       // 8 KiB to a node
  EXPECT_EQ(built_panels({1024, 1024, 8, 2, 4}), 4);   // 2 MiB
  EXPECT_EQ(built_panels({8192, 8192, 8, 4, 4}), 32);  // 32 MiB
}

}  // namespace
}  // namespace nigh
