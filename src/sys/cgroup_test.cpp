// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Cgroups from recorded trees: where v2 is mounted, whose cgroup it is, and that controls are written in
// place.
#include "sys/cgroup.hpp"

#include <gtest/gtest.h>

#include "sys/test_tree.hpp"

namespace nigh::sys {
namespace {

class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    put("/proc/self/mounts",
        "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n");
    put("/proc/42/cgroup", "3:cpuset:/other\n0::/job/one\n");
    put("/proc/43/cgroup", "0::/\n");
    put("/sys/fs/cgroup/unified/cgroup.procs", "1\n43\n");
    put("/sys/fs/cgroup/unified/job/one/cgroup.procs", "42\n44\n");
    put("/sys/fs/cgroup/unified/job/one/cgroup.freeze", "0\n");
  }
  void put(const std::string& file, const std::string& text) const { tree_.put(file, text); }
  TestTree tree_;
  const std::string& root_ = tree_.root();
};

TEST_F(Cgroups, AreFoundBesideVersionOne) {
  auto group = cgroup_of(Os(root_), 42);
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(group->folder, "/sys/fs/cgroup/unified/job/one");
  EXPECT_EQ(group->members(Os(root_)), (std::vector<int>{42, 44}));
  EXPECT_FALSE(cgroup_of(Os(root_), 43)) << "the root has no controls";
  EXPECT_FALSE(cgroup_of(Os(root_), 45)) << "gone";
}

TEST_F(Cgroups, HoldOnlyTheseOrOthersToo) {
  Os os(root_);
  Cgroup group{"/sys/fs/cgroup/unified/job/one"};
  EXPECT_TRUE(group.holds_only(os, {42, 44, 50}));
  EXPECT_FALSE(group.holds_only(os, {42}));
  put(group.folder + "/below/cgroup.procs", "");
  EXPECT_FALSE(group.holds_only(os, {42, 44})) << "a cgroup below";
}

TEST_F(Cgroups, ControlsAreWrittenInPlace) {
  Os os(root_);
  Cgroup group{"/sys/fs/cgroup/unified/job/one"};
  ASSERT_TRUE(group.set(os, "cgroup.freeze", "1"));
  EXPECT_EQ(group.get(os, "cgroup.freeze"), "1");
  EXPECT_FALSE(group.set(os, "no.such.file", "1"));
  EXPECT_FALSE(os.exists(group.folder + "/no.such.file"));
}

}  // namespace
}  // namespace nigh::sys
