// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/process.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "sys/os.hpp"
#include "sys/threads.hpp"

namespace nigh::sys {
namespace {

Command shell(const std::string& script) {
  Command command;
  command.words = {"sh", "-c", script};
  return command;
}

TEST(Process, KeepsOutputErrorsAndStatusApart) {
  auto done = run_command(shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->err, "err\n");
  EXPECT_EQ(done->status, 7);
  EXPECT_FALSE(done->timed_out);
}

TEST(Process, ReadsMoreThanAPipeHolds) {
  auto done = run_command(shell("head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out.size(), 3000000U);
  EXPECT_EQ(done->err.size(), 200000U);
}

TEST(Process, ASignalCountsAsTheShellCountsIt) {
  auto done = run_command(shell("kill -TERM $$"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->status, 128 + SIGTERM);
}

TEST(Process, TheTimeLimitEndsTheWholeGroup) {
  std::string note = ::testing::TempDir() + "nigh-process-test-" + std::to_string(::getpid());
  Command command = shell("(sleep 1.2; echo late > " + note + ") & sleep 30");
  command.timeout_seconds = 0.3;
  double started = now_seconds();
  auto done = run_command(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->timed_out);
  EXPECT_EQ(done->status, 128 + SIGKILL);
  EXPECT_LT(now_seconds() - started, 5);
  ASSERT_EQ(std::system("sleep 1.5"), 0);
  EXPECT_FALSE(std::filesystem::exists(note)) << "a grandchild outlived the time limit";
}

TEST(Process, AGrandchildThatKeepsThePipeDoesNotHoldUsUp) {
  double started = now_seconds();
  auto done = run_command(shell("echo done; sleep 20 &"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "done\n");
  EXPECT_EQ(done->status, 0);
  EXPECT_LT(now_seconds() - started, 5);
}

TEST(Process, CommandsCantReadOurInput) {
  auto done = run_command(shell("cat; echo end"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "end\n");
}

TEST(Process, ChangesTheEnvironment) {
  ::setenv("NIGH_TEST_KEPT", "1", 1);
  ::setenv("NIGH_TEST_GONE", "1", 1);
  ::setenv("NIGHOTHER_A", "1", 1);
  Command command = shell("env | grep ^NIGH | sort");
  command.clear = {"NIGHOTHER_*", "NIGH_TEST_KEP"};  // the second is no pattern and no such name
  command.environment = {{"NIGH_TEST_GONE", std::nullopt}, {"NIGH_TEST_NEW", "a b"}};
  auto done = run_command(command);
  ASSERT_TRUE(done);
  EXPECT_NE(done->out.find("NIGH_TEST_KEPT=1\n"), std::string::npos);
  EXPECT_NE(done->out.find("NIGH_TEST_NEW=a b\n"), std::string::npos);
  EXPECT_EQ(done->out.find("NIGH_TEST_GONE"), std::string::npos);
  EXPECT_EQ(done->out.find("NIGHOTHER_A"), std::string::npos);
}

TEST(Process, WhatIsSetWinsOverWhatIsCleared) {
  Command command;
  command.clear = {"OMP_*"};
  command.environment = {{"OMP_PLACES", "cores"}};
  EXPECT_EQ(command_environment(command, {"OMP_PLACES=threads", "OMP_X=1", "A=OMP_"}),
            (std::vector<std::string>{"A=OMP_", "OMP_PLACES=cores"}));
}

TEST(Process, SaysWhatCantBeStarted) {
  Command missing;
  missing.words = {"nigh-no-such-program"};
  auto done = run_command(missing);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::invalid);
  EXPECT_NE(done.error().message.find("nigh-no-such-program"), std::string::npos);
  EXPECT_FALSE(run_command(Command{}));

  std::string broken = ::testing::TempDir() + "nigh-broken-" + std::to_string(::getpid());
  ASSERT_TRUE(write_file(broken, "no program at all"));
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  Command wrong;
  wrong.words = {broken};
  auto refused = run_command(wrong);
  std::filesystem::remove(broken);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::io);
  EXPECT_NE(refused.error().sys_errno, 0);
}

}  // namespace
}  // namespace nigh::sys
