// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory: what the kernel's files say is read right (from recorded trees: a container with a limit, a machine
// with two nodes), and a real buffer is where it was bound. Threads: they are on their PUs and start
// together.
#include "sys/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "sys/test_tree.hpp"
#include "sys/threads.hpp"

namespace nigh::sys {
namespace {

TEST(Memory, NodesAreReadWithDroppableCacheAsFree) {
  TestTree tree;
  tree.put("/sys/devices/system/node/online", "0,2\n");
  tree.put("/sys/devices/system/node/node0/meminfo",
           "Node 0 MemTotal: 1000 kB\nNode 0 MemFree: 300 kB\nNode 0 Inactive: 99 kB\nNode 0 Inactive(file): "
           "50 kB\n");
  tree.put("/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:  64 kB\nNode 2 MemFree:  8 kB\n");
  auto nodes = node_memory(tree.os());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].free, 350U << 10);
  EXPECT_EQ(nodes[1].node, 2);
  EXPECT_EQ(nodes[1].total, 64U << 10);
}

TEST(Memory, WithoutNumaThereIsNodeZero) {
  TestTree tree;
  tree.put("/proc/meminfo", "MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n");
  auto nodes = node_memory(tree.os());
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].free, 1U << 20);
}

TEST(Memory, TheKernelsReserveIsTheSumOfANodesHighWatermarks) {
  TestTree tree;
  tree.put("/proc/zoneinfo",
           "Node 0, zone      DMA\n  pages free     3840\n        boost    0\n        min      8\n        "
           "high     12\n"
           "  pagesets\n    cpu: 0\n              high:  99\n"
           "Node 0, zone   Normal\n        high     100\nNode 10, zone   Normal\n        high     7\n");
  auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(kernel_reserve(tree.os(), 0), 112 * page);
  EXPECT_EQ(kernel_reserve(tree.os(), 10), 7 * page);
  EXPECT_EQ(kernel_reserve(tree.os(), 1), 0U);
}

TEST(Memory, HeadroomIsTheTightestCgroupAbove) {
  TestTree tree;
  tree.put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
  EXPECT_EQ(memory_headroom(tree.os()), std::uint64_t{1} << 30);
  tree.put("/proc/self/cgroup", "0::/a/b\n");
  tree.put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  tree.put("/sys/fs/cgroup/a/b/memory.current", "1\n");
  tree.put("/sys/fs/cgroup/a/memory.max", "1000000\n");
  tree.put("/sys/fs/cgroup/a/memory.current", "700000\n");
  tree.put("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 100000\nactive_file 7\n");
  EXPECT_EQ(memory_headroom(tree.os()), 400000U);
  tree.put("/proc/self/cgroup", "4:cpu,memory:/job\n0::/a/b\n");
  tree.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "500\n");
  tree.put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n");
  EXPECT_EQ(memory_headroom(tree.os()), 0U);
}

TEST(Memory, CachesSkipInstructionsAndKnowUnits) {
  TestTree tree;
  const std::string base = "/sys/devices/system/cpu/cpu3/cache/";
  int index = 0;
  for (auto [type, level, size] : {std::tuple{"Unified", "3", "32M"}, std::tuple{"Instruction", "1", "64K"},
                                   std::tuple{"Data", "1", "48K"}}) {
    std::string dir = base + "index" + std::to_string(index++) + "/";
    tree.put(dir + "type", std::string(type) + "\n");
    tree.put(dir + "level", std::string(level) + "\n");
    tree.put(dir + "size", std::string(size) + "\n");
    tree.put(dir + "shared_cpu_list", "0-3\n");
  }
  auto caches = caches_of(tree.os(), 3);
  ASSERT_EQ(caches.size(), 2U);
  EXPECT_EQ(caches[0].bytes, 48U << 10);
  EXPECT_EQ(caches[1].bytes, 32U << 20);
  EXPECT_EQ(caches[1].shared.count(), 4);
  EXPECT_TRUE(caches_of(tree.os(), 0).empty());
}

TEST(Memory, MapsAndSmapsAreReadForTheRightMapping) {
  TestTree tree;
  tree.put("/proc/self/numa_maps",
           "1000 default anon=1 N7=1\n20000 bind:1 anon=9 dirty=9 active=0 N0=4 N1=5 kernelpagesize_kB=4\n"
           "90000 default file=/lib/N3=4 mapped=1 N0=1\n");
  auto found = placement_from_maps(tree.os(), reinterpret_cast<void*>(0x21000));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->pages, (std::map<int, std::size_t>{{0, 4}, {1, 5}}));
  EXPECT_FALSE(found->all_on(1));
  EXPECT_EQ(found->to_text(), "4 pages on node 0, 5 on node 1");
  tree.put("/proc/self/smaps",
           "20000-40000 rw-p 00000000 00:00 0\nAnonHugePages:      64 kB\n50000-60000 rw-p 0 00:00 0\n"
           "AnonHugePages:      32 kB\n");
  EXPECT_EQ(huge_bytes(tree.os(), reinterpret_cast<void*>(0x20000), 0x20000), 64U << 10);
  EXPECT_EQ(huge_bytes(tree.os(), reinterpret_cast<void*>(0x41000), 0x1000), 0U);
}

TEST(Memory, AllowedNodesComeFromTheCpuset) {
  TestTree tree;
  tree.put("/proc/self/status", "Name:\tx\nMems_allowed:\t5\nMems_allowed_list:\t0,2\nX:\t1\n");
  EXPECT_EQ(allowed_nodes(tree.os()).to_list(), "0,2");
  EXPECT_EQ(memory_headroom(tree.os()), 0U);
}

TEST(Memory, ABoundBufferIsWhereItWasBound) {
  int node = allowed_nodes(Os()).first();
  if (node < 0) node = 0;
  auto buffer = Buffer::map(std::size_t{4} << 20);
  ASSERT_TRUE(buffer.has_value());
  auto bound = buffer->bind(node);
  if (!bound) GTEST_SKIP() << bound.error().message;
  auto before = placement(buffer->data(), buffer->bytes(), 64);
  if (!before) GTEST_SKIP() << before.error().message;
  EXPECT_EQ(before->absent, 64U);
  std::fill_n(buffer->data(), buffer->bytes(), std::byte{1});
  auto after = placement(buffer->data(), buffer->bytes(), 64);
  ASSERT_TRUE(after.has_value());
  EXPECT_TRUE(after->all_on(node)) << after->to_text();
  EXPECT_LE(huge_bytes(Os(), buffer->data(), buffer->bytes()), buffer->bytes());
  auto maps = placement_from_maps(Os(), buffer->data());
  if (maps) { EXPECT_TRUE(maps->all_on(node)) << maps->to_text(); }
}

TEST(Memory, BindingToANodeThatIsNotThereFails) {
  auto buffer = Buffer::map(4096);
  ASSERT_TRUE(buffer.has_value());
  auto bound = buffer->bind(1000);
  ASSERT_FALSE(bound.has_value());
  EXPECT_NE(bound.error().message.find("1000"), std::string::npos);
}

TEST(Threads, TheCrewIsOnItsPusAndAtWorkTogether) {
  std::vector<int> pus = affinity().value().members();
  if (pus.size() > 8) pus.resize(8);
  Crew crew;
  for (int round = 0; round < 20; ++round) {
    StartLine line(pus.size());
    std::atomic<std::size_t> arrived{0};
    std::vector<int> seen(pus.size(), -1), together(pus.size(), 0);
    ASSERT_TRUE(crew.run(pus, [&](std::size_t k) {
      arrived.fetch_add(1);
      line.wait();
      together[k] = arrived.load() == pus.size() ? 1 : 0;
      seen[k] = current_cpu();
    }));
    EXPECT_EQ(seen, pus);
    EXPECT_EQ(std::count(together.begin(), together.end(), 1), static_cast<std::ptrdiff_t>(pus.size()));
  }
}

TEST(Threads, AnImpossiblePuIsAnErrorNotAHang) {
  Crew crew;
  auto done = crew.run({CpuSet::max_cpu}, [](std::size_t) {});
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find(std::to_string(CpuSet::max_cpu)), std::string::npos);
}

TEST(Threads, AnInterruptIsAFlagOnlyWhileWatched) {
  struct sigaction before = {}, after = {};
  ::sigaction(SIGINT, nullptr, &before);
  {
    Interrupt interrupt;
    EXPECT_FALSE(Interrupt::flag().load());
    ::raise(SIGINT);
    EXPECT_TRUE(Interrupt::flag().load());
  }
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace nigh::sys
