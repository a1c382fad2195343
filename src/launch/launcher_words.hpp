// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The words of launchers (mpirun, mpiexec, srun): which are options, which is the program, how many ranks,
// and what to add so that each rank gets the PUs that a plan of teams needs. Pure, so that every launcher's
// forms are tested without it.
//
//     Open MPI             binds each of two ranks to one core, which all threads of a rank would share:
//                          mpirun --bind-to none -n 2 ./hybrid, and the ranks divide the PUs of the node
//     MPICH                mpiexec -n 2 ./hybrid binds nobody
//     Slurm                srun --cpus-per-task=4 -n 2 ./hybrid
//     in its allocation    srun --cpu-bind=none -n 2 ./hybrid: asking for more may not fit into it
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace nigh::launch {

enum class Launcher { open_mpi, hydra, slurm };

// Options without the dashes, since these launchers take one or two.
struct LauncherNames {
  std::vector<std::string> fix;    // ranks of a node
  std::vector<std::string> count;  // ranks in all
  std::vector<std::string> files, hosts, nodes;
  std::vector<std::string> bind;    // ranks to PUs
  std::vector<std::string> others;  // that have a value
  std::vector<std::string> flags;   // of the above, those that have none
};
const LauncherNames& names_of(Launcher launcher);
bool among(const std::vector<std::string>& list, const std::string& name);

struct LauncherOption {
  std::size_t at = 0, words = 1;  // in the command
  std::string name, value;
};
// The launcher's own options: until the first word that is none and no option's value.
std::vector<LauncherOption> launcher_options(Launcher launcher, const std::vector<std::string>& words);

// The program that it starts; "" where there is none.
std::string program_of(Launcher launcher, const std::vector<std::string>& words);
// The number of ranks that the words ask for; 0: they do not say, or name several programs.
int ranks_of(Launcher launcher, const std::vector<std::string>& words);

struct TeamWords {
  std::vector<std::string> words;
  std::string added;  // "--bind-to none"; empty: nothing had to be
};
// `threads`: that each rank's plan has. `variable`: the value of an environment variable, or "". Where the
// user binds ranks by words or variables, nothing is added.
TeamWords team_words(Launcher launcher, const std::vector<std::string>& words, int threads,
                     const std::function<std::string(const std::string&)>& variable);

}  // namespace nigh::launch
