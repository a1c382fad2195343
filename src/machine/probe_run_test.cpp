// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The programme of a probe on a made-up machine with a made-up clock: four nodes, one of them memory only,
// one link slower than SLIT says, a link that two pairs share. It must find these, keep to its time, and stop
// when told to.
#include "machine/probe_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace nigh::probe {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// Nodes 0..2 with four cores of two PUs each (PU n and n + 12), node 3 memory only.
Machine made_machine() {
  MachineBuilder builder;
  for (int node = 0; node < 3; ++node) {
    builder.open(Kind::package, node);
    builder.open(Kind::numa, node, 4096 * mib);
    builder.open(Kind::l3, node, 8 * mib);
    for (int core = 0; core < 4; ++core) {
      builder.open(Kind::core, core);
      for (int smt = 0; smt < 2; ++smt) {
        builder.open(Kind::pu, node * 4 + core + 12 * smt);
        builder.close();
      }
      builder.close();
    }
    for (int i = 0; i < 3; ++i) builder.close();
  }
  builder.open(Kind::numa, 3, 4096 * mib);
  builder.close();
  builder.machine().slit = {10, 16, 22, 24, 16, 10, 16, 24, 22, 16, 10, 24, 24, 24, 24, 10};
  return builder.finish().value();
}

Resources made_resources() {
  Resources r;
  r.pus = CpuSet::range(0, 23);
  for (int node = 0; node < 4; ++node) r.memory.push_back({node, 4096 * mib, 4000 * mib});
  r.headroom = 16000 * mib;
  r.caches = {{1, 32 << 10, {}}, {3, 8 * mib, {}}};
  return r;
}

class MadeLab : public Lab {
 public:
  double cost = 0;  // seconds besides each sample
  double limit(std::size_t from, std::size_t to) const {
    if (from == to) return 40000;
    return from == 0 && to == 1 ? 3000
           : to == 3            ? 8000
                                : 6000;  // 0->1 is slower than 0->2, whatever SLIT says
  }
  std::string broken;  // if set, every stream fails with it
  int samples = 0;

  double now() override { return clock_; }
  Result<std::vector<double>> stream(const std::vector<Stream>& jobs, double seconds) override {
    pass(seconds);
    if (!broken.empty()) return fail(Errc::io, broken);
    std::map<std::pair<std::size_t, std::size_t>, int> links;
    for (const Stream& job : jobs) ++links[{home(job.pu), job.node}];
    std::vector<double> rates;
    for (const Stream& job : jobs) {
      auto link = std::pair{home(job.pu), job.node};
      double rate = std::min(10000.0 * links[link], limit(link.first, link.second)) / links[link];
      bool crowded = link.first != link.second && links.size() > 2;  // remote links share a hub
      rates.push_back(noisy(crowded ? rate / 2 : rate));
    }
    return rates;
  }
  Result<std::vector<double>> chase(int pu, std::size_t node, const std::vector<Stream>& beside,
                                    double seconds) override {
    pass(seconds);
    double base = home(pu) == node ? 80 : 150;
    return std::vector<double>{noisy(beside.empty() ? base : 3 * base),
                               1000.0 * static_cast<double>(beside.size())};
  }
  Result<std::vector<double>> working_set(int, std::uint64_t bytes, double seconds) override {
    pass(seconds);
    return std::vector<double>{bytes > 8 * mib ? 80.0 : 2.0, 50000.0};
  }
  Result<std::vector<double>> ping_pong(int a, int b, double seconds) override {
    pass(seconds);
    return std::vector<double>{home(a) == home(b) ? 30.0 : 120.0};
  }

 private:
  std::size_t home(int pu) const { return static_cast<std::size_t>(pu % 12 / 4); }
  void pass(double seconds) { clock_ += seconds + cost, ++samples; }
  double noisy(double v) { return v * (1 + 0.01 * (samples % 3)); }
  double clock_ = 1000;
};

struct Run : ::testing::Test {
  Machine machine = made_machine();
  Layout layout = lay_out(machine, made_resources(), {}, ~std::uint64_t{0}).value();
  void SetUp() override {
    for (NodeShare& share : layout.nodes) share.chain_bytes = share.sizes.chase;
  }
  Result<Probe> go(MadeLab& lab, const Pace& pace, const ProbeOptions& options = {}) {
    return measure(lab, layout, pace, options, lab.now());
  }
};

TEST(Layout, UsesOneOfEachCoreFirstAndHonoursTheMask) {
  Resources r = made_resources();
  r.pus = CpuSet{0, 1, 12, 13, 14, 4};
  Layout layout = lay_out(made_machine(), r, {}, ~std::uint64_t{0}).value();
  ASSERT_EQ(layout.nodes.size(), 4U);
  EXPECT_EQ(layout.nodes[0].pus, (std::vector<int>{0, 1, 14, 12, 13}));
  EXPECT_EQ(layout.nodes[1].pus, std::vector<int>{4});
  EXPECT_TRUE(layout.nodes[2].pus.empty());
  EXPECT_EQ(layout.nodes[2].sizes.slice, 32 * mib) << "its memory is still measured";
  EXPECT_TRUE(std::any_of(layout.notes.begin(), layout.notes.end(),
                          [](const std::string& note) { return note.find("node 2: none of its PUs") == 0; }));
}

TEST(Layout, NeverTakesMoreThanHalfOfWhatIsFree) {
  for (std::uint64_t free : {1 * mib, 100 * mib, 200 * mib, 1000 * mib})
    for (std::uint64_t headroom : {50 * mib, 16000 * mib}) {
      Resources r = made_resources();
      for (auto& memory : r.memory) memory.free = free;
      r.headroom = headroom;
      Layout layout = lay_out(made_machine(), r, {}, ~std::uint64_t{0}).value();
      std::uint64_t sum = 0;
      for (const NodeShare& share : layout.nodes) {
        EXPECT_LE(share.sizes.total(share.threads), free / 2);
        sum += share.sizes.total(share.threads);
      }
      EXPECT_LE(sum, headroom / 2);
      EXPECT_GE(layout.notes.size(), free < 600 * mib || headroom < 1000 * mib ? 4U : 0U)
          << "reductions are told";
    }
}

TEST(Layout, CpusetsAndWrongNodesAreToldClearly) {
  Resources r = made_resources();
  r.mems = CpuSet{0, 1};
  Layout layout = lay_out(made_machine(), r, {}, ~std::uint64_t{0}).value();
  EXPECT_EQ(layout.nodes[2].sizes.slice, 0U);
  EXPECT_NE(layout.notes[0].find("cpuset"), std::string::npos);
  auto wrong = lay_out(made_machine(), made_resources(), CpuSet{1, 9}, ~std::uint64_t{0});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("0-3"), std::string::npos);
  EXPECT_FALSE(lay_out(made_machine(), made_resources(), CpuSet{3}, ~std::uint64_t{0}).has_value());
}

TEST_F(Run, FindsKneesMatricesAndSharedLinks) {
  MadeLab lab;
  Probe probe = go(lab, full_pace()).value();
  EXPECT_EQ(probe.scaling.size(), 12U);
  for (const auto& s : probe.scaling) EXPECT_EQ(s.knee, s.from == s.to ? 4 : 1) << s.from << "->" << s.to;
  EXPECT_NEAR(probe.find(0, 1, Mix::read)->mb_per_s.median, 3000, 100);
  EXPECT_NEAR(probe.find(2, 3, Mix::two_to_one)->mb_per_s.median, 8000, 300);
  EXPECT_EQ(probe.find(3, 0, Mix::read), nullptr) << "memory only: nobody accesses from there";
  EXPECT_NEAR(probe.find_latency(0, 0, false)->ns.median, 80, 3);
  EXPECT_EQ(probe.find_latency(0, 2, true)->streams, 7);
  ASSERT_EQ(probe.together.size(), 3U + 3U) << "three shifts, three pairs";
  for (const auto& t : probe.together) {
    if (t.links.size() != 3 || t.links[0].to != 2) continue;
    EXPECT_NEAR(t.links[0].mb_per_s.median, 3000, 100) << "half of what 0->2 gives alone: the hub is shared";
  }
  EXPECT_EQ(probe.core_pairs.size(), 24U * 23 / 2);
  EXPECT_TRUE(
      std::any_of(probe.sizes.begin(), probe.sizes.end(), [](const auto& s) { return s.level == "memory"; }));
  for (const auto& b : probe.bandwidth) EXPECT_GE(b.mb_per_s.samples, 5);
  cross_check(probe, machine);
  EXPECT_TRUE(std::any_of(probe.contradictions.begin(), probe.contradictions.end(), [](const std::string& s) {
    return s.find("0->1 is nearer than 0->2 by SLIT (16 and 22), but ") == 0;
  })) << probe.contradictions.at(0);
}

TEST_F(Run, QuickKeepsItsTimeHoweverSlowTheMachine) {
  for (double cost : {0.0, 0.001, 0.01, 0.05, 0.5}) {
    MadeLab lab;
    lab.cost = cost;
    double begin = lab.now();
    Probe probe = go(lab, quick_pace()).value();
    EXPECT_LE(lab.now() - begin, 1.5 * quick_pace().budget + 1) << cost;
    bool complete = probe.bandwidth.size() == 36 && probe.latency.size() == 24 && !probe.core_pairs.empty();
    bool told = std::any_of(probe.notes.begin(), probe.notes.end(), [](const std::string& note) {
      return note.find("did not suffice for") != std::string::npos ||
             note.find("are missing") != std::string::npos;
    });
    EXPECT_EQ(complete, !told) << cost;
    EXPECT_EQ(complete, cost < 0.02) << cost;
    for (const auto& b : probe.bandwidth) EXPECT_GE(b.mb_per_s.samples, 5);
  }
}

TEST_F(Run, DiscardedSamplesAreCountedWithTheirReason) {
  MadeLab lab;
  lab.broken = "the memory for node 0 is elsewhere (3 pages on node 1)";
  Probe probe = go(lab, quick_pace()).value();
  EXPECT_TRUE(probe.bandwidth.empty());
  EXPECT_EQ(probe.latency.size(), 24U) << "what can be measured still is";
  EXPECT_TRUE(std::any_of(probe.notes.begin(), probe.notes.end(), [&](const std::string& note) {
    return note.find("samples discarded: " + lab.broken) != std::string::npos;
  }));
}

TEST_F(Run, CancelStopsBetweenSamplesAndGivesNothing) {
  MadeLab lab;
  std::atomic<bool> cancel{false};
  ProbeOptions options;
  options.cancel = &cancel;
  options.progress = [&](const std::string& phase, double, double) { cancel = phase == "idle latency"; };
  auto probe = go(lab, quick_pace(), options);
  ASSERT_FALSE(probe.has_value());
  EXPECT_NE(probe.error().message.find("interrupted"), std::string::npos);
}

TEST_F(Run, ProgressRisesToTheEnd) {
  MadeLab lab;
  double last = 0;
  std::vector<std::string> seen;
  ProbeOptions options;
  options.progress = [&](const std::string& phase, double done, double left) {
    EXPECT_GE(left, 0);
    EXPECT_LE(done, 1);
    if (seen.empty() || seen.back() != phase) seen.push_back(phase);
    last = done;
  };
  ASSERT_TRUE(go(lab, full_pace(), options).has_value());
  EXPECT_DOUBLE_EQ(last, 1);
  EXPECT_EQ(seen.size(), 10U + 1U);
}

}  // namespace
}  // namespace nigh::probe
