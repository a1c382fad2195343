// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The origin of a prediction's figures: the file's come before measured ones, those before assumptions, and
// each is reported.
#include "plan/transpose_costs.hpp"

#include <gtest/gtest.h>

#include "machine/load.hpp"

namespace nigh {
namespace {

bool tells(const TransposeCosts& costs, const std::string& what) {
  for (const std::string& line : costs.told)
    if (line.find(what) != std::string::npos) return true;
  return false;
}

// The result that the probe would have for two packages.
Probe probed(const Machine& machine) {
  const auto figure = [](double value) { return probe::Figure{value, value, value, 5, 0}; };
  Probe out;
  for (std::size_t i = 0; i < machine.node_count(); ++i) {
    const int node = machine.node_number(i);
    out.nodes.push_back(
        {.node = node, .pus = machine.objects[static_cast<std::size_t>(machine.nodes[i])].pus});
    out.bandwidth.push_back({node, node, 4, probe::Mix::read, figure(9000)});
    out.bandwidth.push_back({node, node, 4, probe::Mix::one_to_one, figure(7000)});
  }
  out.sizes = {{1 << 17, "L2", figure(4), figure(40000)}, {1 << 28, "memory", figure(90), figure(6000)}};
  return out;
}

TEST(TransposeCosts, AFilesFiguresAreTakenAsTheyAre) {
  const Machine machine = *load_model("winterhawk2");
  const Probe probe = probed(machine);
  const TransposeCosts costs = transpose_costs(machine, &probe, 4);
  EXPECT_EQ(costs.network, machine.network);
  EXPECT_EQ(costs.copying, machine.copying);
  EXPECT_TRUE(tells(costs, "network (fitted): latency 80 us"));
  EXPECT_FALSE(tells(costs, "assumed"));
}

TEST(TransposeCosts, WhatWasMeasuredComesBeforeAssumptions) {
  const Machine machine = *load_model("barcelona");  // 4 nodes of 4 cores; an L2 each, an L3 for four
  const Probe probe = probed(machine);
  const TransposeCosts costs = transpose_costs(machine, &probe, 16);
  EXPECT_EQ(costs.copying.source, Source::measured);
  ASSERT_EQ(costs.copying.levels.size(), 3u);
  EXPECT_EQ(costs.copying.levels[0], (CopyLevel{512 * 1024, 1, 40000, 640000}));
  EXPECT_EQ(costs.copying.levels[1], (CopyLevel{2048 * 1024, 4, 18000, 288000}));  // not measured
  EXPECT_EQ(costs.copying.levels[2], (CopyLevel{0, 0, 6000, 28000}));
  EXPECT_TRUE(tells(costs, "memory 28000 MB/s a node (measured), 6000 one core (measured)"));
  EXPECT_TRUE(tells(costs, "network (assumed: 100 Gbit/s)"));
}

TEST(TransposeCosts, WithoutAProbeTheMatrixCounts) {
  const TransposeCosts costs = transpose_costs(*load_model("barcelona"), nullptr, 16);
  EXPECT_EQ(costs.copying.levels.back().node_rate, 4 * 4400);
  EXPECT_TRUE(tells(costs, "one core (assumed)"));
}

TEST(TransposeCosts, NothingKnownIsAssumed) {
  const Machine machine = *load_hwloc_synthetic("pack:2 core:4 pu:1");
  const TransposeCosts costs = transpose_costs(machine, nullptr, 8);
  EXPECT_EQ(costs.copying.source, Source::guessed);
  EXPECT_EQ(costs.copying.levels.back().node_rate, 8 * 5000);
  EXPECT_TRUE(tells(costs, "memory 40000 MB/s a node (assumed)"));
  EXPECT_TRUE(costs.copying.validate() && costs.network.validate());
}

TEST(TransposeCosts, MoreCoresStandForALargerMachine) {
  const Machine machine = *load_model("barcelona");
  const TransposeCosts as_it_is = transpose_costs(machine, nullptr, 16),
                       fewer = transpose_costs(machine, nullptr, 2);
  const TransposeCosts larger = transpose_costs(machine, nullptr, 32);
  EXPECT_EQ(fewer.copying, as_it_is.copying);
  EXPECT_EQ(larger.copying.levels.back().node_rate, 2 * as_it_is.copying.levels.back().node_rate);
  EXPECT_EQ(larger.copying.levels.back().core_rate, as_it_is.copying.levels.back().core_rate);
  EXPECT_TRUE(tells(larger, "the machine has 16 cores"));
  EXPECT_FALSE(tells(as_it_is, "the machine has"));
}

}  // namespace
}  // namespace nigh
