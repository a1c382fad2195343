// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/ps_view.hpp"

#include <gtest/gtest.h>

#include "sys/test_tree.hpp"

namespace nigh::report {
namespace {

// A thread of a made-up /proc.
void put_thread(const sys::TestTree& tree, int pid, int tid, const std::string& name, const std::string& pus,
                int cpu) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
  std::string stat = std::to_string(tid) + " (" + name + ") R 1";
  for (int field = 5; field <= 52; ++field)
    stat += " " + std::to_string(field == 39 ? cpu : field == 22 ? 100 : 0);  // 22: its start
  tree.put(folder + "/stat", stat + "\n");
  tree.put(folder + "/status",
           "Name:\t" + name + "\nCpus_allowed:\tff\nCpus_allowed_list:\t" + pus + "\nMems_allowed:\t1\n");
}

class Ps : public testing::Test {
 protected:
  Ps() {
    tree.put("/sys/devices/system/cpu/online", "0-7\n");
    tree.put("/proc/20/cmdline", std::string("./app\0input", 11));
    put_thread(tree, 20, 20, "app", "3", 3);
    put_thread(tree, 20, 21, "app) R 9 (", "0-7", 5);
    tree.put("/proc/9/cmdline", std::string("sh\0", 3));
    put_thread(tree, 9, 9, "sh", "0-7", 1);
    tree.put("/proc/2/cmdline", "");
    put_thread(tree, 2, 2, "kworker", "0", 0);
    tree.put("/proc/uptime", "1 1\n");
  }
  sys::TestTree tree;
};

TEST_F(Ps, SeesProcessesInOrderButNoKernelThreads) {
  const auto seen = processes(tree.os(), {});
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].pid, 9);
  EXPECT_EQ(seen[1].command, "./app input");
  EXPECT_FALSE(seen[0].is_restricted(online_pus(tree.os())));
  EXPECT_TRUE(seen[1].is_restricted(online_pus(tree.os())));
}

TEST_F(Ps, TellsThreadsApart) {
  const auto seen = processes(tree.os(), {20});
  ASSERT_EQ(seen.size(), 1U);
  ASSERT_EQ(seen[0].threads.size(), 2U);
  EXPECT_EQ(seen[0].bound_threads(), 1);
  EXPECT_EQ(seen[0].pus().to_list(), "0-7");
  EXPECT_EQ(seen[0].threads[0].pus.to_list(), "3");
  EXPECT_EQ(seen[0].threads[1].name, "app) R 9 (");
  EXPECT_EQ(seen[0].threads[1].cpu, 5);
}

TEST_F(Ps, LeavesOutWhatEnded) {
  tree.put("/proc/30/cmdline", "gone");
  tree.put("/proc/31/cmdline", "half");
  tree.put("/proc/31/task/31/status", "Name:\thalf\n");
  EXPECT_EQ(processes(tree.os(), {}).size(), 2U);
  EXPECT_TRUE(processes(tree.os(), {30, 31, 99}).empty());
}

TEST_F(Ps, NamesAKernelThreadThatIsAskedFor) {
  const auto seen = processes(tree.os(), {2});
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].command, "[kworker]");
}

TEST_F(Ps, SaysWhereMemoryLies) {
  EXPECT_FALSE(memory_of(tree.os(), 20));
  tree.put("/proc/20/smaps_rollup",
           "55d0-7ffc ---p 00000000 00:00 0 [rollup]\nRss:              8192 kB\nPss:              1 kB\n"
           "AnonHugePages:      2048 kB\nShmemPmdMapped:     4096 kB\nFilePmdMapped:        0 kB\n"
           "Shared_Hugetlb:        0 kB\nPrivate_Hugetlb:    2048 kB\n");
  const auto alone = memory_of(tree.os(), 20);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->resident_mib, 10);
  EXPECT_EQ(alone->huge_mib, 8);
  EXPECT_TRUE(alone->by_node.empty());
  tree.put("/proc/20/numa_maps",
           "1000 default anon=1 N0=256 N7=512 kernelpagesize_kB=4\n"
           "20000 bind:1 huge anon=1 N7=1 kernelpagesize_kB=2048\n");
  EXPECT_EQ(memory_of(tree.os(), 20)->by_node, (std::map<int, double>{{0, 1.0}, {7, 4.0}}));
}

}  // namespace
}  // namespace nigh::report
