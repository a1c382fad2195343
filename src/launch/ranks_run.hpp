// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Programs of nigh's on ranks that the user's launcher starts: `nigh machine --probe-mpi -- mpirun -n 16`,
// `nigh bench mpi-nodes -- srun -n 16`. The words are the user's; which library they are of follows
// from the launcher's name, or is said; what the ranks print are lines of JSON among words of the launcher's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::launch {

// build/bench beside build/bin, or libexec/nigh beside bin; NIGH_BENCH_DIR wins over both.
Result<std::string> find_own_program(const std::string& file);

struct RanksRequest {
  std::vector<std::string> launcher;
  std::string library;             // "openmpi", "mpich"; empty: by the launcher's name
  std::string program;             // "mpi-probe": the library's name follows
  std::string ending = {};         // instead of it: "libmpi.so.40"
  std::vector<std::string> words;  // of the program
  std::string lead;                // what its lines begin with
  std::size_t lines = 1;           // that one job prints
  double timeout_seconds = 120;
  std::map<std::string, std::string> environment = {};  // beyond ours
};
// `said`, else by the launcher's name. Errors: invalid: no launcher, or it does not say.
Result<std::string> library_of_ranks(const std::vector<std::string>& launcher, const std::string& said);
// The lines. Errors: invalid: no launcher, none that is there, one whose library is not known or is another
// (it starts as many jobs of one rank); io: it failed, with the first words that it or the program said;
// unsupported: the program was not built.
Result<std::vector<std::string>> run_on_ranks(const RanksRequest& request);

}  // namespace nigh::launch
