// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --auto-hybrid`: what a launcher's words say of nodes, and the words that make ranks x threads of
// them. Pure, so that every launcher's forms are tested without it.
//
//     mpirun -n 64 ./app     2 nodes of 32 cores, 4 ranks x 8 threads
//     Open MPI     mpirun --map-by ppr:4:node:PE=8 --bind-to core -n 8 ./app
//     MPICH        mpiexec -ppn 4 -bind-to core:8 -n 8 ./app
//     Slurm        srun --ntasks-per-node=4 --cpus-per-task=8 --ntasks=8 ./app
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/launcher_words.hpp"

namespace nigh::launch {

// Nodes that a job will have, and cores of each (0: it is not said).
struct JobNodes {
  int nodes = 1, cores = 0;
  std::string from;  // "the host file hosts.txt", "SLURM_JOB_NUM_NODES"
};
struct Surroundings {
  std::function<std::string(const std::string&)> variable;  // its value, or ""
  std::function<Result<std::string>(const std::string&)> file;
};
// By the words, then by the variables of launchers and batch systems; one node where nothing says more.
// Errors: a host file that can't be read.
Result<JobNodes> job_nodes(Launcher launcher, const std::vector<std::string>& words,
                           const Surroundings& around);

struct HybridChoice {
  int nodes = 1, ranks = 1, threads = 1;
  bool bind = true;  // each rank to as many cores as it has threads
};
struct HybridWords {
  std::vector<std::string> words;
  std::string aside;     // not empty: the words that fix ranks of a node already; nothing was changed
  std::string replaced;  // "-n 64", which is another number now
};
HybridWords hybrid_words(Launcher launcher, const std::vector<std::string>& words,
                         const HybridChoice& choice);

}  // namespace nigh::launch
