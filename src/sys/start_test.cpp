// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that are started: how they end is told as a shell tells it, and one that can't be started leaves
// nothing behind, neither a process nor a descriptor.
#include "sys/start.hpp"

#include "sys/line_log.hpp"
#include "sys/os.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "sys/os.hpp"
#include "sys/threads.hpp"

namespace nigh::sys {
namespace {

class Start : public testing::Test {
 protected:
  Start() : files_(open_files()) {}
  // Every test: no child and no descriptor is left.
  ~Start() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_files(), files_);
  }
  static std::vector<std::string> open_files() {
    std::vector<std::string> out;
    for (const std::string& name : Os().list("/proc/self/fd"))
      if (std::filesystem::exists("/proc/self/fd/" + name)) out.push_back(name);  // not the listing's own
    return out;
  }
  // Its end, or -1 after ten seconds.
  static int end_of(int pid) {
    const double since = now_seconds();
    while (now_seconds() < since + 10) {
      if (auto status = ended(pid)) return *status;
      sleep_seconds(0.005);
    }
    return -1;
  }
  static int run(const std::string& script, const std::optional<CpuSet>& nodes = std::nullopt) {
    auto pid = start_program({"sh", "-c", script}, nodes);
    if (!pid) ADD_FAILURE() << pid.error().message;
    return pid ? end_of(*pid) : -1;
  }
  std::vector<std::string> files_;
};

TEST_F(Start, EndsAreToldAsAShellTellsThem) {
  EXPECT_EQ(run("exit 0"), 0);
  EXPECT_EQ(run("exit 42"), 42);
  EXPECT_EQ(run("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(run("kill -KILL $$"), 128 + SIGKILL);
}

TEST_F(Start, RunsUntilItIsEnded) {
  auto pid = start_program({"sleep", "30"}, std::nullopt);
  ASSERT_TRUE(pid) << pid.error().message;
  EXPECT_FALSE(ended(*pid));
  send_signal(*pid, SIGINT);
  EXPECT_EQ(end_of(*pid), 128 + SIGINT);
  EXPECT_EQ(ended(*pid), 127) << "told before";
}

TEST_F(Start, NoSuchProgram) {
  for (const std::string name : {"/no/such/program", "no-such-program-anywhere"}) {
    auto pid = start_program({name, "argument"}, std::nullopt);
    ASSERT_FALSE(pid);
    EXPECT_EQ(pid.error().code, Errc::invalid);
    EXPECT_EQ(pid.error().sys_errno, ENOENT);
    EXPECT_EQ(pid.error().message, name + ": can't execute it: No such file or directory");
  }
  for (const std::vector<std::string>& none : {std::vector<std::string>{}, std::vector<std::string>{""}}) {
    auto pid = start_program(none, std::nullopt);
    ASSERT_FALSE(pid);
    EXPECT_EQ(pid.error().code, Errc::invalid);
    EXPECT_EQ(pid.error().message, "no program is named: there is nothing to start");
  }
}

TEST_F(Start, NotExecutable) {
  const std::string path = testing::TempDir() + "nigh-start-" + std::to_string(::getpid());
  std::ofstream(path) << "#!/bin/sh\nexit 0\n";
  for (const std::string& what : {path, testing::TempDir()}) {
    auto pid = start_program({what}, std::nullopt);
    ASSERT_FALSE(pid);
    EXPECT_EQ(pid.error().code, Errc::permission);
    EXPECT_EQ(pid.error().message, what + ": can't execute it: Permission denied");
  }
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  auto pid = start_program({path}, std::nullopt);
  EXPECT_TRUE(pid && end_of(*pid) == 0);
  std::filesystem::remove(path);
}

// All its open files come from the process that started us.
TEST_F(Start, InheritsNothingOfOurs) {
  const std::string path = testing::TempDir() + "nigh-start-files-" + std::to_string(::getpid());
  ASSERT_EQ(run("ls /proc/$$/fd > " + path), 0);
  std::ifstream list(path);
  int seen = 0;
  for (int fd = 0; list >> fd; ++seen)
    EXPECT_TRUE(fd >= 10 || std::count(files_.begin(), files_.end(), std::to_string(fd)) == 1) << fd;
  EXPECT_GE(seen, 1);
  std::filesystem::remove(path);
}

CpuSet nodes_of(std::initializer_list<int> members) {
  CpuSet out;
  for (const int node : members) out.set(node);
  return out;
}

TEST_F(Start, AMemoryPolicyOnNodesThatAreNotThereIsRefused) {
  for (const CpuSet& nodes : {nodes_of({}), nodes_of({1000}), nodes_of({5000})}) {
    auto done = measure_only_policy(nodes);
    ASSERT_FALSE(done);
    if (done.error().code == Errc::permission || done.error().sys_errno == ENOSYS)
      GTEST_SKIP() << done.error().message;
    EXPECT_EQ(done.error().code, Errc::invalid) << done.error().message;
    EXPECT_EQ(done.error().message,
              "none of the nodes \"" + nodes.to_list() +
                  "\" has memory that may be used here; see Mems_allowed_list in /proc/self/status");
    auto pid = start_program({"sh", "-c", "exit 0"}, nodes);
    ASSERT_FALSE(pid);
    EXPECT_EQ(pid.error().code, Errc::unsupported);
    EXPECT_EQ(pid.error().message, "sh: the kernel refuses the measure-only memory policy on nodes " +
                                       nodes.to_list() + ": Invalid argument");
  }
}

TEST_F(Start, TheProgramHasThePolicyAndWeDoNot) {
  auto pid = start_program({"sh", "-c", "grep -q ' bind' /proc/$$/numa_maps"}, nodes_of({0}));
  if (!pid) GTEST_SKIP() << pid.error().message;
  EXPECT_EQ(end_of(*pid), 0);
  EXPECT_EQ(run("grep -q ' bind' /proc/$$/numa_maps"), 1);
}

TEST(LineLog, AppendsWholeLinesAndSaysWhenItCannot) {
  const std::string path = ::testing::TempDir() + "nigh-log-" + std::to_string(own_pid());
  for (const char* line : {"one", "two"}) {
    auto log = LineLog::open(path);
    ASSERT_TRUE(log);
    EXPECT_TRUE(log->add(line));
  }
  EXPECT_EQ(read_file(path).value_or(""), "one\ntwo\n");
  ::unlink(path.c_str());
  EXPECT_FALSE(LineLog::open("/nowhere/log"));
  auto full = LineLog::open("/dev/full");
  ASSERT_TRUE(full);
  EXPECT_FALSE(full->add("x"));
}

TEST_F(Start, ItsEndIsWaitedForNoLongerThanItTakes) {
  auto pid = start_program({"sh", "-c", "sleep 0.2; exit 7"}, std::nullopt);
  ASSERT_TRUE(pid);
  const double began = now_seconds();
  EXPECT_FALSE(ended_within(*pid, 0.01));
  std::optional<int> status;
  while (!status && now_seconds() < began + 10) status = ended_within(*pid, 10);
  EXPECT_EQ(status, 7);
  EXPECT_LT(now_seconds() - began, 5);
  EXPECT_EQ(ended_within(*pid, 0), 127) << "told before";
}

TEST_F(Start, ACopyGoesOnWhenWeAreReady) {
  int order[2];
  ASSERT_EQ(::pipe(order), 0);
  auto pid = start_copy([&]() -> Result<void> {
    sleep_seconds(0.05);  // a copy that does not wait is first
    static_cast<void>(!::write(order[1], "p", 1));
    return {};
  });
  ASSERT_TRUE(pid);
  if (*pid == 0) {
    static_cast<void>(!::write(order[1], "c", 1));
    ::_exit(9);
  }
  EXPECT_EQ(end_of(*pid), 9);
  char said[3] = {};
  EXPECT_EQ(::read(order[0], said, 2), 2);
  EXPECT_STREQ(said, "pc");
  ::close(order[0]), ::close(order[1]);
}

TEST_F(Start, ACopyEndsWhenWeAreNot) {
  const auto pid = start_copy([]() -> Result<void> { return fail(Errc::io, "the port is taken"); });
  if (pid && *pid == 0) ::_exit(9);  // never
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().message, "the port is taken");
}

}  // namespace
}  // namespace nigh::sys
