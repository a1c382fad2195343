// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The local launcher with real processes: what ranks are given, how a job's end is told, and that nothing of
// a failed job is left running.
#include "space/local_launcher.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sys/os.hpp"
#include "sys/socket.hpp"

namespace nigh::space {
namespace {

class Launch : public testing::Test {
 protected:
  Launch() {
    char name[] = "/tmp/nigh-launch-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Launch() override { std::filesystem::remove_all(folder_); }

  // Runs `script` in a shell in each of `size` ranks.
  RankOutcome run(int size, const std::string& script, std::vector<CpuSet> masks = {}) {
    RankLaunch launch;
    launch.command = {"/bin/sh", "-c", script};
    auto key = make_job_key(launch.key);
    EXPECT_TRUE(key);
    masks.resize(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank)
      launch.ranks.push_back(
          {.mask = masks[static_cast<std::size_t>(rank)],
           .environment = rank_environment({"PATH=/usr/bin:/bin", "D=" + folder_}, rank, size, *key)});
    auto outcome = launch_ranks(launch);
    EXPECT_TRUE(outcome);
    return *outcome;
  }
  [[nodiscard]] std::string read(const std::string& file) const {
    std::ifstream in(folder_ + "/" + file);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }
  std::string folder_;
};

bool has(const RankOutcome& outcome, const std::string& words) {
  return outcome.sentence.find(words) != std::string::npos;
}

TEST_F(Launch, RanksAreGivenTheirPlaces) {
  const RankOutcome outcome = run(3, "echo $NIGH_RANK $NIGH_SIZE ${#NIGH_JOB} > $D/$NIGH_RANK");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.sentence, "");
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(read(std::to_string(rank)), std::to_string(rank) + " 3 32\n");
}

TEST_F(Launch, RanksAreBoundAndOnlyTheFirstReads) {
  const auto own = sys::affinity();
  ASSERT_TRUE(own);
  int highest = -1;
  for (int cpu = own->first(); cpu >= 0; cpu = own->next(cpu)) highest = cpu;
  const CpuSet last = CpuSet::range(highest, highest);
  run(2,
      "grep ^Cpus_allowed_list /proc/self/status > $D/$NIGH_RANK; readlink /proc/self/fd/0 > $D/in$NIGH_RANK",
      {*own, last});
  EXPECT_EQ(read("1"), "Cpus_allowed_list:\t" + last.to_list() + "\n");
  EXPECT_EQ(read("0"), "Cpus_allowed_list:\t" + own->to_list() + "\n");
  EXPECT_EQ(read("in1"), "/dev/null\n");
}

TEST_F(Launch, TheFirstFailureIsTheVerdict) {
  const long begun = sys::now_ms();
  const RankOutcome outcome = run(3, "[ $NIGH_RANK = 1 ] && exit 5; exec sleep 60");
  EXPECT_LT(sys::now_ms() - begun, 30'000);
  EXPECT_EQ(outcome.status, 5);
  EXPECT_TRUE(has(outcome, "rank 1 (process ")) << outcome.sentence;
  EXPECT_TRUE(has(outcome, "ended with status 5; the other ranks are ended")) << outcome.sentence;
}

TEST_F(Launch, WhoIgnoresTheRequestIsKilled) {
  const RankOutcome outcome =
      run(2,
          "[ $NIGH_RANK = 0 ] && { while [ ! -e $D/deaf ]; do sleep 0.01; done; exit 6; };"
          "trap '' TERM; touch $D/deaf; while :; do sleep 0.1; done");
  EXPECT_EQ(outcome.status, 6);
}

TEST_F(Launch, SignalsCountAsInTheShell) {
  const RankOutcome killed = run(2, "[ $NIGH_RANK = 0 ] && kill -9 $$; exit 0");
  EXPECT_EQ(killed.status, 128 + SIGKILL);
  EXPECT_TRUE(has(killed, "rank 0 (process ") && has(killed, "was ended by signal 9")) << killed.sentence;
  const RankOutcome closed = run(1, "kill -PIPE $$");  // as `nigh run .. | head` does: no news
  EXPECT_EQ(closed.status, 128 + SIGPIPE);
  EXPECT_EQ(closed.sentence, "");
}

TEST_F(Launch, WhatCantBeStartedIsTold) {
  RankLaunch launch;
  launch.command = {folder_ + "/no-such-program"};
  launch.ranks.resize(2);
  auto outcome = launch_ranks(launch);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exec_errno, ENOENT);
  launch.command = {folder_};
  outcome = launch_ranks(launch);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exec_errno, EACCES);
}

TEST_F(Launch, NothingOfAFailedJobIsLeft) {
  run(1, "setsid sleep 60 & echo $! > $D/pid; exit 1");
  const int pid = std::atoi(read("pid").c_str());
  ASSERT_GT(pid, 1);
  EXPECT_TRUE(::kill(pid, 0) != 0 && errno == ESRCH);
}

TEST_F(Launch, SignalsArePassedOn) {
  std::signal(SIGUSR1, SIG_DFL);
  const RankOutcome outcome =
      run(2,
          "trap 'exit 7' USR1; touch $D/$NIGH_RANK;"
          "while [ $NIGH_RANK = 0 ]; do [ -e $D/1 ] && kill -USR1 $PPID; sleep 0.05; done;"
          "while :; do sleep 0.05; done");
  EXPECT_EQ(outcome.status, 7);
}

TEST(JobKey, IsNeverTheSame) {
  unsigned char one[16], two[16];
  const auto text = make_job_key(one);
  ASSERT_TRUE(text && make_job_key(two));
  EXPECT_NE(std::memcmp(one, two, sizeof one), 0);
  EXPECT_EQ(text->size(), 32U);
  EXPECT_EQ(text->find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(RankEnvironment, OtherLaunchersWordsAreTakenAway) {
  const auto out = rank_environment({"A=1", "NIGH_RANK=9", "NIGH_JOB=old", "NIGH_RANKS=kept",
                                     "OMPI_COMM_WORLD_LOCAL_RANK=3", "SLURM_LOCALID=2", "SLURM_JOB_ID=5"},
                                    1, 4, "secret");
  const std::vector<std::string> wanted = {"A=1",         "NIGH_RANKS=kept", "SLURM_JOB_ID=5",
                                           "NIGH_RANK=1", "NIGH_SIZE=4",     "NIGH_JOB=secret"};
  EXPECT_EQ(out, wanted);
}

}  // namespace
}  // namespace nigh::space
