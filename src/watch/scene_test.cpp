// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/scene.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "machine/load.hpp"

namespace nigh::watch {
namespace {

const Machine& opteron() {
  static const Machine machine = *load_model("opteron-6272");
  return machine;
}
Links links() { return *Links::of(opteron()); }

ProcessFacts facts(int pid, std::uint64_t start = 1) { return {pid, start, "app", 60, 100}; }

// Thread tid on a CPU of `node` (8 a node) touches `regions` of memory on node `memory`, `count` times in
// all.
void touch(Reading& reading, int pid, int tid, int node, const std::vector<std::uint64_t>& regions,
           int memory, double count) {
  ThreadTraffic* thread = nullptr;
  for (ThreadTraffic& t : reading.threads)
    if (t.tid == tid) thread = &t;
  if (thread == nullptr) thread = &reading.threads.emplace_back();
  thread->pid = pid;
  thread->tid = tid;
  thread->cpu = node * 8 + tid % 8;
  thread->by_node.resize(8, 0);
  thread->by_node[static_cast<std::size_t>(memory)] += count;
  for (const std::uint64_t key : regions) {
    RegionTouches* region = nullptr;
    for (RegionTouches& r : reading.regions)
      if (r.region == key && r.pid == pid) region = &r;
    if (region == nullptr) region = &reading.regions.emplace_back();
    region->pid = pid;
    region->region = key;
    region->node = memory;
    region->by_thread.emplace_back(tid, count / static_cast<double>(regions.size()));
  }
  reading.seconds = 1;
}

TEST(Scene, ThreadsThatShareMemoryAreOneUnit) {
  Reading reading;
  // Two buffers of one program: threads 1, 2 on nodes 0 and 5, threads 3, 4 on nodes 1 and 6. All touch a
  // little of what is everybody's.
  for (const int tid : {1, 2}) touch(reading, 9, tid, tid == 1 ? 0 : 5, {10, 11, 12}, 0, 900);
  for (const int tid : {3, 4}) touch(reading, 9, tid, tid == 3 ? 1 : 6, {20, 21}, 6, 900);
  for (const int tid : {1, 2, 3, 4})
    touch(reading, 9, tid, std::vector{0, 0, 5, 1, 6}[static_cast<std::size_t>(tid)], {99}, 0, 20);
  Scene scene(opteron());
  scene.add(reading, {facts(9)});
  const auto units = scene.watched(links());
  ASSERT_EQ(units.size(), 2U);
  EXPECT_FALSE(units[0].whole);
  EXPECT_EQ(units[0].threads, (std::vector<std::pair<int, int>>{{1, 0}, {2, 5}}));
  EXPECT_EQ(units[1].threads, (std::vector<std::pair<int, int>>{{3, 1}, {4, 6}}));
  EXPECT_EQ(units[0].unit.application.program.name, "app/9#1");
  EXPECT_EQ(units[0].unit.application.threads[5], 1);
  EXPECT_GT(units[0].unit.application.sharing, 0.95);
  EXPECT_GT(units[1].unit.application.shared[6], 0.95);
  EXPECT_EQ(units[1].regions.size(), 3U);
  EXPECT_TRUE(units[0].unit.application.check(links()));
  EXPECT_EQ(find_clusters({units[0].unit.application}).size(), 1U);
}

// 256 threads on 20 000 regions (40 GB), all shared, of which each has touched one in thirty.
TEST(Scene, ManyThreadsOnMuchMemoryAreQuicklyOne) {
#ifdef NIGH_SANITIZED
  GTEST_SKIP() << "times of a sanitized build say nothing";
#endif
  std::mt19937 random(1);
  Reading reading;
  reading.seconds = 1;
  for (int t = 0; t < 256; ++t) {
    ThreadTraffic& thread = reading.threads.emplace_back();
    thread = {9, t + 1, (t / 4) % 64, std::vector<double>(8, 78)};
  }
  for (std::uint64_t key = 0; key < 20000; ++key) {
    RegionTouches& region = reading.regions.emplace_back();
    region = {9, key, static_cast<int>(key % 8), {}};
    for (int k = 0; k < 8; ++k) region.by_thread.emplace_back(static_cast<int>(random() % 256) + 1, 1.0);
  }
  reading.samples = 160000;
  Scene scene(opteron());
  scene.add(reading, {facts(9)});
  const std::clock_t start = std::clock();  // its own CPU time: other tests run beside it
  const auto units = scene.watched(links());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].threads.size(), 256U);
  EXPECT_LT(seconds, 0.5);
  std::printf("256 threads, 20 000 regions: %.1f ms\n", 1e3 * seconds);
}

TEST(Scene, PrivateMemoryIsToldFromShared) {
  Reading reading;
  touch(reading, 9, 1, 0, {10}, 0, 300);  // shared, on node 0
  touch(reading, 9, 2, 5, {10}, 0, 300);
  touch(reading, 9, 1, 0, {30}, 0, 100);  // thread 1's own
  touch(reading, 9, 2, 5, {40}, 0, 100);  // thread 2's own, far away
  Scene scene(opteron());
  scene.add(reading, {facts(9)});
  const auto units = scene.watched(links());
  ASSERT_EQ(units.size(), 1U);
  const Application& a = units[0].unit.application;
  EXPECT_TRUE(units[0].whole);
  EXPECT_NEAR(a.sharing, 0.75, 1e-9);
  EXPECT_EQ(a.shared[0], 1);
  EXPECT_EQ(a.own[5][0], 1);
  int users = 0;
  for (const UnitRegion& region : units[0].regions) users += region.user >= 0 ? 1 : 0;
  EXPECT_EQ(users, 2);
}

TEST(Scene, OldSamplesFade) {
  Scene scene(opteron());
  Reading before, after;
  touch(before, 9, 1, 0, {10}, 0, 1000);
  touch(after, 9, 1, 0, {11}, 3, 100);
  scene.add(before, {facts(9)});
  for (int s = 0; s < 30; ++s) scene.add(after, {facts(9)});
  const Application a = scene.watched(links())[0].unit.application;
  EXPECT_GT(a.own[0][3], 0.95);
}

TEST(Scene, AfterAMoveNewSamplesCount) {
  Scene scene(opteron());
  Reading before, after;
  touch(before, 9, 1, 0, {10}, 5, 1500);
  touch(after, 9, 1, 0, {10}, 0, 60);
  scene.add(before, {facts(9)});
  scene.moved(9);
  scene.moved(8);                                // whoever that is
  ASSERT_EQ(scene.watched(links()).size(), 1U);  // still known
  EXPECT_EQ(scene.fresh(), 0);
  scene.moved(9, {{1, 5}, {77, 0}});
  EXPECT_EQ(scene.watched(links())[0].unit.application.threads[5], 1);
  scene.add(after, {facts(9)});
  scene.add(after, {facts(9)});
  EXPECT_GT(scene.watched(links())[0].unit.application.locality(), 0.75);
}

// The reading that was under way while threads were moved tells where they came from; they may be silent for
// long after it, and what is decided meanwhile must not move them from there.
TEST(Scene, WhatIsReadDuringAMoveDoesNotTakeItBack) {
  Scene scene(opteron());
  Reading old, nothing;
  touch(old, 9, 1, 3, {10}, 3, 100);
  nothing.seconds = 1;
  scene.add(old, {facts(9)});
  scene.moved(9, {{1, 5}});
  scene.add(old, {facts(9)});
  scene.add(nothing, {facts(9)});
  EXPECT_EQ(scene.watched(links())[0].threads, (std::vector<std::pair<int, int>>{{1, 5}}));
  scene.add(old, {facts(9)});  // somebody else has put it back
  EXPECT_EQ(scene.watched(links())[0].threads, (std::vector<std::pair<int, int>>{{1, 3}}));
}

// The samples of a slow meter are kept for longer, and add up to confidence.
TEST(Scene, FewSamplesAreKeptForLonger) {
  Scene scene(opteron());
  Reading one, nothing;
  touch(one, 9, 1, 0, {10}, 0, 20);
  one.samples = 20;
  nothing.seconds = 1;
  EXPECT_EQ(scene.confidence(1), 0);
  scene.add(one, {facts(9)});
  const double first = scene.confidence(0.8);
  for (int s = 0; s < 20; ++s) scene.add(nothing, {facts(9)});
  EXPECT_EQ(scene.watched(links()).size(), 1U);
  for (int s = 0; s < 20; ++s) scene.add(one, {facts(9)});
  EXPECT_GT(scene.confidence(0.8), 4 * first);
  EXPECT_LT(scene.confidence(0.8), 0.8);
  one.lost = 60;
  for (int s = 0; s < 200; ++s) scene.add(one, {facts(9)});
  EXPECT_LT(scene.confidence(0.8), 0.25);
}

TEST(Scene, WhoIsGoneOrAnotherIsForgotten) {
  Scene scene(opteron());
  Reading reading;
  touch(reading, 9, 1, 0, {10}, 0, 1000);
  scene.add(reading, {facts(9)});
  EXPECT_EQ(scene.watched(links()).size(), 1U);
  Reading nothing;
  nothing.seconds = 1;
  scene.add(nothing, {facts(9, 2)});  // the number is somebody else's now
  EXPECT_TRUE(scene.watched(links()).empty());
  scene.add(reading, {facts(9, 2)});
  scene.add(reading, {});
  EXPECT_TRUE(scene.watched(links()).empty());
  scene.add(reading, {facts(8)});  // nobody asked for 9
  EXPECT_TRUE(scene.watched(links()).empty());
}

TEST(Scene, WithoutAddressesAProcessIsOneUnit) {
  Scene scene(opteron());
  Reading reading;
  touch(reading, 9, 1, 0, {}, 0, 100);
  touch(reading, 9, 2, 3, {}, 0, 100);
  scene.add(reading, {facts(9)});
  const auto units = scene.watched(links());
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].unit.application.own[3][0], 1);
  EXPECT_EQ(find_clusters({units[0].unit.application}).size(), 1U);
}

TEST(Scene, AThreadThatDoesNothingIsNotPlaced) {
  Scene scene(opteron());
  Reading reading;
  touch(reading, 9, 1, 0, {10}, 0, 100);
  touch(reading, 9, 2, 3, {10}, 0, 2);
  scene.add(reading, {facts(9)});
  EXPECT_EQ(scene.watched(links())[0].threads.size(), 1U);
}

TEST(Scene, AnyReadingGivesApplicationsThatAreInOrder) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto in = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    Scene scene(opteron());
    for (int s = 0; s < 5; ++s) {
      Reading reading;
      reading.rate = in(0, 1) * 100.0;
      for (int k = in(0, 40); k > 0; --k) {
        const int pid = in(1, 3);
        touch(reading, pid, pid * 100 + in(0, 9), in(0, 7), {static_cast<std::uint64_t>(in(0, 30))}, in(0, 7),
              in(0, 50));
      }
      scene.add(reading, {facts(1), facts(2)});
    }
    for (const Watched& one : scene.watched(links())) {
      EXPECT_TRUE(one.unit.application.check(links())) << seed;
      EXPECT_TRUE(one.pid == 1 || one.pid == 2);
      EXPECT_GE(one.unit.application.program.compute, 0);
    }
    std::vector<Application> all;
    for (const Watched& one : scene.watched(links())) all.push_back(one.unit.application);
    EXPECT_TRUE(decide(Policy::improved, links(), all)) << seed;
  }
}

}  // namespace
}  // namespace nigh::watch
