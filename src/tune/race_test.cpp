// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/race.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace nigh::tune {
namespace {

// Times with a normal noise of their logarithm, and now and then a disturbed run, as shared machines have.
class Model {
 public:
  Model(std::vector<double> seconds, double noise, unsigned seed)
      : seconds_(std::move(seconds)), noise_(noise), random_(seed) {}
  double run(std::size_t candidate) {
    const double noise = std::exp(noise_ * normal_(random_));
    return seconds_[candidate] * noise * (uniform_(random_) < 0.05 ? 1.3 : 1.0);
  }
  [[nodiscard]] std::size_t size() const { return seconds_.size(); }

 private:
  std::vector<double> seconds_;
  double noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

Race raced(Model& model, double precision = 0.02) {
  Race race(model.size(), precision);
  while (const auto next = race.next()) race.finished(model.run(*next));
  return race;
}

// 12 candidates, one of them 10 % faster than the default, the others up to 60 % slower.
std::vector<double> known_best(std::mt19937& random) {
  std::uniform_real_distribution<double> slower(1.02, 1.6);
  std::vector<double> seconds(12, 1.0);
  for (std::size_t one = 1; one < seconds.size(); ++one) seconds[one] = slower(random);
  seconds[1 + random() % 11] = 0.9;
  return seconds;
}

TEST(TuneRace, FindsTheKnownBestInHalfOfTheRuns) {
  std::mt19937 random(17);
  int found = 0;
  double share = 0;
  constexpr int games = 200;
  for (unsigned game = 0; game < games; ++game) {
    const std::vector<double> seconds = known_best(random);
    Model model(seconds, 0.02, game);
    const Race race = raced(model);
    const std::size_t leader = race.leader();
    found += seconds[leader] == 0.9;
    // Trying all: each as often as an interval takes.
    share += static_cast<double>(race.runs()) /
             static_cast<double>(12 * std::max(fewest_pairs, race.times(leader).size()));
  }
  EXPECT_GE(found, games * 97 / 100);
  EXPECT_LE(share / games, 0.5);
}

TEST(TuneRace, KeepsTheDefaultWhereThereIsNoDifference) {
  int kept = 0;
  constexpr int games = 200;
  for (unsigned game = 0; game < games; ++game) {
    Model model(std::vector<double>(8, 1.0), 0.02, game);
    kept += raced(model).leader() == 0;
  }
  EXPECT_GE(kept, games * 95 / 100);
}

TEST(TuneRace, DropsLosersSoon) {
  Model model({1, 3, 1.5, 1.1}, 0.001, 1);
  Race race = raced(model);
  EXPECT_EQ(race.leader(), 0U);
  EXPECT_TRUE(race.is_even());
  EXPECT_EQ(race.times(1).size(), 2U);
  EXPECT_EQ(race.times(2).size(), 2U);
  EXPECT_LE(race.times(3).size(), 3U);
}

TEST(TuneRace, WhatFailsLeaves) {
  Race race(3, 0.01);
  std::size_t fails = 0;
  while (const auto next = race.next()) {
    if (*next == 1) {
      race.failed();
      ++fails;
    } else {
      race.finished(*next == 0 ? 1.0 : 0.5);
    }
  }
  EXPECT_EQ(fails, 1U);
  EXPECT_FALSE(race.is_in(1));
  EXPECT_EQ(race.leader(), 2U);
}

TEST(TuneRace, OneCandidateIsNoRace) {
  Race race(1, 0.01);
  EXPECT_FALSE(race.next());
  EXPECT_EQ(race.leader(), 0U);
}

TEST(TuneRace, EveryCandidateRunsOnceARound) {
  Race race(4, 0.01, 3);
  std::vector<int> seen(4);
  while (const auto next = race.next()) {
    ++seen[*next];
    race.finished(1.0);
  }
  EXPECT_EQ(seen, (std::vector<int>{3, 3, 3, 3}));
}

}  // namespace
}  // namespace nigh::tune
