// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of the meters on known input, then every meter that can be used here on a living process.
#include "watch/meter.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>

#include "sys/pages.hpp"
#include "sys/perf.hpp"
#include "sys/raw.h"
#include "sys/test_tree.hpp"
#include "watch/meter_faults.hpp"
#include "watch/numa_proc.hpp"
#include "watch/tally.hpp"

namespace nigh::watch {
namespace {

// The file that Linux 6.12 writes, shortened.
const char* const sched_text =
    "touch (252, #threads: 5)\n"
    "-------------------------------------------------------------------\n"
    "se.exec_start                                :         12345.678901\n"
    "se.sum_exec_runtime                          :          2345.500000\n"
    "se.nr_migrations                             :                    2\n"
    "mm->numa_scan_seq                            :                    7\n"
    "numa_pages_migrated                          :                    0\n"
    "numa_preferred_nid                           :                    4\n"
    "total_numa_faults                            :                 1500\n"
    "current_node=0, numa_group_id=252\n"
    "numa_faults node=0 task_private=3 task_shared=1 group_private=8 group_shared=2\n"
    "numa_faults node=1 task_private=0 task_shared=0 group_private=0 group_shared=0\n"
    "numa_faults node=4 task_private=100 task_shared=900 group_private=120 group_shared=1900\n";

TEST(NumaProc, SchedOfAThread) {
  auto state = parse_sched(sched_text);
  ASSERT_TRUE(state);
  EXPECT_DOUBLE_EQ(state->runtime_ms, 2345.5);
  EXPECT_EQ(state->scan_pass, 7);
  EXPECT_EQ(state->by_node, (std::vector<double>{4, 0, 0, 0, 1000}));
  EXPECT_FALSE(parse_sched("se.exec_start : 1\n"));
  EXPECT_FALSE(parse_sched("numa_faults node=99999 task_private=1 task_shared=1\n"));
  EXPECT_FALSE(parse_sched("numa_faults node=-1 task_private=1 task_shared=1\n"));
}

TEST(NumaProc, CountsDecayByHalfAPass) {
  ThreadFaults before{.runtime_ms = 10, .scan_pass = 3, .by_node = {100, 40}};
  ThreadFaults now{.runtime_ms = 20, .scan_pass = 4, .by_node = {150, 20, 7}};
  EXPECT_EQ(fresh_faults(before, now), (std::vector<double>{100, 0, 7}));
  now.scan_pass = 3;  // no pass has ended
  EXPECT_EQ(fresh_faults(before, now), (std::vector<double>{0, 0, 0}));
  now.scan_pass = 4, now.runtime_ms = 10;  // it did not run
  EXPECT_EQ(fresh_faults(before, now), (std::vector<double>{0, 0, 0}));
}

TEST(NodeFinder, AsksOnceAndRemembers) {
  int calls = 0;
  NodeFinder nodes(sys::Os("/nowhere"),
                   [&](int, std::span<const std::uint64_t> addresses, std::span<int> out) {
                     ++calls;
                     for (std::size_t i = 0; i < out.size(); ++i) out[i] = addresses[i] % 8192 == 0 ? 2 : 3;
                     return Result<void>();
                   });
  RegionKey a{1, 10}, b{1, 11};
  std::vector<NodeFinder::Wanted> wanted = {{a, {0, 8192, 16384, 4096}}, {b, {4096}}};
  nodes.refresh(wanted, 100);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(nodes.shares(a), (NodeShares{{2, 0.75}, {3, 0.25}}));
  EXPECT_EQ(nodes.shares(b), (NodeShares{{3, 1}}));
  nodes.refresh(wanted, 103);
  EXPECT_EQ(calls, 1);
  nodes.refresh(wanted, 105);  // too old by then
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(nodes.shares({2, 10}).empty());
}

// A kernel that tells nothing of pages waiting for a hint fault (6.1), or refuses: the mapping's line helps.
TEST(NodeFinder, FallsBackToNumaMaps) {
  sys::TestTree tree;
  tree.put("/proc/7/numa_maps", "200000 default N1=1 N6=3\n400000 default N2=1\n");
  NodeFinder nodes(tree.os(), [&](int pid, std::span<const std::uint64_t>, std::span<int> out) {
    if (pid == 8) return Result<void>(fail(Errc::permission, "refused", EPERM));
    std::fill(out.begin(), out.end(), -ENOENT);
    return Result<void>();
  });
  nodes.refresh({{{7, 1}, {0x234000}}, {{8, 1}, {0x234000}}}, 0);
  EXPECT_EQ(nodes.shares({7, 1}), (NodeShares{{6, 0.75}, {1, 0.25}}));
  EXPECT_TRUE(nodes.shares({8, 1}).empty());
  EXPECT_EQ(nodes.from_maps(), 1u);
}

TEST(Tally, ThreadsByNodeAndRegionsByThread) {
  NodeFinder nodes(sys::Os("/nowhere"),
                   [](int, std::span<const std::uint64_t> addresses, std::span<int> out) {
                     for (std::size_t i = 0; i < out.size(); ++i)
                       out[i] = addresses[i] < (4u << 20) ? 1 : -ENOENT;
                     return Result<void>();
                   });
  Tally tally;
  tally.add({.pid = 1, .tid = 11, .cpu = 3, .address = 0x200000, .weight = 2});
  tally.add({.pid = 1, .tid = 10, .cpu = 4, .address = 0x201000, .weight = 1});
  tally.add({.pid = 1, .tid = 11, .cpu = 5, .address = 0x202000, .weight = 1});
  tally.add({.pid = 1, .tid = 11, .cpu = 5, .address = 0x900000, .weight = 1});  // nobody knows where
  Reading reading;
  tally.into(reading, nodes, 0);
  EXPECT_EQ(reading.samples, 4u);
  EXPECT_EQ(reading.unplaced, 1u);
  ASSERT_EQ(reading.threads.size(), 2u);
  EXPECT_EQ(reading.threads[1].tid, 11);
  EXPECT_EQ(reading.threads[1].cpu, 5);
  EXPECT_EQ(reading.threads[1].by_node, (std::vector<double>{0, 3}));
  ASSERT_EQ(reading.regions.size(), 2u);
  EXPECT_EQ(reading.regions[0].node, 1);
  EXPECT_EQ(reading.regions[0].by_thread, (std::vector<std::pair<int, double>>{{10, 1}, {11, 3}}));
  EXPECT_EQ(reading.regions[1].node, -1);
  Reading next;
  tally.into(next, nodes, 0);
  EXPECT_EQ(next.samples, 0u);
}

TEST(Confidence, FallsWithFewLostAndUnplaced) {
  EXPECT_EQ(confidence_of(0.8, 0, 0, 0), 0);
  EXPECT_DOUBLE_EQ(confidence_of(0.8, 200, 0, 0), 0.4);
  EXPECT_NEAR(confidence_of(0.8, 1000000, 0, 0), 0.8, 0.001);
  EXPECT_NEAR(confidence_of(0.8, 1000000, 1000000, 0), 0.4, 0.001);
  EXPECT_NEAR(confidence_of(0.8, 1000000, 0, 1000000), 0, 0.001);
}

TEST(Meters, TheLadderHasEveryRungOnce) {
  auto states = probe_meters(sys::Os());
  ASSERT_EQ(states.size(), 4u);
  for (std::size_t k = 0; k < states.size(); ++k) {
    EXPECT_EQ(states[k].level, static_cast<Level>(k));
    EXPECT_FALSE(states[k].name.empty());
    EXPECT_FALSE(states[k].sees.empty());
    EXPECT_TRUE(states[k].usable || !states[k].missing.empty()) << states[k].name;
  }
  EXPECT_TRUE(states.back().usable);
  for (MeterState& one : states) one.usable = one.level == Level::proc || one.level == Level::none;
  EXPECT_EQ(choose(states).level, Level::proc);
}

TEST(Meters, BalancingIsReadFromTheFirstBit) {
  sys::TestTree tree;
  for (const auto& [text, on] : {std::pair{"0", false}, {"1", true}, {"2", false}, {"3", true}}) {
    tree.put("/proc/sys/kernel/numa_balancing", text);
    EXPECT_EQ(numa_balancing(tree.os()), on) << text;
  }
}

// A child with two threads, each writing to a buffer of its own; dropping the pages makes them fault again.
class Child {
 public:
  struct Told {
    long tid[2];
    std::uint64_t address[2];
  };
  static constexpr std::size_t bytes = 4 << 20;

  Child() {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid = ::fork();
    if (pid == 0) work(ends[1]);
    ::close(ends[1]);
    if (::read(ends[0], &told, sizeof told) != sizeof told) ADD_FAILURE() << "the child said nothing";
    ::close(ends[0]);
  }
  ~Child() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid = -1;
  Told told = {};

 private:
  [[noreturn]] static void work(int out) {
    static Told say;
    static std::atomic<int> ready;
    std::array<std::thread, 2> threads;
    for (int t = 0; t < 2; ++t)
      threads[static_cast<std::size_t>(t)] = std::thread([t] {
        auto* data = static_cast<char*>(
            ::mmap(nullptr, bytes + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        data = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(data) + (2 << 20) - 1) &
                                       ~std::uintptr_t{(2 << 20) - 1});
        ::madvise(data, bytes, MADV_NOHUGEPAGE);
        say.tid[t] = nigh_raw_gettid();
        say.address[t] = reinterpret_cast<std::uint64_t>(data);
        ++ready;
        while (true) {
          for (std::size_t at = 0; at < bytes; at += sys::page_bytes()) {
            *static_cast<volatile char*>(data + at) = 1;
            if (at % (64 * sys::page_bytes()) == 0) ::usleep(1000);
          }
          ::madvise(data, bytes, MADV_DONTNEED);
        }
      });
    while (ready != 2) ::usleep(100);
    if (::write(out, &say, sizeof say) != sizeof say) ::_exit(1);
    while (true) ::pause();
  }
};

// Two readings; regions of a buffer must be touched by its thread alone.
void expect_attributed(Meter& meter, const Child& child, bool regions) {
  auto followed = meter.follow({child.pid});
  ASSERT_TRUE(followed) << followed.error().message;
  std::size_t seen = 0;
  for (int round = 0; round < 2; ++round) {
    ::usleep(300000);
    auto reading = meter.read();
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_GT(reading->seconds, 0.2);
    EXPECT_GE(reading->confidence, 0);
    EXPECT_LE(reading->confidence, 1);
    std::printf("%s: %lu samples, %lu lost, %lu unplaced, confidence %.2f, cost %.4f of a core; %s\n",
                level_name(reading->level), static_cast<unsigned long>(reading->samples),
                static_cast<unsigned long>(reading->lost), static_cast<unsigned long>(reading->unplaced),
                reading->confidence, reading->cost, reading->note.c_str());
    for (const RegionTouches& one : reading->regions)
      for (int t = 0; t < 2; ++t) {
        std::uint64_t at = one.region << 21;
        if (at < child.told.address[t] || at >= child.told.address[t] + Child::bytes) continue;
        ++seen;
        ASSERT_EQ(one.by_thread.size(), 1u);
        EXPECT_EQ(one.by_thread[0].first, child.told.tid[t]);
      }
  }
  if (regions) {
    EXPECT_EQ(seen, 8u);  // 2 regions of 2 buffers, twice
  }
  meter.stop();
}

class LiveMeter : public testing::TestWithParam<Level> {};
TEST_P(LiveMeter, FollowsAProcess) {
  sys::Os os;
  for (const MeterState& state : probe_meters(os))
    if (state.level == GetParam() && !state.usable) GTEST_SKIP() << state.missing;
  Child child;
  auto meter = make_meter(GetParam(), os);
  expect_attributed(*meter, child, false);
}
INSTANTIATE_TEST_SUITE_P(Ladder, LiveMeter,
                         testing::Values(Level::pmu, Level::faults, Level::proc, Level::none),
                         [](const auto& level) { return std::string(level_name(level.param)); });

// Needs no provoker: the child's own faults, first touches all of them, are samples enough.
TEST(FaultMeter, AttributesRegionsToTheirThreads) {
  auto event = sys::PerfEvent::open(fault_attr(false), 0, -1);
  if (!event) GTEST_SKIP() << event.error().message;
  Child child;
  auto meter = make_fault_meter(sys::Os(), Provoker::nobody, true);
  expect_attributed(*meter, child, true);
}

TEST(FaultMeter, FirstTouchesAreNoTraffic) {
  if (!sys::PerfEvent::open(fault_attr(true), 0, -1))
    GTEST_SKIP() << "this kernel tells no page sizes (5.11 does)";
  Child child;
  auto meter = make_fault_meter(sys::Os(), Provoker::nobody, false);
  ASSERT_TRUE(meter->follow({child.pid}));
  ::usleep(300000);
  auto reading = meter->read();
  ASSERT_TRUE(reading);
  EXPECT_LT(reading->samples, 20u);  // hundreds came
}

TEST(Meters, ProcessesThatEndAreNoError) {
  for (Level level : {Level::faults, Level::none}) {
    auto meter = level == Level::faults ? make_fault_meter(sys::Os(), Provoker::nobody, true)
                                        : make_meter(level, sys::Os());
    {
      Child child;
      auto followed = meter->follow({child.pid});
      if (!followed) GTEST_SKIP() << followed.error().message;
    }
    EXPECT_TRUE(meter->read()) << level_name(level);
    EXPECT_TRUE(meter->read()) << level_name(level);
  }
  EXPECT_FALSE(make_fault_meter(sys::Os(), Provoker::nobody, true)->follow({0x3fffffff}));
}

}  // namespace
}  // namespace nigh::watch
