// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh bench mpi-nodes -- mpirun -n 16 --host a:4,b:4`: collectives on ranks that the user's launcher
// starts, on one node or several, by the library alone, under `nigh run`, and by what the library itself
// has for several nodes: Open MPI's coll/han. The subjects take turns, one job each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmark/catalog.hpp"
#include "benchmark/record.hpp"

namespace nigh::benchmark {

// Cases are as "16 bcast 64 KiB openmpi", `teams` the number of ranks, unit us.
inline constexpr const char* nodes_bench = "mpi-nodes";

struct NodesRequest {
  std::vector<std::string> launcher;
  std::string library;                // "openmpi", "mpich"; empty: by the launcher's name
  std::vector<std::string> subjects;  // names to keep; empty: all
  std::string sizes;                  // "8,65536"; empty: the program's
  int samples = 5;
  bool quick = false;
  double timeout_seconds = 300;
  std::string nigh;  // path of the command
  std::function<void(double, const std::string&)> progress = [](double, const std::string&) {};
};

// In the order of the table. `words` start the ranks.
std::vector<Subject> nodes_subjects(const std::string& library, const std::vector<std::string>& words,
                                    const std::string& nigh);

// Errors: invalid: no launcher, its library is not known, a subject or a size that is none; io: no subject
// could be measured, with the words of the last.
Result<BenchFile> run_mpi_nodes(const NodesRequest& request);

}  // namespace nigh::benchmark
