// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Starts that are not what the user means: as many jobs of one rank instead of one job. They are recognised
// by facts: the MPI library that the program's file was linked to, the launcher's own, what a launcher around
// us has left in the environment. Pure: facts in, one sentence out. Programs that bring MPI by other ways (a
// script, Python) say nothing and are left alone.
#pragma once

#include <string>
#include <vector>

namespace nigh::launch {

struct StartFacts {
  std::string program;       // the word for it; "": not known
  std::string program_mpi;   // sys::mpi_of its libraries
  std::string launcher;      // the word for it; "": none
  std::string launcher_mpi;  // "openmpi", "mpich"; "": it serves several
  int ranks = 0;             // that are asked for; 0: it is not said
  bool in_job = false;       // a launcher has started us
};

// Nothing can come of it, so it is refused; "": it is all right.
std::string impossible_start(const StartFacts& facts);
// A warning for the user; the run goes on.
std::string doubtful_start(const StartFacts& facts);

// `own_ranks`: those of `nigh run -n`, 0 without.
StartFacts start_facts(const std::vector<std::string>& command, int own_ranks);

}  // namespace nigh::launch
