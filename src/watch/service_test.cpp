// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The service on this machine, whatever it is, with the model of a larger one and advice only: it starts,
// watches, tells, counts its own cost, and ends when what it watches does.
#include "watch/service.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "machine/load.hpp"
#include "sys/pages.hpp"
#include "sys/start.hpp"
#include "sys/test_tree.hpp"
#include "sys/threads.hpp"

namespace nigh::watch {
namespace {

// Made files, and /proc of some real processes.
class Tree : public sys::TestTree {
 public:
  Tree() { std::filesystem::create_directories(root() + "/proc"); }
  void show(const std::string& name) const {
    std::filesystem::create_symlink("/proc/" + name, root() + "/proc/" + name);
  }
};

TEST(FactsOf, ARecordedProcess) {
  Tree tree;
  tree.put("/proc/uptime", "1000.50 1900.00\n");
  const std::string hertz = std::to_string(static_cast<long>(sys::ticks_per_second()) * 400);
  tree.put("/proc/42/stat",
           "42 (a ) name) R 1 42 42 0 -1 4194304 1 0 0 0 7 5 0 0 20 0 3 0 " + hertz + " 1 1");
  tree.put("/proc/42/statm", "5000 250 100 1 0 300 0\n");
  auto facts = facts_of(tree.os(), 42);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->pid, 42);
  EXPECT_EQ(facts->name, "a ) name");
  EXPECT_EQ(std::to_string(facts->start), hertz);
  EXPECT_NEAR(facts->running, 600.5, 1e-6);
  EXPECT_NEAR(facts->megabytes, 250 * static_cast<double>(sys::page_bytes()) / 1e6, 1e-9);
  EXPECT_FALSE(facts_of(tree.os(), 43));
  tree.put("/proc/44/stat", "nonsense");
  EXPECT_FALSE(facts_of(tree.os(), 44));
  tree.put("/proc/45/stat", "45 (young) R 1 45 45 0 -1 0 1 0 0 0 7 5 0 0 20 0 3 0 99999999999 1 1");
  facts = facts_of(tree.os(), 45);  // started after now, and no statm
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->running, 0);
  EXPECT_EQ(facts->megabytes, 0);
}

TEST(FactsOf, Ourselves) {
  auto facts = facts_of(sys::Os(), ::getpid());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_GT(facts->megabytes, 0.5);
  EXPECT_GE(facts->running, 0);
  EXPECT_LT(facts->running, 600);
}

class ServiceHere : public testing::Test {
 protected:
  ServiceHere() {
    options_.interval = 0.05;
    options_.most_cost = 1;  // looks as often as that, also in a slow build
  }
  ~ServiceHere() override {
    for (const int child : children_)
      if (!sys::ended(child)) {
        sys::send_signal(child, SIGKILL);
        while (!sys::ended(child)) sys::sleep_seconds(0.01);
      }
  }
  int start(const std::string& script) {
    auto pid = sys::start_program({"sh", "-c", script}, std::nullopt);
    EXPECT_TRUE(pid) << pid.error().message;
    children_.push_back(pid.value_or(-1));
    return pid.value_or(-1);
  }
  // Its messages, and the duration of its run.
  void run(const sys::Os& os, const std::function<bool()>& more) {
    auto machine = load_model("opteron-6272");
    ASSERT_TRUE(machine) << machine.error().message;
    auto service = Service::make(os, *std::move(machine), options_, nullptr);
    ASSERT_TRUE(service) << service.error().message;
    level_ = (*service)->meter_state().level;
    (*service)->on_event = [&](const Event& event, double elapsed) {
      EXPECT_GE(elapsed, elapsed_);
      elapsed_ = elapsed;
      events_.push_back(event);
    };
    (*service)->on_snapshot = [&](const Snapshot& snapshot) { snapshots_.push_back(snapshot); };
    auto ran = (*service)->run(more);
    EXPECT_TRUE(ran) << ran.error().message;
    ASSERT_GE(events_.size(), 2U);
    EXPECT_EQ(events_.front().kind, "start");
    EXPECT_EQ(events_.back().kind, "end");
    if (level_ == Level::none) { EXPECT_EQ(events_[1].kind, "advice"); }
    for (const Event& event : events_) EXPECT_TRUE(event.kind != "moved" && event.kind != "decision");
  }
  [[nodiscard]] bool all_ended() const { return ends_with("; nothing that was watched runs any more"); }
  [[nodiscard]] bool ends_with(const std::string& words) const {
    const std::string& said = events_.back().sentence;
    return said.size() >= words.size() && said.substr(said.size() - words.size()) == words;
  }
  ServiceOptions options_;
  std::vector<int> children_;
  Level level_ = Level::none;
  std::vector<Event> events_;
  std::vector<Snapshot> snapshots_;
  double elapsed_ = 0;
};

TEST_F(ServiceHere, AMachineOfOneNodeIsRefused) {
  auto machine = load_hwloc_synthetic("pack:1 numa:1 core:4 pu:1");
  ASSERT_TRUE(machine) << machine.error().message;
  auto service = Service::make(sys::Os(), *std::move(machine), options_, nullptr);
  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().code, Errc::unsupported);
  EXPECT_EQ(service.error().message,
            "this machine has one NUMA node: all memory is equally near and there is nothing to place; see "
            "nigh watch --demo");
}

TEST_F(ServiceHere, WatchesAChildToItsEnd) {
  const int child = start("sleep 0.4; exit 5");
  options_.pids = {child};
  std::optional<int> status;
  run(sys::Os(), [&] {
    if (!status) status = sys::ended(child);
    return true;
  });
  if (!status) status = sys::ended(child);  // between its last look and the service's
  EXPECT_EQ(status, 5);
  EXPECT_TRUE(all_ended()) << events_.back().sentence;
  EXPECT_GT(elapsed_, 0.3);
  EXPECT_LT(elapsed_, 2);
  EXPECT_GE(snapshots_.size(), 3U);
}

TEST_F(ServiceHere, TellsItsOwnCost) {
  options_.pids = {start("exec sleep 30")};
  options_.duration = 0.5;
  run(sys::Os(), [] { return true; });
  ASSERT_FALSE(snapshots_.empty());
  const double cost = snapshots_.back().cost;
  EXPECT_GT(cost, 0);
  EXPECT_LT(cost, 0.5) << "of a core";
  EXPECT_EQ(events_.back().details.at("own_cost").get<double>(), cost);
  EXPECT_NE(events_.back().sentence.find("own cost"), std::string::npos);
  EXPECT_FALSE(all_ended()) << "its time was up";
  EXPECT_EQ(snapshots_.back().mode, "advising");
  EXPECT_EQ(snapshots_.back().nodes.size(), 8U);
  EXPECT_FALSE(to_screen(snapshots_.back()).empty());
}

// A process with memory that was not seen accessing it yet keeps the others where they are, but not for ever.
TEST_F(ServiceHere, NewcomersAreWaitedFor) {
  options_.pids = {start("x=$(head -c 40000000 /dev/zero | tr '\\0' x); while :; do sleep 30; done")};
  sys::sleep_seconds(1.5);  // it sleeps, so no meter sees it
  options_.duration = 2.5;
  options_.patience = 1;
  run(sys::Os(), [] { return true; });
  ASSERT_GE(snapshots_.size(), 4U);
  double waited = 0;
  for (const Snapshot& snapshot : snapshots_)
    if (snapshot.state == "waiting for newcomers") waited = snapshot.elapsed;
  EXPECT_EQ(snapshots_.front().state, "waiting for newcomers");
  EXPECT_EQ(snapshots_.back().state, "watching");
  EXPECT_GT(waited, 0.5);
  EXPECT_LT(waited, 2);
}

TEST_F(ServiceHere, WhoHasNoMemoryIsNotWaitedFor) {
  options_.pids = {start("exec sleep 30")};
  options_.duration = 0.4;
  run(sys::Os(), [] { return true; });
  ASSERT_FALSE(snapshots_.empty());
  for (const Snapshot& snapshot : snapshots_) EXPECT_EQ(snapshot.state, "watching");
}

// It has ended although whoever started it has not asked yet how (a zombie still has its number).
TEST_F(ServiceHere, AnEndThatNobodyWaitedForIsAnEnd) {
  options_.pids = {start("exit 0")};
  options_.duration = 3;
  run(sys::Os(), [] { return true; });
  EXPECT_TRUE(all_ended()) << events_.back().sentence;
  EXPECT_LT(elapsed_, 1);
}

TEST_F(ServiceHere, NothingToWatchEndsAtOnce) {
  options_.pids = {0x7ffffff0};
  run(sys::Os(), [] { return true; });
  EXPECT_TRUE(all_ended()) << events_.back().sentence;
  EXPECT_LT(elapsed_, 0.5);
}

TEST_F(ServiceHere, EndsWhenItIsTold) {
  options_.pids = {start("exec sleep 30")};
  int asked = 0;
  run(sys::Os(), [&] { return ++asked > 0 && snapshots_.size() < 2; });
  EXPECT_GE(asked, 3);
  EXPECT_EQ(snapshots_.size(), 2U);
  EXPECT_FALSE(all_ended());
}

// Everybody, here two: one works (in more memory than what is too small to be looked at), one sleeps, ends.
// There may be nobody left; somebody may come.
TEST_F(ServiceHere, AllProcessesComeAndGo) {
  const int works = start("x=$(head -c 20000000 /dev/zero | tr '\\0' x); while :; do :; done"),
            ends = start("sleep 0.4");
  Tree tree;
  for (const std::string& name :
       {std::string("self"), std::string("uptime"), std::to_string(works), std::to_string(ends)})
    tree.show(name);
  options_.all = true;
  options_.look = 0.1;
  options_.duration = 1;
  bool killed = false;
  run(tree.os(), [&] {
    if (!killed && snapshots_.size() > 8) {
      sys::send_signal(works, SIGKILL);
      killed = true;
    }
    for (const int child : {works, ends}) static_cast<void>(sys::ended(child));
    return true;
  });
  EXPECT_TRUE(killed);
  EXPECT_GE(elapsed_, 1);
  EXPECT_FALSE(all_ended());
}

}  // namespace
}  // namespace nigh::watch
