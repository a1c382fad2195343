// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The link model: routes of the Opteron as slide 3 draws them, shares that can be worked out by hand, and on
// random machines what makes a share max-min fair: nobody can get more but from somebody who has no more.
#include "machine/links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "machine/load.hpp"

namespace nigh {
namespace {

Links opteron() {
  auto machine = load_model("opteron-6272");
  EXPECT_TRUE(machine);
  auto links = Links::of(*machine);
  EXPECT_TRUE(links) << links.error().message;
  return *links;
}

using Random = std::mt19937;
int in(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

Machine random_machine(Random& random, int nodes) {
  MachineBuilder builder;
  int pu = 0;
  for (int n = 0; n < nodes; ++n) {
    builder.open(Kind::numa, n, 1);
    builder.open(Kind::core, pu);
    builder.open(Kind::pu, pu++);
    for (int k = 0; k < 3; ++k) builder.close();
  }
  auto machine = builder.finish();
  EXPECT_TRUE(machine);
  for (int i = 0; i < nodes; ++i)
    for (int j = 0; j < nodes; ++j) {
      machine->slit.push_back(i == j ? 10 : in(random, 0, 2) == 0 ? 22 : 16);
      machine->bandwidth.value.push_back(i == j ? 12000 : in(random, 500, 6000));
      machine->bandwidth.source.push_back(Source::measured);
    }
  return *machine;
}

std::vector<Flow> random_flows(Random& random, int nodes) {
  std::vector<Flow> flows;
  const int count = in(random, 1, 12);
  for (int k = 0; k < count; ++k) {
    Flow flow = {.cpus = in(random, 0, nodes - 1), .memory = in(random, 0, nodes - 1)};
    if (in(random, 0, 1) == 0) flow.demand = in(random, 0, 5000);
    flows.push_back(flow);
  }
  return flows;
}

TEST(Links, TheOpteronHasTheRoutesOfSlide3) {
  const Links links = opteron();
  EXPECT_EQ(links.hops(0, 0), 0);
  for (const int near : {1, 2, 4, 6}) EXPECT_EQ(links.hops(0, near), 1) << near;
  for (const int far : {3, 5, 7}) EXPECT_EQ(links.hops(0, far), 2) << far;
  EXPECT_EQ(links.path(0, 1), (std::vector<int>{1, 0}));
  EXPECT_EQ(links.path(0, 3).front(), 3);
  EXPECT_EQ(links.path(0, 3).back(), 0);
  EXPECT_EQ(links.hops(3, links.path(0, 3)[1]), 1);
  EXPECT_EQ(links.hops(0, links.path(0, 3)[1]), 1);
}

TEST(Links, WhatWasNotMeasuredIsSaid) {
  const Links links = opteron();
  for (const int measured : {1, 2, 3, 4, 5}) EXPECT_FALSE(links.assumed(0, measured)) << measured;
  EXPECT_TRUE(links.assumed(0, 6));
  EXPECT_TRUE(links.assumed(7, 2));
  EXPECT_TRUE(links.assumed(0, 0));
}

TEST(Links, AFlowAloneGetsWhatWasMeasured) {
  const Links links = opteron();
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      EXPECT_DOUBLE_EQ(links.share({{.cpus = i, .memory = j}})[0], links.alone(i, j));
}

TEST(Links, TwoOnOneLinkHaveHalfEach) {
  const Links links = opteron();
  const auto rates = links.share({{.cpus = 0, .memory = 1}, {.cpus = 0, .memory = 1}});
  EXPECT_DOUBLE_EQ(rates[0], 5598 / 2.0);
  EXPECT_DOUBLE_EQ(rates[1], 5598 / 2.0);
}

TEST(Links, WhoeverWantsLessLeavesTheRestToOthers) {
  const Links links = opteron();
  const auto rates = links.share({{.cpus = 0, .memory = 1, .demand = 598}, {.cpus = 0, .memory = 1}});
  EXPECT_DOUBLE_EQ(rates[0], 598);
  EXPECT_DOUBLE_EQ(rates[1], 5000);
}

TEST(Links, DirectionsDoNotDisturbEachOther) {
  const Links links = opteron();
  const auto rates = links.share({{.cpus = 0, .memory = 2}, {.cpus = 2, .memory = 0}});
  EXPECT_DOUBLE_EQ(rates[0], 4329);
  EXPECT_DOUBLE_EQ(rates[1], 2973);
}

TEST(Links, AControllerIsSharedByAllReaders) {
  const Links links = opteron();
  std::vector<Flow> flows;
  for (const int reader : {0, 1, 2, 4, 6}) flows.push_back({.cpus = reader, .memory = 0});
  const auto rates = links.share(flows);
  EXPECT_NEAR(std::accumulate(rates.begin(), rates.end(), 0.0), 12800, 1e-6);
}

TEST(Links, TransitsCountOnTheLinksTheyTake) {
  const Links links = opteron();
  const auto& way = links.path(0, 7);
  ASSERT_EQ(way.size(), 3U);
  const std::vector<Flow> flows = {{.cpus = 0, .memory = 7}};
  const auto rates = links.share(flows);
  EXPECT_GT(links.load(0, way[1], flows, rates), 0.3);
  EXPECT_GT(links.load(way[1], 7, flows, rates), 0.3);
  EXPECT_EQ(links.load(0, 7, flows, rates), 0);  // there is no such link
  const auto both = links.share({{.cpus = 0, .memory = 7}, {.cpus = 0, .memory = way[1]}});
  EXPECT_LT(both[1], links.alone(0, way[1]) + 1e-9);
  EXPECT_LE(both[0] + both[1], links.alone(0, way[1]) + 1e-9);
}

TEST(Links, ASetOfOneIsItsMemory) {
  const Links links = opteron();
  EXPECT_DOUBLE_EQ(links.set_bandwidth({4}), 12800);
  EXPECT_DOUBLE_EQ(links.set_bandwidth({0, 1}), 2 * 5598);
  EXPECT_DOUBLE_EQ(links.set_bandwidth({0, 3}), 3741 + 1915);
}

TEST(Links, MissingFiguresAreNamed) {
  auto machine = load_model("opteron-6272");
  ASSERT_TRUE(machine);
  machine->bandwidth.value[8 * 3 + 5] = 0;
  machine->bandwidth.source[8 * 3 + 5] = Source::unknown;
  auto links = Links::of(*machine);
  ASSERT_FALSE(links);
  EXPECT_NE(links.error().message.find("from node 3 to the memory of node 5"), std::string::npos)
      << links.error().message;
  machine->bandwidth = {};
  EXPECT_FALSE(Links::of(*machine));
}

// For each flow that has less than it wants: with a little less for all flows that have more than it, it
// still gets no more. They are not in its way, or their shared resource is divided equally.
TEST(Links, SharesAreMaxMinFair) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const int nodes = in(random, 1, 8);
    auto links = Links::of(random_machine(random, nodes));
    ASSERT_TRUE(links);
    const auto flows = random_flows(random, nodes);
    const auto rates = links->share(flows);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_LE(rates[i], flows[i].demand * (1 + 1e-9));
      EXPECT_LE(rates[i], links->alone(flows[i].cpus, flows[i].memory) * (1 + 1e-9));
      if (rates[i] >= flows[i].demand * (1 - 1e-9)) continue;
      auto fewer = flows;
      for (std::size_t k = 0; k < flows.size(); ++k)
        if (rates[k] > rates[i] * (1 + 1e-9)) fewer[k].demand = rates[i] + (rates[k] - rates[i]) * 0.9;
      EXPECT_LE(links->share(fewer)[i], rates[i] * (1 + 1e-6)) << "seed " << seed << ", flow " << i;
    }
  }
}

TEST(Links, TheOrderOfFlowsDoesNotMatter) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const int nodes = in(random, 2, 6);
    auto links = Links::of(random_machine(random, nodes));
    ASSERT_TRUE(links);
    const auto flows = random_flows(random, nodes);
    const auto rates = links->share(flows);
    auto other = links->share({flows.rbegin(), flows.rend()});
    std::reverse(other.begin(), other.end());
    for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], other[i], 1e-6 * (1 + rates[i]));
  }
}

// All flows at the pace of the slowest: what share() gives when all want just that much, and not a bit more.
TEST(Links, SustainedIsTheLargestPaceThatAllCanHold) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int nodes = in(random, 1, 8);
    auto links = Links::of(random_machine(random, nodes));
    ASSERT_TRUE(links);
    std::vector<Flow> flows;
    double sum = 0;
    for (int i = in(random, 1, 12); i > 0; --i) {
      flows.push_back({in(random, 0, nodes - 1), in(random, 0, nodes - 1), 1.0 * in(random, 1, 5)});
      sum += flows.back().demand;
    }
    const double pace = links->sustained(flows) / sum;
    auto met = flows, more = flows;
    for (Flow& flow : met) flow.demand *= pace;
    for (Flow& flow : more) flow.demand *= pace * 1.01;
    const auto rates = links->share(met), rates_of_more = links->share(more);
    double missing = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_NEAR(rates[i], met[i].demand, 1e-6 * met[i].demand) << seed;
      missing += more[i].demand - rates_of_more[i];
    }
    EXPECT_GT(missing, 0) << seed;
  }
}

// Against share(), asked once for each flow: never more, and the same wherever two flows meet at most once.
TEST(Links, CompanyIsWhatSharesGive) {
  double worst = 1;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int nodes = in(random, 1, 8);
    auto links = Links::of(random_machine(random, nodes));
    ASSERT_TRUE(links);
    std::vector<Flow> flows;
    for (int i = in(random, 1, 10); i > 0; --i)
      flows.push_back({in(random, 0, nodes - 1), in(random, 0, nodes - 1)});
    const auto possible = links->share(flows);
    std::vector<double> loads, rates;
    for (const double rate : possible) loads.push_back(rate * in(random, 0, 10) / 10);
    Company(*links, flows).rates(loads, rates);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      auto asked = flows;
      for (std::size_t k = 0; k < flows.size(); ++k)
        if (k != i) asked[k].demand = loads[k];
      const double exact = links->share(asked)[i];
      EXPECT_LE(rates[i], exact * (1 + 1e-9)) << seed;
      worst = std::min(worst, rates[i] / exact);
    }
  }
  EXPECT_GT(worst, 0.7);  // flows that meet at several places are rare, and what is lost there is little
}

}  // namespace
}  // namespace nigh
