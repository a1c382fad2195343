// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The door to the OS: the injected root is honoured, files are replaced whole, masks are real ones.
#include "sys/os.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "sys/test_tree.hpp"

namespace nigh::sys {
namespace {

TEST(Os, ReadsBelowItsRootOnly) {
  TestTree folder;
  folder.put("/sys/devices/system/node/node1/distance", "20 10\nrest\n");
  Os os = folder.os();
  EXPECT_EQ(os.read_line("/sys/devices/system/node/node1/distance").value(), "20 10");
  EXPECT_EQ(os.list("/sys/devices/system/node"), std::vector<std::string>{"node1"});
  EXPECT_TRUE(os.list("/sys/devices/system/cpu").empty());
  EXPECT_FALSE(os.exists("/proc/self"));
  auto missing = os.read("/proc/self/status");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::io);
  EXPECT_NE(missing.error().message.find(folder.root()), std::string::npos);
}

TEST(Os, WritingLeavesNoTemporaryBehind) {
  TestTree folder;
  ASSERT_TRUE(write_file(folder.root() + "/a", "one"));
  ASSERT_TRUE(write_file(folder.root() + "/a", "two"));
  EXPECT_EQ(read_file(folder.root() + "/a").value(), "two");
  EXPECT_FALSE(write_file(folder.root() + "/no/such/folder/a", "x"));
  EXPECT_EQ(Os(folder.root()).list("/"), std::vector<std::string>{"a"});
}

TEST(Os, AffinityIsReadAndSet) {
  auto all = affinity();
  ASSERT_TRUE(all.has_value());
  ASSERT_FALSE(all->empty());
  std::thread([&] {
    CpuSet one{all->first()};
    ASSERT_TRUE(set_affinity(one));
    EXPECT_EQ(affinity().value(), one);
    EXPECT_EQ(current_cpu(), all->first());
  }).join();
  EXPECT_EQ(affinity().value(), *all);
  EXPECT_FALSE(set_affinity(CpuSet{}));
}

}  // namespace
}  // namespace nigh::sys
