// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The code that the three forms of `nigh run` share: one program (run.cpp), ranks of our own (run_ranks.cpp),
// and ranks that an MPI launcher starts (run_mpi.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "openmp/environment.hpp"

namespace nigh::cli {

// The statuses of env(1): the program's own stay apart from ours.
inline constexpr int run_status_failed = 125;
inline constexpr int run_status_cannot_execute = 126;
inline constexpr int run_status_not_found = 127;

struct RunOptions {
  std::string teams, mask, machine, explain, explain_file, share;
  std::string bind = "compact";
  int ranks = 0;
  bool mpi = false;
  bool auto_hybrid = false;
  std::string transpose;                // of --auto-hybrid: "8192x8192,double"
  int nodes = 0, cores = 0;             // the same; 0: as the job has
  std::vector<openmp::Variable> given;  // set whatever the user has
  bool watch = false;
  std::string watch_nodes;
  std::string interleave, weighted_interleave, membind, preferred;  // nodes, or "all"
  bool huge_pages = false;
  int threads = 0;                     // OMP_NUM_THREADS; 0: as the user has it
  std::vector<std::string> only, off;  // "mpi", "teams"
  std::string record;                  // the folder of what ranks send each other
  std::string rank_map;                // the file of where ranks start
  std::string web;                     // [address:]port of a page that shows the run; "": none
  bool gpus = false;
  bool no_profile = false;
  bool json = false, dry_run = false, keep_env = false, quiet = false;
  std::vector<std::string> command;
};

// A launch that is ready to go. Without `bind` the program just runs: its own wrong spec is no reason not to.
struct Ready {
  openmp::Launch launch;
  openmp::LaunchEnvironment environment;
  bool bind = true;
  std::vector<CpuSet> shares;  // of the ranks that a launcher would start on this node, for --dry-run
};

int run_failed(const std::string& message);
void run_say(const RunOptions& options, const std::string& sentence);
// A library of ours, by its file name: one to be opened, one to be preloaded.
Result<std::string> find_module(const std::string& file);
Result<std::string> find_library(const std::string& file);
Result<CpuSet> usable_pus(const RunOptions& options, const CpuSet& own);
// True if teams are to be placed at all: a spec was given, here or in the environment.
bool has_teams(const RunOptions& options);
Result<Ready> make_ready(const RunOptions& options, const CpuSet& own);
// Says what its file means for nigh. False: it can't load our libraries at all, and gets the user's
// environment back.
bool look_at_program(const std::string& program, openmp::LaunchEnvironment& environment);
// True if the command's first word is a launcher of ranks, or is said to be one.
bool starts_ranks(const RunOptions& options);
int dry_run(const RunOptions& options, const Ready& ready);
// Becomes the program.
int start(const RunOptions& options, const Ready& ready);

// Changes to an environment, recorded: for --dry-run.
void set_variable(openmp::LaunchEnvironment& environment, const std::string& name, const std::string& value);
// Puts a library before those that LD_PRELOAD names.
void preload_first(openmp::LaunchEnvironment& environment, const std::string& library);
// Names a folder in the user's cache for what ranks learn of the program (space/learned.hpp), unless the user
// has named one.
void keep_learned(openmp::LaunchEnvironment& environment);
// Tells the space in each rank what the user wants of it.
Result<void> set_space_variables(openmp::LaunchEnvironment& environment, const RunOptions& options);

// The memory policy, huge pages and number of threads that the program inherits.
Result<void> prepare_memory(const RunOptions& options);

int run_ranks(const RunOptions& options, const CpuSet& own);
// True if the launcher's words or variables, or the batch system's, name nodes other than this one.
bool names_other_nodes(const std::vector<std::string>& words);
// Over several nodes: the census that tells ranks whether all of them have nigh.
void add_census(openmp::LaunchEnvironment& environment, const RunOptions& options);
// Makes the launcher in the command pass on to ranks what they need of the environment.
void forward_to_ranks(openmp::LaunchEnvironment& environment, RunOptions& options);

// The options with the profile that `nigh tune` kept for this command, if there is one; else unchanged.
// Error: {ranks} or {threads} in the command, and no profile.
Result<RunOptions> with_profile(const RunOptions& options);

// Serves a page while the run goes on in a copy of this process: nullopt there, the status here.
std::optional<int> run_with_page(const RunOptions& options);

// Nothing was said of what is to be done: all that helps.
bool is_automatic(const RunOptions& options);
int run_automatic(const RunOptions& options, const CpuSet& own);
int run_mpi(const RunOptions& options, const CpuSet& own);
// --auto-hybrid and what goes with it; `ranks`: the option -n, which excludes it.
void add_hybrid_options(CLI::App& command, const std::shared_ptr<RunOptions>& options, CLI::Option* ranks);
// The same with the launcher's words and OMP_NUM_THREADS for the ranks x threads that a transpose wants; says
// what it changes. Where the user's words fix the ranks of a node: unchanged.
Result<RunOptions> auto_hybrid(const RunOptions& options);

}  // namespace nigh::cli
