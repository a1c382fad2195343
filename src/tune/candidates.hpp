// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ways to run a program that are worth trying on a machine: words for `nigh run`, numbers of ranks and
// threads. Pure. The choices are tried in stages, each on top of what the stage before found: a product of
// all would take days.
#pragma once

#include <string>
#include <vector>

namespace nigh::tune {

struct TuneFacts {
  int pus = 1, cores = 1, nodes = 1;
  bool mpi = true, openmp = true;  // what the program uses, as far as its file tells; an interpreter: both
  bool launcher = false;           // its ranks are started by one
  bool ranks_free = false, threads_free = false;  // {ranks}, {threads} stand in its words
  int threads = 0;                                // of the user, OMP_NUM_THREADS; 0: not said
  std::string huge_pages;  // transparent ones: "always", "madvise", "never", "": unknown
};

struct Choice {
  std::vector<std::string> options;  // of nigh run
  int ranks = 0, threads = 0;        // 0: as the user has it
  bool alone = false;                // without nigh
};
bool operator==(const Choice& one, const Choice& other);

struct TuneStage {
  std::string name;
  std::vector<Choice> choices;  // the first is what the stage began with
};

// The choice that is tried first, and stays where nothing is better.
Choice first_choice(const TuneFacts& facts);
enum class StageKind { layout, parts, memory };
inline constexpr StageKind all_stages[] = {StageKind::layout, StageKind::parts, StageKind::memory};
// One choice only: there is nothing to try.
TuneStage stage_of(StageKind kind, const TuneFacts& facts, const Choice& best);

// The words with the numbers written in.
std::vector<std::string> written_in(const std::vector<std::string>& words, const Choice& choice);
// "4 ranks x 2 threads, --teams 8,compact"; "nigh run" without any; "without nigh".
std::string text_of(const Choice& choice);

}  // namespace nigh::tune
