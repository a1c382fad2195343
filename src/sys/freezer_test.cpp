// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The freezer on live children: they stand while frozen and go on afterwards, whoever is killed meanwhile.
#include "sys/freezer.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "sys/cgroup.hpp"
#include "sys/test_tree.hpp"
#include "sys/threads.hpp"

namespace nigh::sys {
namespace {

// A process that counts, and ends with us.
class Counter {
 public:
  Counter() {
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    count_ = new (at) std::atomic<long>(0);
    pid_ = ::fork();
    if (pid_ == 0)
      for (int left = 20000; left > 0; --left) ++*count_, ::usleep(1000);
    if (pid_ == 0) ::_exit(0);
  }
  ~Counter() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(count_, 4096);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] ProcessId id() const { return process_id(Os(), pid_).value_or(ProcessId{}); }
  [[nodiscard]] bool counts(double seconds = 3) const {
    long before = *count_;
    for (double since = now_seconds(); now_seconds() - since < seconds; ::usleep(2000))
      if (*count_ > before + 1) return true;
    return false;
  }

 private:
  std::atomic<long>* count_ = nullptr;
  int pid_ = -1;
};

TEST(Freezer, StopsAndLetsGoOn) {
  Counter app;
  auto freezer = Freezer::start();
  ASSERT_TRUE(freezer);
  ASSERT_TRUE(app.counts());
  auto frozen = freezer->freeze(Os(), {app.id()}, 10);
  ASSERT_TRUE(frozen) << frozen.error().message;
  EXPECT_EQ(frozen->stopped, 1);
  EXPECT_TRUE(frozen->settled);
  EXPECT_FALSE(app.counts(0.1));
  EXPECT_FALSE(freezer->freeze(Os(), {app.id()}, 10)) << "twice";
  auto thawed = freezer->thaw();
  ASSERT_TRUE(thawed);
  EXPECT_FALSE(thawed->expired);
  EXPECT_GE(thawed->seconds, 0.09);
  EXPECT_TRUE(app.counts());
}

TEST(Freezer, ThawsWhenTheLimitIsOver) {
  Counter app;
  auto freezer = Freezer::start();
  ASSERT_TRUE(freezer->freeze(Os(), {app.id()}, 0.2));
  EXPECT_TRUE(app.counts());
  auto thawed = freezer->thaw();
  ASSERT_TRUE(thawed);
  EXPECT_TRUE(thawed->expired);
  EXPECT_NEAR(thawed->seconds, 0.2, 0.15);
}

TEST(Freezer, ThawsWhenItsOwnerIsKilled) {
  Counter app;
  int owner = ::fork();
  if (owner == 0) {
    auto freezer = Freezer::start();
    (void)freezer->freeze(Os(), {app.id()}, 30);
    ::pause();
  }
  for (double since = now_seconds(); app.counts(0.05) && now_seconds() - since < 3;) {}
  EXPECT_FALSE(app.counts(0.05)) << "it was never frozen";
  ::kill(owner, SIGKILL);
  EXPECT_TRUE(app.counts(5));
  ::waitpid(owner, nullptr, 0);
}

TEST(Freezer, DoesTheWorkOfAKilledSupervisor) {
  Counter app;
  auto freezer = Freezer::start();
  ASSERT_TRUE(freezer->freeze(Os(), {app.id()}, 30));
  ::kill(freezer->supervisor(), SIGKILL);
  EXPECT_FALSE(freezer->thaw());
  EXPECT_TRUE(app.counts());
  EXPECT_FALSE(freezer->freeze(Os(), {app.id()}, 30)) << "without a supervisor nothing is frozen";
  EXPECT_TRUE(app.counts());
}

TEST(Freezer, TheSupervisorOutlivesInterrupts) {
  Counter app;
  auto freezer = Freezer::start();
  ASSERT_TRUE(freezer->freeze(Os(), {app.id()}, 30));
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::kill(freezer->supervisor(), signal);
  auto thawed = freezer->thaw();
  EXPECT_TRUE(thawed) << thawed.error().message;
  EXPECT_TRUE(app.counts());
}

TEST(Freezer, WhatWasStoppedStaysStopped) {
  Counter app;
  ::kill(app.pid(), SIGSTOP);
  ::waitpid(app.pid(), nullptr, WUNTRACED);
  auto freezer = Freezer::start();
  EXPECT_FALSE(freezer->freeze(Os(), {app.id()}, 1));
  Counter other;
  auto frozen = freezer->freeze(Os(), {app.id(), other.id()}, 1);
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->stopped, 1);
  EXPECT_EQ(frozen->skipped, 1);
  ASSERT_TRUE(freezer->thaw());
  EXPECT_TRUE(other.counts());
  EXPECT_FALSE(app.counts(0.1));
}

TEST(Freezer, AProcessMayEndWhileFrozen) {
  Counter app;
  auto freezer = Freezer::start();
  ASSERT_TRUE(freezer->freeze(Os(), {app.id()}, 10));
  ::kill(app.pid(), SIGKILL);
  EXPECT_TRUE(freezer->thaw());
  EXPECT_FALSE(freezer->freeze(Os(), {{app.pid(), 1}}, 10)) << "another process with this number";
}

TEST(Freezer, PermissionIsRefusedWithoutHarm) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  Counter app;
  ProcessId id = app.id();
  int other = ::fork();
  if (other == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    auto freezer = Freezer::start();
    auto frozen = freezer ? freezer->freeze(Os(), {id}, 1) : Result<Frozen>(Frozen{});
    ::_exit(!frozen && frozen.error().code == Errc::permission ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(app.counts());
}

TEST(Freezer, UsesTheCgroupOfJustThese) {
  TestTree tree;
  Counter app;
  std::string pid = std::to_string(app.pid());
  tree.put("/proc/self/mounts", "none /cg cgroup2 rw 0 0\n");
  tree.put("/proc/" + pid + "/cgroup", "0::/job\n");
  tree.put("/proc/" + pid + "/stat", Os().read("/proc/" + pid + "/stat").value_or(""));
  tree.put("/cg/job/cgroup.procs", pid + "\n");
  tree.put("/cg/job/cgroup.freeze", "0\n");
  tree.put("/cg/job/cgroup.events", "populated 1\nfrozen 1\n");
  Os os = tree.os();
  auto freezer = Freezer::start();
  auto frozen = freezer->freeze(os, {app.id()}, 10);
  ASSERT_TRUE(frozen) << frozen.error().message;
  EXPECT_EQ(frozen->by, FreezeBy::cgroup);
  EXPECT_TRUE(frozen->settled);
  EXPECT_EQ(os.read_line("/cg/job/cgroup.freeze").value_or(""), "1");
  EXPECT_TRUE(app.counts()) << "no signal was sent";
  ASSERT_TRUE(freezer->thaw());
  EXPECT_EQ(os.read_line("/cg/job/cgroup.freeze").value_or(""), "0");
  tree.put("/cg/job/cgroup.freeze", "1\n");  // frozen by somebody else: not by us, not thawed by us
  EXPECT_EQ(Freezer::group_file(os, {app.id()}), "");
}

}  // namespace
}  // namespace nigh::sys
