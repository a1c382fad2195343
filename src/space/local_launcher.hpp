// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The local launcher: starts the ranks of a job on this machine and stays with them to their end. It hands
// signals on, ends the others when a rank fails, and keeps the desk at which joining ranks ask who has ended
// (registry.hpp). It leaves nothing behind: the ranks die with it, and what they started goes with a failure.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "space/desk.hpp"

namespace nigh::space {

struct RankStart {
  CpuSet mask;                           // empty: as the launcher's own
  std::vector<std::string> environment;  // "NAME=value" each
};

struct RankLaunch {
  std::vector<std::string> command;
  std::vector<RankStart> ranks;  // at least one
  unsigned char key[16] = {};
};

// The end of a job.
struct RankOutcome {
  int status = 0;        // 0: all ranks ended well; else of the first that did not, 128+N for signal N
  std::string sentence;  // which rank failed and how; empty where that is no news: all well, a signal of the
                         // user's, a closed pipe
  int exec_errno = 0;    // the program could not be started
  Account account;       // of one rank, if NIGH_EXPLAIN asked for it
};

// Errors: io, when no process can be made.
Result<RankOutcome> launch_ranks(const RankLaunch& launch);

// A secret that nobody can guess, and its 32 hexadecimal digits.
Result<std::string> make_job_key(unsigned char (&key)[16]);

// The environment of one rank: `common` without what other launchers left for it, with NIGH_RANK, NIGH_SIZE
// and NIGH_JOB.
std::vector<std::string> rank_environment(const std::vector<std::string>& common, int rank, int size,
                                          const std::string& key);

}  // namespace nigh::space
