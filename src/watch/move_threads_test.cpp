// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Binding live processes: all threads, those born meanwhile, a storm of forks, a refusal; and undo.
#include "watch/move_threads.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "sys/run_folder.hpp"
#include "sys/test_tree.hpp"
#include "sys/threads.hpp"

namespace nigh::watch {
namespace {

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = sys::private_folder(root_ + "/nigh/watch").value_or("");
    all_ = sys::affinity().value_or(CpuSet{});
    if (all_.count() < 2) GTEST_SKIP() << "one PU: a mask can't be another";
    first_ = CpuSet{all_.first()};
  }
  void TearDown() override {
    if (child_ > 0) ::kill(-child_, SIGKILL), ::waitpid(child_, nullptr, 0);
  }
  // A process in a group of its own.
  template <class Body>
  sys::ProcessId child(Body body) {
    child_ = ::fork();
    if (child_ == 0) {
      ::setpgid(0, 0);
      body();
      ::_exit(0);
    }
    ::setpgid(child_, child_);
    return sys::process_id(sys::Os(), child_).value_or(sys::ProcessId{});
  }
  void wait_for_threads(std::size_t count) const {
    for (int i = 0; i < 500 && sys::threads_of(sys::Os(), child_).size() < count; ++i) ::usleep(2000);
  }
  [[nodiscard]] int with_mask(const CpuSet& mask) const {
    int count = 0;
    for (int tid : sys::threads_of(sys::Os(), child_))
      count += sys::affinity(tid).value_or(CpuSet{}) == mask ? 1 : 0;
    return count;
  }
  sys::TestTree tree_;
  const std::string& root_ = tree_.root();
  std::string folder_;
  CpuSet all_, first_;
  int child_ = -1;
};

TEST_F(Threads, AllAreBoundAndAllGoBack) {
  auto id = child([] {
    for (int i = 0; i < 7; ++i) std::thread([] { ::pause(); }).detach();
    ::pause();
  });
  wait_for_threads(8);
  auto journal = Journal::open(folder_, id);
  auto report = bind_threads(sys::Os(), {id}, first_, *journal);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->bound, 8);
  EXPECT_TRUE(report->complete);
  EXPECT_EQ(with_mask(first_), 8);
  auto again = bind_threads(sys::Os(), {id}, first_, *journal);
  EXPECT_EQ(again->bound, 0);
  EXPECT_EQ(again->already, 8);
  EXPECT_EQ(undo_all(sys::Os(), folder_).restored, 8);
  EXPECT_EQ(with_mask(all_), 8);
}

TEST_F(Threads, ThoseBornBoundGoBackToo) {
  auto id = child([] {
    for (;;) {
      if (sys::affinity().value_or(CpuSet{}).count() == 1) break;
      ::usleep(1000);
    }
    for (int i = 0; i < 3; ++i) std::thread([] { ::pause(); }).detach();
    ::pause();
  });
  auto journal = Journal::open(folder_, id);
  ASSERT_TRUE(bind_threads(sys::Os(), {id}, first_, *journal));
  wait_for_threads(4);
  EXPECT_EQ(with_mask(first_), 4);
  EXPECT_EQ(undo_all(sys::Os(), folder_).restored, 4);
  EXPECT_EQ(with_mask(all_), 4);
}

TEST_F(Threads, AForkStormEnds) {
  auto id = child([] {
    for (;;) {  // threads and processes, each for a moment
      std::thread([] { ::usleep(300); }).detach();
      int pid = ::fork();
      if (pid == 0) ::usleep(1000), ::_exit(0);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
      ::usleep(200);
    }
  });
  ::usleep(50000);
  auto journal = Journal::open(folder_, id);
  BindOptions options;
  options.most_seconds = 1;
  double since = sys::now_seconds();
  auto report = bind_threads(sys::Os(), {id}, first_, *journal, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_LT(sys::now_seconds() - since, 1.5);
  EXPECT_GE(report->bound, 1);
  ::usleep(20000);  // what was unbound has ended; all that is there was born of the bound one
  for (int tid : sys::threads_of(sys::Os(), child_)) {
    auto mask = sys::affinity(tid);
    EXPECT_TRUE(!mask || *mask == first_) << mask->to_list();
  }
  ASSERT_EQ(::kill(child_, 0), 0);
}

TEST_F(Threads, RefusalsAreCounted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  auto id = child([] { ::pause(); });
  std::filesystem::permissions(root_, std::filesystem::perms::all);
  std::string folder = root_ + "/theirs/watch";
  int other = ::fork();
  if (other == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    auto own = sys::private_folder(folder);
    auto journal = Journal::open(own.value_or(""), id);
    auto report = bind_threads(sys::Os(), {id}, first_, *journal);
    ::_exit(own && report && report->refused == 1 && report->bound == 0 && !report->refusal.empty() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(with_mask(all_), 1);
}

TEST_F(Threads, WithoutAJournalNothingIsChanged) {
  auto id = child([] { ::pause(); });
  auto journal = Journal::open(folder_, id);
  std::filesystem::remove_all(root_);
  EXPECT_FALSE(bind_threads(sys::Os(), {id}, first_, *journal));
  EXPECT_EQ(with_mask(all_), 1);
  EXPECT_FALSE(bind_threads(sys::Os(), {id}, CpuSet{}, *journal)) << "no PUs";
}

}  // namespace
}  // namespace nigh::watch
