// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Each fact of the shipped models that its source states, so that an edit of the file can't lose one.
#include <gtest/gtest.h>

#include <set>

#include "machine/load.hpp"

namespace nigh {
namespace {

Machine model(const char* name) {
  auto m = load_model(name);
  EXPECT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->name, name);
  EXPECT_FALSE(m->title.empty());
  EXPECT_FALSE(m->origin.empty());
  EXPECT_FALSE(m->notes.empty());
  return *m;
}

CpuSet pus_of(const Machine& m, Kind kind, int which) {
  return m.objects[static_cast<std::size_t>(m.of_kind(kind)[static_cast<std::size_t>(which)])].pus;
}

std::uint64_t bytes_of(const Machine& m, Kind kind, int which = 0) {
  return m.objects[static_cast<std::size_t>(m.of_kind(kind)[static_cast<std::size_t>(which)])].bytes;
}

// PU numbers in the machine's logical order, siblings together.
std::string pu_order(const Machine& m) {
  std::string out;
  for (int i : m.of_kind(Kind::pu)) {
    if (!out.empty()) out += ' ';
    out += std::to_string(m.objects[static_cast<std::size_t>(i)].os_index);
  }
  return out;
}

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

TEST(Models, AreTheTenOfTheSeeds) {
  EXPECT_EQ(model_names(), (std::vector<std::string>{"barcelona", "cray-xt5", "nehalem-hp", "nehalem-sun",
                                                     "opteron-6272", "scalemp", "scalemp-bielefeld",
                                                     "tigerton", "winterhawk2", "xeon-6980p-snc3"}));
}

TEST(Models, Tigerton) {
  auto m = model("tigerton");
  EXPECT_EQ(m.summary(), "4 packages, 1 NUMA node, 16 cores, 16 PUs, 64 GiB");
  EXPECT_EQ(m.objects[1].kind, Kind::numa);  // one memory around all packages
  EXPECT_EQ(pus_of(m, Kind::l2, 1), (CpuSet{2, 3}));
  EXPECT_EQ(m.count(Kind::l2), 8);
  EXPECT_EQ(bytes_of(m, Kind::l2), 4 * MiB);
  EXPECT_EQ(pus_of(m, Kind::package, 3), CpuSet::range(12, 15));
}

TEST(Models, Barcelona) {
  auto m = model("barcelona");
  EXPECT_EQ(m.summary(), "4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 32 GiB");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bytes_of(m, Kind::numa, i), 8 * GiB);
  EXPECT_EQ(bytes_of(m, Kind::l3), 2 * MiB);
  EXPECT_EQ(bytes_of(m, Kind::l2), 512 * KiB);
  EXPECT_EQ(m.bandwidth.value[0], 4400);
}

TEST(Models, ScaleMp) {
  auto m = model("scalemp");
  EXPECT_EQ(m.summary(), "13 boards, 26 packages, 13 NUMA nodes, 104 cores, 104 PUs, 208 GiB");
  EXPECT_EQ(pus_of(m, Kind::board, 12), CpuSet::range(96, 103));
  EXPECT_EQ(bytes_of(m, Kind::numa), 16 * GiB);
  EXPECT_EQ(m.count(Kind::l2), 52);
  EXPECT_EQ(bytes_of(m, Kind::l2), 6 * MiB);
}

TEST(Models, ScaleMpBielefeld) {
  auto m = model("scalemp-bielefeld");
  EXPECT_EQ(m.summary(), "15 boards, 30 packages, 30 NUMA nodes, 120 cores, 120 PUs, 300 GiB");
  EXPECT_EQ(bytes_of(m, Kind::l3), 8 * MiB);
}

TEST(Models, BothNehalemNumberings) {
  auto sun = model("nehalem-sun");
  auto hp = model("nehalem-hp");
  EXPECT_EQ(pu_order(sun), "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15");
  EXPECT_EQ(pu_order(hp), "0 8 2 10 4 12 6 14 1 9 3 11 5 13 7 15");
  for (const auto* m : {&sun, &hp}) EXPECT_EQ(m->summary(), "2 packages, 2 NUMA nodes, 8 cores, 16 PUs");
}

TEST(Models, OpteronLinks) {
  auto m = model("opteron-6272");
  EXPECT_EQ(m.summary(), "4 packages, 8 NUMA nodes, 64 cores, 64 PUs");
  EXPECT_EQ(bytes_of(m, Kind::l3), 8 * MiB);
  EXPECT_EQ(m.count(Kind::l2), 32);
  const std::set<int> one_hop[8] = {{1, 2, 4, 6},       {0, 3, 4, 7}, {0, 3, 4, 5, 6, 7}, {1, 2, 4, 5},
                                    {0, 1, 2, 3, 5, 6}, {2, 3, 4, 7}, {0, 2, 4, 7},       {1, 2, 5, 6}};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      int hops = i == j ? 10 : one_hop[i].count(j) > 0 ? 16 : 22;
      EXPECT_EQ(m.slit[static_cast<std::size_t>(i * 8 + j)], hops) << i << ' ' << j;
    }
  struct Row {
    std::size_t from, to;
    double bandwidth;
  };
  std::set<std::size_t> measured;
  for (Row r : {Row{0, 1, 5598}, Row{1, 0, 5598}, Row{0, 4, 2999}, Row{4, 0, 2999}, Row{2, 0, 2973},
                Row{0, 2, 4329}, Row{3, 0, 1915}, Row{0, 3, 3741}, Row{5, 0, 1903}, Row{0, 5, 2884}}) {
    EXPECT_EQ(m.bandwidth.value[r.from * 8 + r.to], r.bandwidth) << r.from << " to " << r.to;
    measured.insert(r.from * 8 + r.to);
  }
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(m.bandwidth.source[i], measured.count(i) > 0 ? Source::measured : Source::guessed) << i;
  EXPECT_GT(m.bandwidth.value[3], m.bandwidth.value[4]);  // two hops (0 to 3) beat one (0 to 4)
}

TEST(Models, Xeon) {
  auto m = model("xeon-6980p-snc3");
  EXPECT_EQ(m.summary(), "2 packages, 6 NUMA nodes, 256 cores, 512 PUs");
  EXPECT_EQ(bytes_of(m, Kind::l3), 504 * MiB);
  EXPECT_EQ(m.count(Kind::l3), 2);
  const int cores[6] = {43, 43, 42, 43, 43, 42};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(pus_of(m, Kind::numa, i).count(), 2 * cores[i]);
  EXPECT_EQ(pus_of(m, Kind::core, 200), (CpuSet{200, 456}));
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double expected = i / 3 == j / 3 ? 188000 : 94000;
      if (i == 2 && j == 4) expected = 27900;
      if (i == 5 && j == 1) expected = 44900;
      EXPECT_EQ(m.bandwidth.value[i * 6 + j], expected) << i << ' ' << j;
    }
}

TEST(Models, CrayXt5) {
  auto m = model("cray-xt5");
  EXPECT_EQ(m.summary(), "2 packages, 2 NUMA nodes, 8 cores, 8 PUs");
  EXPECT_EQ(bytes_of(m, Kind::l3), 2 * MiB);
}

TEST(Models, Winterhawk2) {
  auto m = model("winterhawk2");
  EXPECT_EQ(m.summary(), "4 packages, 1 NUMA node, 4 cores, 4 PUs");
  EXPECT_EQ(m.bandwidth.value, (std::vector<double>{1600}));
  EXPECT_EQ(m.copying.rate(1e9, 1, 4), 800);   // slide 23: 400 MB/s copied
  EXPECT_EQ(m.copying.rate(1e6, 1, 1), 6000);  // slide 10: 3 GB/s in the cache of a processor
  EXPECT_EQ(m.copying.rate(1e6, 4, 1), 800);   // which no two share
  const double one = m.network.message_seconds(0, 1), four = m.network.message_seconds(0, 4);
  EXPECT_NEAR(four / one, 3.8, 0.05);  // slide 23: "larger by nearly a factor of 4"
  const double sent = (m.network.message_seconds(1e9, 4) - four) / (m.network.message_seconds(1e9, 1) - one);
  EXPECT_GT(sent, 4);  // "smaller by more than a factor of 4"
  EXPECT_LT(sent, 5);
  EXPECT_EQ(m.network.source, Source::fitted);
}

}  // namespace
}  // namespace nigh
