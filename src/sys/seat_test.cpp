// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Seats on a made-up machine: two sockets with two caches of two CPUs each, a NUMA node each socket, and
// CPU numbers above 64 on the second.
#include "sys/seat.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sys/test_tree.hpp"

namespace nigh::sys {
namespace {

class Seat : public testing::Test {
 protected:
  Seat() {
    write("/sys/devices/system/node/online", "0,2");
    write("/sys/devices/system/node/node0/cpulist", "0-3");
    write("/sys/devices/system/node/node2/cpulist", "70-73");
    for (const int cpu : {0, 1, 2, 3, 70, 71, 72, 73}) {
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
      const int first = cpu - cpu % 2;
      write(folder + "/cache/index0/level", "1");
      write(folder + "/cache/index0/shared_cpu_list", std::to_string(cpu));
      write(folder + "/cache/index1/level", "3");
      write(folder + "/cache/index1/shared_cpu_list",
            std::to_string(first) + "-" + std::to_string(first + 1));
      // Older kernels have the second name only.
      write(folder + (cpu < 4 ? "/topology/package_cpus_list" : "/topology/core_siblings_list"),
            cpu < 4 ? "0-3" : "70-73");
    }
  }
  void write(const std::string& path, const std::string& text) const { tree_.put(path, text + "\n"); }
  // "cache node socket"
  [[nodiscard]] std::string of(const std::vector<int>& cpus) const {
    std::uint64_t words[2] = {};
    for (const int cpu : cpus) words[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    const CpuSeat seat = seat_of(words, 2, root_.c_str());
    return std::to_string(seat.cache) + " " + std::to_string(seat.node) + " " + std::to_string(seat.socket);
  }
  TestTree tree_;
  const std::string& root_ = tree_.root();
};

TEST_F(Seat, OfOneCpu) {
  EXPECT_EQ(of({0}), "0 0 0");
  EXPECT_EQ(of({3}), "2 0 0");
  EXPECT_EQ(of({71}), "70 70 70");
}

TEST_F(Seat, WhoSitsAcrossHasNone) {
  EXPECT_EQ(of({2, 3}), "2 0 0");
  EXPECT_EQ(of({1, 2}), "-1 0 0");
  EXPECT_EQ(of({0, 1, 2, 3}), "-1 0 0");
  EXPECT_EQ(of({3, 70}), "-1 -1 -1");
  EXPECT_EQ(of({}), "-1 -1 -1");
}

TEST_F(Seat, WhatTheKernelDoesNotTellIsUnknown) {
  EXPECT_EQ(of({9}), "-1 -1 -1");
  std::filesystem::remove_all(root_ + "/sys/devices/system/node");
  EXPECT_EQ(of({1}), "0 -1 0");
  std::filesystem::remove_all(root_ + "/sys/devices/system/cpu/cpu1/cache");
  EXPECT_EQ(of({1}), "-1 -1 0");
}

}  // namespace
}  // namespace nigh::sys
