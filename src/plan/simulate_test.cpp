// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The simulator against what was measured: the eight readable rows of slide 5 of AsymSched (streamcluster on
// two nodes of an Opteron 6272 machine, all of its memory on the master's node). One program, fitted to two
// of the rows, has to predict the others within 10 %.
#include "plan/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "machine/load.hpp"
#include "plan/programs.hpp"

namespace nigh {
namespace {

constexpr double ghz = 2.1;

Links opteron() {
  auto machine = load_model("opteron-6272");
  EXPECT_TRUE(machine);
  auto links = Links::of(*machine);
  EXPECT_TRUE(links);
  return *links;
}

// 16 threads on two nodes; programs.cpp says what it is fitted to. The lines that a thread waits for at once,
// and the latency that does not depend on load, are fitted to the latencies of all rows.
Program streamcluster() { return known_application("streamcluster", {0, 1}, 8)->program; }
constexpr SimulationOptions on_opteron = {.idle_latency = 40};

Placement on_pair(int a, int b, int master) {
  std::vector<double> threads(8, 0), pages(8, 0);
  threads[static_cast<std::size_t>(a)] = threads[static_cast<std::size_t>(b)] = 8;
  pages[static_cast<std::size_t>(master)] = 1;
  return Placement::uniform(threads, pages);
}

Forecast run(const Links& links, const Program& program, const Placement& placement) {
  auto out = simulate(links, {program}, {placement}, on_opteron);
  EXPECT_TRUE(out) << out.error().message;
  return (*out)[0];
}

struct Row {
  double seconds, cycles, bandwidth;
  int a, b, master;
  bool far;
};
constexpr Row slide5[] = {{148, 750, 5598, 0, 1, 1, false},  {228, 1169, 2999, 0, 4, 4, false},
                          {228, 1179, 2973, 0, 2, 0, false}, {168, 855, 4329, 0, 2, 2, false},
                          {340, 1527, 1915, 0, 3, 0, true},  {185, 1040, 3741, 0, 3, 3, true},
                          {340, 1601, 1903, 0, 5, 0, true},  {228, 1206, 2884, 0, 5, 5, true}};

TEST(Simulate, PredictsSlide5) {
  const Links links = opteron();
  for (const Row& row : slide5) {
    const Forecast f = run(links, streamcluster(), on_pair(row.a, row.b, row.master));
    const std::string name =
        std::to_string(row.a) + "-" + std::to_string(row.b) + " master " + std::to_string(row.master);
    EXPECT_NEAR(f.seconds, row.seconds, 0.1 * row.seconds) << name;
    EXPECT_NEAR(f.latency * ghz, row.cycles, 0.1 * row.cycles) << name;
    for (std::size_t i = 0; i < f.flows.size(); ++i) {
      if (f.flows[i].cpus == f.flows[i].memory) continue;
      EXPECT_NEAR(f.rates[i], row.bandwidth, 0.1 * row.bandwidth) << name;
    }
    EXPECT_NEAR(f.remote, 0.5, 1e-9) << name;
    EXPECT_NEAR(f.far, row.far ? 0.5 : 0, 1e-9) << name;
  }
}

TEST(Simulate, TwoFastHopsBeatOneSlowHop) {
  const Links links = opteron();
  EXPECT_LT(run(links, streamcluster(), on_pair(0, 3, 3)).seconds,
            run(links, streamcluster(), on_pair(0, 4, 4)).seconds);
}

TEST(Simulate, ComputingNeedsNoLinks) {
  const Links links = opteron();
  const Program ep = {.name = "ep", .units = 3, .compute = 2, .megabytes = 0};
  const Forecast f = run(links, ep, on_pair(0, 5, 0));
  EXPECT_DOUBLE_EQ(f.seconds, 6);
  EXPECT_EQ(f.bandwidth, 0);
  EXPECT_TRUE(f.flows.empty());
}

TEST(Simulate, SaysWhatIsAssumed) {
  const Links links = opteron();
  EXPECT_TRUE(run(links, streamcluster(), on_pair(6, 7, 6)).assumed);
  Program program = streamcluster();
  std::vector<std::vector<double>> traffic(8, std::vector<double>(8, 0));
  traffic[0][1] = 1;
  std::vector<double> threads(8, 0);
  threads[0] = 8;
  EXPECT_FALSE(run(links, program, {threads, traffic}).assumed);
}

TEST(Simulate, TwoOnOneLinkSlowEachOther) {
  const Links links = opteron();
  const Program program = {.name = "a", .compute = 0, .megabytes = 1000, .barriers = false};
  std::vector<std::vector<double>> traffic(8, std::vector<double>(8, 0));
  traffic[0][1] = 1;
  std::vector<double> threads(8, 0);
  threads[0] = 1;
  const double alone = run(links, program, {threads, traffic}).seconds;
  EXPECT_NEAR(alone, 1000 / 5598.0, 1e-6);
  auto both = simulate(links, {program, program}, {{threads, traffic}, {threads, traffic}});
  ASSERT_TRUE(both);
  EXPECT_NEAR((*both)[0].seconds, 2 * alone, 0.01 * alone);
  EXPECT_NEAR((*both)[0].seconds, (*both)[1].seconds, 1e-6);
}

TEST(Simulate, OnesOwnWorkIsFasterWithoutBarriers) {
  const Links links = opteron();
  Program program = streamcluster();
  const double together = run(links, program, on_pair(0, 5, 0)).seconds;
  program.barriers = false;
  const double apart = run(links, program, on_pair(0, 5, 0)).seconds;
  EXPECT_LT(apart, 0.8 * together);
}

// Every question has an answer, and with a further program nobody gets faster (by more than the rounding of
// the fixed point).
TEST(Simulate, CompanyNeverHelps) {
  const Links links = opteron();
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto in = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    std::vector<Program> programs;
    std::vector<Placement> placements;
    for (int p = in(2, 4); p > 0; --p) {
      programs.push_back({.name = "p",
                          .compute = 1.0 * in(0, 5),
                          .megabytes = 1000.0 * in(1, 20),
                          .barriers = in(0, 1) == 0});
      std::vector<double> threads(8, 0), pages(8, 0);
      for (int k = in(1, 3); k > 0; --k) threads[static_cast<std::size_t>(in(0, 7))] = in(1, 8);
      double sum = 0;
      for (double& part : pages) sum += part = in(0, 3);
      if (sum == 0) sum = pages[0] = 1;
      for (double& part : pages) part /= sum;
      placements.push_back(Placement::uniform(threads, pages));
    }
    auto all = simulate(links, programs, placements);
    ASSERT_TRUE(all) << all.error().message;
    auto alone = simulate(links, {programs[0]}, {placements[0]});
    ASSERT_TRUE(alone);
    for (const Forecast& f : *all) EXPECT_TRUE(std::isfinite(f.seconds) && f.seconds > 0) << seed;
    EXPECT_GE((*all)[0].seconds, (*alone)[0].seconds * (1 - 1e-6)) << seed;
  }
}

TEST(Simulate, NonsenseIsRefused) {
  const Links links = opteron();
  const Program good = streamcluster();
  auto message = [&](const Program& program, const Placement& placement) {
    auto out = simulate(links, {program}, {placement});
    return out ? std::string() : out.error().message;
  };
  EXPECT_NE(message(good, Placement::uniform({8}, {1})).find("for 1 nodes"), std::string::npos);
  EXPECT_NE(message(good, Placement::uniform(std::vector<double>(8, 0), std::vector<double>(8, 0.125)))
                .find("no thread"),
            std::string::npos);
  EXPECT_NE(
      message(good, Placement::uniform(std::vector<double>(8, 1), std::vector<double>(8, 1))).find("not 1"),
      std::string::npos);
  EXPECT_NE(message({.name = "idle"}, on_pair(0, 1, 0)).find("work to do"), std::string::npos);
  EXPECT_FALSE(simulate(links, {good, good}, {on_pair(0, 1, 0)}));
}

}  // namespace
}  // namespace nigh
