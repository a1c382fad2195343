// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Cgroups from recorded trees: where v2 is mounted, whose cgroup it is, and that controls are written in
// place.
#include "sys/cgroup.hpp"

#include <gtest/gtest.h>

#include "sys/own_cgroup.hpp"
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

// Made below ours where that is the root, with the cpuset asked for; what dead ones left is swept away.
TEST_F(Cgroups, AreMadeInTheRoot) {
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/unified/cgroup.subtree_control", "\n");
  const std::string root = root_ + "/sys/fs/cgroup/unified/";
  std::filesystem::create_directories(root + "nigh-watch-999999999");
  {
    auto own = OwnCgroup::make(Os(root_));
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_EQ(own->group().folder, "/sys/fs/cgroup/unified/nigh-watch-" + std::to_string(::getpid()));
    EXPECT_TRUE(std::filesystem::is_directory(root_ + own->group().folder));
    EXPECT_EQ(own->procs_file(), root_ + own->group().folder + "/cgroup.procs");
    EXPECT_FALSE(std::filesystem::exists(root + "nigh-watch-999999999"));
    EXPECT_EQ(Os(root_).read_line("/sys/fs/cgroup/unified/cgroup.subtree_control").value_or(""), "+cpuset");
  }
  for (const auto& entry : std::filesystem::directory_iterator(root))
    EXPECT_EQ(entry.path().filename().string().rfind("nigh", 0), std::string::npos) << entry.path();
}

TEST_F(Cgroups, AreMadeOnlyWhereThatIsOurs) {
  put("/proc/self/cgroup", "0::/job/one\n");
  auto own = OwnCgroup::make(Os(root_));
  if (::geteuid() == 0) {  // root's writes would succeed, but the cgroup is systemd's
    ASSERT_FALSE(own);
    EXPECT_NE(own.error().message.find("not delegated"), std::string::npos) << own.error().message;
  } else {
    EXPECT_TRUE(own);  // the folder is ours
  }
  put("/proc/self/mounts", "none /proc proc rw 0 0\n");
  EXPECT_FALSE(OwnCgroup::make(Os(root_))) << "no cgroup v2";
}

}  // namespace
}  // namespace nigh::sys
