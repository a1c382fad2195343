// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The real laboratory on whatever machine runs the tests, with little memory and short samples: that the
// figures are figures, that time is kept, and that a cancelled opening ends. What they are is the machine's
// affair.
#include "machine/probe_lab.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "machine/load.hpp"
#include "sys/threads.hpp"

namespace nigh::probe {
namespace {

struct Real : ::testing::Test {
  sys::Os os;
  Layout layout;
  std::unique_ptr<Lab> lab;
  std::size_t home = 0;
  std::vector<int> pus;
  void SetUp() override {
    auto machine = load_this_machine();
    ASSERT_TRUE(machine.has_value()) << machine.error().message;
    auto resources = read_resources(os);
    ASSERT_TRUE(resources.has_value()) << resources.error().message;
    auto laid = lay_out(*machine, *resources, {}, std::uint64_t{16} << 20);
    ASSERT_TRUE(laid.has_value()) << laid.error().message;
    layout = *laid;
    auto opened = open_lab(layout, os, 0.5, nullptr);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    lab = std::move(*opened);
    while (home < layout.nodes.size() &&
           (layout.nodes[home].pus.empty() || layout.nodes[home].sizes.slice == 0))
      ++home;
    ASSERT_LT(home, layout.nodes.size());
    pus = layout.nodes[home].pus;
  }
};

TEST_F(Real, StreamsOfEveryMixKeepTheirTime) {
  for (Mix mix : {Mix::read, Mix::two_to_one, Mix::one_to_one}) {
    std::vector<Stream> jobs;
    for (std::size_t k = 0; k < std::min<std::size_t>(pus.size(), 4); ++k)
      jobs.push_back({pus[k], home, k, mix});
    double begin = lab->now();
    auto rates = lab->stream(jobs, 0.02);
    ASSERT_TRUE(rates.has_value()) << rates.error().message;
    EXPECT_GE(lab->now() - begin, 0.02);
    ASSERT_EQ(rates->size(), jobs.size());
    for (double rate : *rates) EXPECT_GT(rate, 1);
  }
}

TEST_F(Real, ChasesIdleAndLoaded) {
  auto idle = lab->chase(pus[0], home, {}, 0.01);
  ASSERT_TRUE(idle.has_value()) << idle.error().message;
  EXPECT_GT((*idle)[0], 0.1);
  EXPECT_EQ((*idle)[1], 0);
  if (pus.size() < 2) GTEST_SKIP() << "a loaded chase needs a second PU on the node";
  auto loaded = lab->chase(pus[0], home, {{pus[1], home, 1, Mix::read}}, 0.01);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_GT((*loaded)[1], 1) << "the stream beside it did stream";
}

TEST_F(Real, WorkingSetsOfAllSizes) {
  for (std::uint64_t bytes : {std::uint64_t{4} << 10, std::uint64_t{5} << 10, std::uint64_t{4} << 20}) {
    auto values = lab->working_set(pus[0], bytes, 0.01);
    ASSERT_TRUE(values.has_value()) << values.error().message;
    EXPECT_GT((*values)[0], 0.1);
    EXPECT_GT((*values)[1], 1);
  }
}

TEST_F(Real, CoresHandALineOver) {
  if (pus.size() < 2) GTEST_SKIP() << "needs two PUs";
  auto ns = lab->ping_pong(pus[0], pus[1], 0.01);
  ASSERT_TRUE(ns.has_value()) << ns.error().message;
  EXPECT_GT((*ns)[0], 0.5);
}

TEST(Lab, ACancelledOpeningEndsEarlyAndClean) {
  auto machine = load_this_machine();
  ASSERT_TRUE(machine.has_value());
  sys::Os os;
  Layout layout = lay_out(*machine, read_resources(os).value(), {}, std::uint64_t{16} << 20).value();
  std::atomic<bool> cancel{true};
  double begin = sys::now_seconds();
  auto lab = open_lab(layout, os, 30, &cancel);
  EXPECT_LT(sys::now_seconds() - begin, 10);
}

}  // namespace
}  // namespace nigh::probe
