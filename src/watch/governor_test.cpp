// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The governor in a simulated world: it moves what is placed badly and leaves the rest alone, tells why,
// looks whether it was right, and takes back what was not.
#include "watch/governor.hpp"

#include <gtest/gtest.h>

#include "machine/load.hpp"
#include "plan/programs.hpp"
#include "watch/simulated.hpp"

namespace nigh::watch {
namespace {

Links opteron() {
  auto machine = load_model("opteron-6272");
  EXPECT_TRUE(machine);
  return *Links::of(*machine);
}

Application program(const char* name, const std::vector<int>& nodes, double running = 100) {
  Application out = *known_application(name, nodes, 8);
  out.running = running;
  return out;
}

struct Course {
  std::vector<Event> events;
  std::vector<Action> actions;
  [[nodiscard]] int count(const std::string& kind) const {
    return static_cast<int>(
        std::count_if(events.begin(), events.end(), [&](const Event& e) { return e.kind == kind; }));
  }
  [[nodiscard]] std::string all() const {
    std::string out;
    for (const Event& event : events) out += event.kind + ": " + event.sentence + "\n";
    return out;
  }
};

// `seconds` of one-second steps.
Course drive(SimulatedWorld& world, Governor& governor, int seconds) {
  Course run;
  for (int s = 0; s < seconds; ++s) {
    world.pass(1);
    GovernorStep step = governor.look(world.sighting());
    for (const Action& action : step.actions) {
      world.apply(action);
      run.actions.push_back(action);
    }
    if (!step.actions.empty()) governor.done(0);
    for (Event& event : step.events) run.events.push_back(std::move(event));
  }
  return run;
}

GovernorOptions applying(Policy policy, Pages pages = Pages::live) {
  GovernorOptions out;
  out.policy = policy;
  out.pages = pages;
  out.apply = true;
  return out;
}

TEST(Governor, MovesABadPairOnceAndLeavesItThen) {
  for (const Policy policy : {Policy::paper, Policy::improved}) {
    SimulatedWorld world(opteron(), {program("streamcluster", {0, 5})});
    Governor governor(opteron(), applying(policy));
    const double before = world.forecasts()[0].seconds;
    const Course run = drive(world, governor, 120);
    EXPECT_EQ(run.count("decision"), 1) << run.all();
    EXPECT_EQ(run.count("verified"), 1) << run.all();
    EXPECT_EQ(run.count("rollback"), 0);
    EXPECT_LT(world.forecasts()[0].seconds, 0.5 * before) << run.all();
  }
}

TEST(Governor, AnIdleOrWellPlacedProgramIsLeftAloneForTenMinutes) {
  for (const Policy policy : {Policy::paper, Policy::improved}) {
    SimulatedWorld world(opteron(), {program("ep", {0, 5})});
    Governor governor(opteron(), applying(policy));
    EXPECT_TRUE(drive(world, governor, 600).actions.empty());
  }
  SimulatedWorld world(opteron(), {program("streamcluster", {0, 1})});
  Governor governor(opteron(), applying(Policy::paper));
  EXPECT_TRUE(drive(world, governor, 600).actions.empty());
}

// Policies without a threshold would move a light program for hops, or a few pages for nothing.
TEST(Governor, NothingIsMovedForAGainThatNoLaterLookCouldTell) {
  for (const Policy policy : {Policy::hops, Policy::memory_only}) {
    SimulatedWorld world(opteron(), {program("ep", {0, 5})});
    GovernorOptions options = applying(policy);
    options.policy_options.consider_all = true;
    Governor governor(opteron(), options);
    const Course run = drive(world, governor, 120);
    EXPECT_TRUE(run.actions.empty()) << run.all();
    EXPECT_LE(run.count("advice"), 1) << run.all();
    options.worse = 0;
    Governor eager(opteron(), options);
    EXPECT_FALSE(drive(world, eager, 120).actions.empty()) << policy_name(policy);
  }
}

TEST(Governor, TheAdvisorMovesNothingAndSaysItOnce) {
  SimulatedWorld world(opteron(), {program("streamcluster", {0, 5}), program("graph500", {1, 6})});
  GovernorOptions options;
  options.policy = Policy::paper;
  Governor governor(opteron(), options);
  const Course run = drive(world, governor, 120);
  EXPECT_TRUE(run.actions.empty());
  EXPECT_EQ(run.count("advice"), 1) << run.all();
  EXPECT_NE(run.all().find("would move streamcluster: threads of nodes 0,5 to "), std::string::npos)
      << run.all();
}

// Slide 9: lazily first; where 90 % of the accesses still go to the old node after 2 s, everything at once.
TEST(Governor, PagesThatDoNotFollowAreSentAtOnce) {
  for (const bool touched : {true, false}) {
    std::vector<Application> start = {program("streamcluster", {0, 5}), program("ep", {1, 2})};
    start[1].movable = false;  // node 0's good neighbours are taken, so that the memory has to move
    start[1].threads = {0, 8, 8, 0, 8, 0, 8, 0};
    start[1].own = Application::with_master({.name = "ep", .compute = 1}, start[1].threads, 1).own;
    SimulatedWorld world(opteron(), start);
    world.touched = touched;
    world.lazy_rate = 50;
    Governor governor(opteron(), applying(Policy::paper, Pages::lazy));
    const Course run = drive(world, governor, 60);
    EXPECT_EQ(run.count("decision"), 1) << run.all();
    EXPECT_EQ(run.count("full-migration"), touched ? 0 : 1) << run.all();
    EXPECT_EQ(world.units()[0].application.shared[0], 0) << run.all();
    EXPECT_EQ(run.count("verified"), 1) << run.all();
  }
}

// The prediction does not come true: the memory lands where it was not sent to.
TEST(Governor, WhatGotWorseIsTakenBack) {
  SimulatedWorld world(opteron(), {program("streamcluster", {0, 2})});
  Governor governor(opteron(), applying(Policy::paper));
  const Application start = world.units()[0].application;
  Course run;
  double last = 0;
  std::vector<double> decided;
  for (int s = 0; s < 400; ++s) {
    world.pass(1);
    Sighting sighting = world.sighting();
    const bool moved = sighting.units[0].application.threads != start.threads;
    if (moved) {  // somebody else fills the links
      sighting.units[0].application.shared.assign(8, 0);
      sighting.units[0].application.shared[7] = 1;
    }
    GovernorStep step = governor.look(sighting);
    for (const Action& action : step.actions) world.apply(action);
    for (Event& event : step.events) {
      if (event.kind == "decision") decided.push_back(sighting.time - last), last = sighting.time;
      run.events.push_back(std::move(event));
    }
  }
  EXPECT_GE(run.count("rollback"), 3) << run.all();
  EXPECT_EQ(world.units()[0].application.threads, start.threads);
  EXPECT_EQ(world.units()[0].application.shared, start.shared);
  for (std::size_t i = 2; i < decided.size(); ++i) EXPECT_GT(decided[i], 1.5 * decided[i - 1]);  // backs off
}

TEST(Governor, WithoutConfidenceNothingIsDecided) {
  SimulatedWorld world(opteron(), {program("streamcluster", {0, 5})});
  Governor governor(opteron(), applying(Policy::paper));
  for (int s = 0; s < 60; ++s) {
    world.pass(1);
    Sighting sighting = world.sighting();
    sighting.confidence = 0.2;
    EXPECT_TRUE(governor.look(sighting).events.empty());
  }
}

TEST(Governor, WaitsForWhoHasJustCome) {
  SimulatedWorld world(opteron(), {program("streamcluster", {0, 5})});
  Governor governor(opteron(), applying(Policy::paper));
  for (int s = 0; s < 20; ++s) {
    world.pass(1);
    Sighting sighting = world.sighting();
    sighting.complete = s >= 12;
    EXPECT_EQ(governor.look(sighting).actions.empty(), s != 12) << s;
    if (s == 12) break;
  }
}

TEST(Governor, WhatCanNotBeMovedIsNotTriedAgainSoon) {
  SimulatedWorld world(opteron(), {program("streamcluster", {0, 5})});
  Governor governor(opteron(), applying(Policy::paper));
  int tries = 0;
  for (int s = 0; s < 120; ++s) {
    world.pass(1);
    const GovernorStep step = governor.look(world.sighting());
    if (step.actions.empty()) continue;
    ++tries;
    governor.done(static_cast<int>(step.actions.size()));
  }
  EXPECT_GE(tries, 2);
  EXPECT_LE(tries, 3);
  EXPECT_EQ(governor.moves(), 0);
}

// Units that come and go at any moment, at random: no crash, no action for somebody who is not there.
TEST(Governor, ProgramsMayComeAndGo) {
  SimulatedWorld world(
      opteron(), {program("streamcluster", {0, 5}), program("graph500", {1, 6}), program("specjbb", {2, 7})});
  Governor governor(opteron(), applying(Policy::improved));
  for (int s = 0; s < 300; ++s) {
    world.pass(1);
    Sighting sighting = world.sighting();
    const std::size_t gone = static_cast<std::size_t>(s / 13) % 4;
    if (gone < 3) sighting.units.erase(sighting.units.begin() + static_cast<std::ptrdiff_t>(gone));
    for (const Action& action : governor.look(sighting).actions) {
      EXPECT_TRUE(std::any_of(sighting.units.begin(), sighting.units.end(),
                              [&](const Unit& unit) { return unit.id == action.unit; }));
      world.apply(action);
    }
  }
}

TEST(Event, IsOneLineOfJson) {
  const std::string line = to_line({"advice", "a \"b\"\n\xff", {{"x", 1}}}, 1769860800.1234, 3.14159);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto read = nlohmann::json::parse(line);
  EXPECT_EQ(read["time"], "2026-01-31T12:00:00.123Z");
  EXPECT_EQ(read["elapsed"], 3.142);
  EXPECT_EQ(read["x"], 1);
}

}  // namespace
}  // namespace nigh::watch
