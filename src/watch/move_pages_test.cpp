// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The page mover, as far as one node shows it: the mappings it takes (recorded), its count of failures, the
// size of its calls. Real moves are tests/vm/watch.
#include "watch/move_pages.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "sys/memory.hpp"
#include "sys/pages.hpp"
#include "sys/test_tree.hpp"
#include "watch/call_size.hpp"
#include "watch/move_cost.hpp"
#include "watch/page_calls.hpp"

namespace nigh::watch {
namespace {

std::uint64_t failed_by(const MoveReport& report, Cause cause) {
  return report.failed[static_cast<std::size_t>(cause)];
}

TEST(MovePages, TakesTheProcesssOwnMemoryOnSourceNodes) {
  sys::TestTree tree;
  tree.put("/proc/42/maps",
           "00400000-00500000 r-xp 00000000 08:01 5 /bin/app\n"
           "00600000-00700000 rw-p 00000000 08:01 5 /bin/app\n"
           "01000000-01100000 rw-p 00000000 00:00 0 [heap]\n"
           "02000000-02100000 rw-p 00000000 00:00 0 \n"
           "03000000-03800000 rw-s 00000000 00:0f 7 /dev/hugepages/x\n"
           "04000000-04001000 r-xp 00000000 00:00 0 [vdso]\n");
  tree.put("/proc/42/numa_maps",
           "00400000 default file=/bin/app mapped=256 N0=256 kernelpagesize_kB=4\n"
           "00600000 default file=/bin/app anon=3 N0=3 kernelpagesize_kB=4\n"
           "01000000 default heap anon=10 N1=10 kernelpagesize_kB=4\n"
           "02000000 bind:0 anon=8 N0=4 N1=4 kernelpagesize_kB=4\n"
           "03000000 default huge N0=4 kernelpagesize_kB=2048\n"
           "04000000 default N0=1 kernelpagesize_kB=4\n");
  auto found = candidates(tree.os(), {{42, 1}, {{0, 3}}, -1, {}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->parts.size(), 3U);
  EXPECT_EQ(found->parts[0].range.first, 0x600000U);
  EXPECT_EQ(found->parts[1].range.first, 0x2000000U);
  EXPECT_EQ(found->parts[2].page_bytes, std::uint64_t{2} << 20);
  EXPECT_EQ(found->bytes_to.at(3), 3 * 4096U + 4 * 4096U + 4 * (std::uint64_t{2} << 20));
  EXPECT_EQ(found->other_policy, 1U);
  EXPECT_EQ(found->parts[0].only_node, 0);
  EXPECT_EQ(found->parts[1].only_node, -1);
  auto part = candidates(tree.os(), {{42, 1}, {}, 3, {{0x2010000, 0x2020000}}});
  ASSERT_TRUE(part);
  ASSERT_EQ(part->parts.size(), 1U);
  EXPECT_EQ(part->parts[0].range.last, 0x2020000U);
}

TEST(MovePages, ATargetIsNeverTheSource) {
  PagePlan plan{{42, 1}, {{0, 3}, {1, 1}}, -1, {}};
  EXPECT_EQ(plan.target_of(0), 3);
  EXPECT_EQ(plan.target_of(1), -1);
  EXPECT_EQ(plan.target_of(2), -1);
  plan.everything_to = 2;
  EXPECT_EQ(plan.target_of(0), 2);
  EXPECT_EQ(plan.target_of(2), -1);
}

class OwnPages : public testing::Test {
 protected:
  void SetUp() override {
    data_ = static_cast<char*>(
        ::mmap(nullptr, 64 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(data_, MAP_FAILED);
    for (std::size_t i = 0; i < 64; ++i) pages_.push_back(reinterpret_cast<std::uint64_t>(data_) + i * page_);
    for (std::size_t i = 0; i < 64; i += 2) data_[i * page_] = 1;
    std::vector<int> status(64);
    if (auto asked = sys::query_pages(0, pages_, status); !asked) GTEST_SKIP() << asked.error().message;
    node_ = status[0];
  }
  void TearDown() override { ::munmap(data_, 64 * page_); }
  std::size_t page_ = sys::page_bytes();
  char* data_ = nullptr;
  std::vector<std::uint64_t> pages_;
  int node_ = 0;
};

TEST_F(OwnPages, EachIsCountedOnceByItsCause) {
  MoveReport report;
  EXPECT_TRUE(move_slice({0, node_, page_, false}, pages_, report));
  EXPECT_EQ(report.moved, 32U);
  EXPECT_EQ(failed_by(report, Cause::absent), 32U);
  EXPECT_TRUE(report.adds_up());
}

TEST_F(OwnPages, ANodeThatIsNotThereTakesNothing) {
  MoveReport report;
  EXPECT_FALSE(move_slice({0, 900, page_, false}, pages_, report));
  EXPECT_EQ(failed_by(report, Cause::no_node), 64U);
  EXPECT_TRUE(report.adds_up());
  EXPECT_NE(report.sentence().find("64 target not usable"), std::string::npos) << report.sentence();
}

TEST_F(OwnPages, AProcessThatEndedIsToldSo) {
  int child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // a zombie: no memory any more
  for (bool zombie : {true, false}) {
    if (!zombie) ::waitpid(child, nullptr, 0);
    MoveReport report;
    EXPECT_FALSE(move_slice({child, node_, page_, false}, pages_, report));
    EXPECT_EQ(failed_by(report, Cause::gone), 64U) << zombie;
    EXPECT_FALSE(move_pages(sys::Os(), {{child, 1}, {}, 0, {}})) << zombie;
  }
}

TEST_F(OwnPages, WithoutTheRightNothingMoves) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  auto self = sys::process_id(sys::Os(), ::getpid());
  int other = ::fork();
  if (other == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    MoveReport report;
    bool good = move_slice({self->pid, node_, page_, false}, pages_, report);
    auto moved = move_pages(sys::Os(), {*self, {}, node_ + 1, {}});
    bool refused = !moved && moved.error().code == Errc::permission;
    ::_exit(!good && failed_by(report, Cause::permission) == 64 && refused ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(OwnPages, WhatIsThereAlreadyIsNotAskedFor) {
  auto report =
      move_pages(sys::Os(), {*sys::process_id(sys::Os(), ::getpid()), {}, node_, {{pages_[0], pages_[63]}}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->asked, 0U);
  EXPECT_EQ(report->calls, 0);
}

TEST(MovePages, CostNeedsTwoNodes) {
  auto cost = calibrate(sys::Os(), std::uint64_t{2} << 20);
  if (sys::node_memory(sys::Os()).size() < 2) {
    ASSERT_FALSE(cost);
    EXPECT_EQ(cost.error().code, Errc::unsupported);
  } else if (cost) {
    EXPECT_GT(cost->seconds_for(1 << 30, false), 0);
  }
}

// Calls that cost a + b * pages, with noise.
double settled(double a, double b, double aim, std::mt19937& random) {
  CallSize size(aim);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  for (int i = 0; i < 60; ++i)
    size.took(size.pages(1), (a + b * static_cast<double>(size.pages(1))) * noise(random));
  return static_cast<double>(size.pages(1));
}

TEST(CallSize, AimsAtTheTimeWherePagesAreTheCost) {
  std::mt19937 random(4);
  for (double b : {2e-6, 1e-5, 5e-5}) EXPECT_NEAR(settled(1e-4, b, 0.02, random) * b / 0.02, 1, 0.5) << b;
}

TEST(CallSize, StaysEfficientWhereTheFixedPartIsLarge) {
  std::mt19937 random(5);
  // 50 ms before the first page: calls of 20 ms can't be, so seven times as much for pages.
  EXPECT_GE(settled(0.05, 2e-5, 0.02, random), 8000);
}

TEST(CallSize, AHugePageIsManyPages) {
  CallSize size(0.02);
  EXPECT_EQ(size.pages(512), 2U);
  size.took(1024, 1e-4);
  EXPECT_EQ(size.pages(512), 8U);
  for (int i = 0; i < 20; ++i) size.took(512, 1);
  EXPECT_EQ(size.pages(512), 1U) << "never none";
}

}  // namespace
}  // namespace nigh::watch
