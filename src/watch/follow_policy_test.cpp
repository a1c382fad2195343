// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The processes whose cpuset follows their memory, from recorded trees: those alone in a cgroup with room,
// and nobody else; and memory comes back when room runs out.
#include "watch/follow_policy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/run_folder.hpp"
#include "sys/test_tree.hpp"

namespace nigh::watch {
namespace {

class FollowPolicy : public testing::Test {
 protected:
  void SetUp() override {
    journals_ = sys::private_folder(tree_.root() + "/nigh/watch").value_or("");
    tree_.put("/proc/self/mounts", "none /cg cgroup2 rw 0 0\n").put("/proc/self/cgroup", "0::/\n");
    tree_.put("/cg/cpuset.mems.effective", "0-3\n").put("/sys/devices/system/node/online", "0-3\n");
    for (int node = 0; node < 4; ++node) free_megabytes(node, 900);
    process(42, "/job");
    process(43, "/job");
    tree_.put("/cg/job/cgroup.procs", "42\n43\n").put("/cg/job/cpuset.mems", "\n");
  }
  void process(int pid, const std::string& group) {
    tree_.put(fmt::format("/proc/{}/cgroup", pid), "0::" + group + "\n");
  }
  void free_megabytes(int node, int megabytes) {
    tree_.put(fmt::format("/sys/devices/system/node/node{}/meminfo", node),
              fmt::format("Node {0} MemTotal: 1000000 kB\nNode {0} MemFree: {1}000 kB\n", node, megabytes));
  }
  [[nodiscard]] std::string mems() const { return tree_.os().read_line("/cg/job/cpuset.mems").value_or(""); }
  [[nodiscard]] std::vector<Event> follow(PolicyFollower& follower,
                                          std::vector<ProcessFacts> processes) const {
    return follower.follow(processes, {{43, {1}}});
  }
  sys::TestTree tree_;
  std::string journals_;
  std::vector<ProcessFacts> both_ = {{42, 7, "app", 1, 100}, {43, 8, "helper", 1, 50}};
};

TEST_F(FollowPolicy, ToTheNodesOfAllInTheCgroupAndBack) {
  PolicyFollower follower(tree_.os(), journals_);
  EXPECT_TRUE(follow(follower, both_).empty()) << "nobody was left behind";
  follower.left_behind(42, {3});
  auto events = follow(follower, both_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].sentence.find("follow to nodes 1,3"), std::string::npos) << events[0].sentence;
  EXPECT_EQ(mems(), "1,3");
  EXPECT_TRUE(follow(follower, both_).empty()) << "once";
  EXPECT_TRUE(follower.relieve().empty());
  free_megabytes(1, 20);
  free_megabytes(3, 20);
  events = follower.relieve();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].sentence.find("all nodes may be used again"), std::string::npos) << events[0].sentence;
  EXPECT_EQ(mems(), "0-3");
  EXPECT_TRUE(follower.relieve().empty());
}

TEST_F(FollowPolicy, OthersAreNotConfined) {
  PolicyFollower follower(tree_.os(), journals_);
  follower.left_behind(42, {3});
  const auto events = follow(follower, {both_[0]});  // 43 is nobody that we watch
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].sentence.find("other processes"), std::string::npos) << events[0].sentence;
  EXPECT_EQ(mems(), "");
}

TEST_F(FollowPolicy, NobodyIsConfinedToNodesWithoutRoom) {
  free_megabytes(1, 100);
  free_megabytes(3, 40);
  PolicyFollower follower(tree_.os(), journals_);
  follower.left_behind(42, {3});
  const auto events = follow(follower, both_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].sentence.find("too little"), std::string::npos) << events[0].sentence;
  EXPECT_EQ(mems(), "");
}

TEST_F(FollowPolicy, InTheRootItIsSaid) {
  process(42, "/");
  PolicyFollower follower(tree_.os(), journals_);
  follower.left_behind(42, {3});
  const auto events = follow(follower, both_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].sentence.find("cgroup of its own"), std::string::npos) << events[0].sentence;
}

}  // namespace
}  // namespace nigh::watch
