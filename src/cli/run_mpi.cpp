// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --mpi -- mpirun ...`: the environment for ranks that an MPI launcher will start, and then nigh
// becomes that launcher. Launchers pass the environment on to ranks of this node, MPICH's and Slurm's to all;
// Open MPI's has to be told what other nodes need.
#include <cstdlib>
#include <filesystem>

#include "cli/run.hpp"
#include "cli/run_record.hpp"
#include "launch/census.hpp"
#include "launch/forward_words.hpp"
#include "launch/launcher.hpp"
#include "launch/start_check.hpp"
#include "machine/load.hpp"
#include "plan/ranks.hpp"
#include "sys/launchers.hpp"
#include "sys/program.hpp"
#include "sys/run_folder.hpp"

namespace nigh::cli {

using openmp::LaunchEnvironment;

void set_variable(LaunchEnvironment& environment, const std::string& name, const std::string& value) {
  const std::string* old = openmp::find_entry(environment.variables, name);
  if (old != nullptr && *old == name + "=" + value) return;
  std::erase_if(environment.variables,
                [&](const std::string& entry) { return entry.starts_with(name + "="); });
  std::erase_if(environment.set, [&](const openmp::Variable& v) { return v.name == name; });
  environment.variables.push_back(name + "=" + value);
  environment.set.push_back({name, value});
}

void preload_first(LaunchEnvironment& environment, const std::string& library) {
  std::string list = library, others = openmp::value_of(environment.variables, "LD_PRELOAD");
  for (std::size_t at = 0; at < others.size();) {
    std::size_t end = std::min(others.find_first_of(": ", at), others.size());
    std::string one = others.substr(at, end - at);
    if (!one.empty() && one != library) list += ":" + one;
    at = end + 1;
  }
  set_variable(environment, "LD_PRELOAD", list);
}

Result<void> set_space_variables(LaunchEnvironment& environment, const RunOptions& options) {
  if (!options.share.empty()) set_variable(environment, "NIGH_SHARE", options.share);
  if (!options.record.empty()) set_variable(environment, "NIGH_RECORD", record_folder(options));
  if (options.explain.empty() && options.explain_file.empty()) {
    if (options.json && !options.dry_run)
      return fail(Errc::invalid, "--json is the form of --explain or --dry-run; give one of them");
    return {};
  }
  set_variable(environment, "NIGH_EXPLAIN", options.json || options.explain == "json" ? "json" : "text");
  if (!options.explain_file.empty()) set_variable(environment, "NIGH_EXPLAIN_FILE", options.explain_file);
  return {};
}

void keep_learned(LaunchEnvironment& environment) {
  if (openmp::find_entry(environment.variables, "NIGH_SPACE_LEARNED") != nullptr) return;
  auto base = sys::user_folder("XDG_CACHE_HOME", "/.cache", "what is learned of programs");
  if (!base) return;
  const std::string folder = *base + "/nigh/places";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) set_variable(environment, "NIGH_SPACE_LEARNED", folder);
}

bool names_other_nodes(const std::vector<std::string>& words) {
  if (const auto launcher = launch::launcher_of(words.front())) {
    const launch::LauncherNames& names = launch::names_of(*launcher);
    for (const launch::LauncherOption& one : launch::launcher_options(*launcher, words))
      if (launch::among(names.files, one.name) || launch::among(names.hosts, one.name) ||
          (launch::among(names.nodes, one.name) && one.value != "1"))
        return true;
  }
  for (const char* file :
       {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile", "HYDRA_HOST_FILE"})
    if (const char* value = std::getenv(file); value != nullptr && *value != 0) return true;
  return sys::launcher_number(sys::lookup_variable, nullptr, "SLURM_JOB_NUM_NODES") > 1 ||
         std::getenv("PBS_NODEFILE") != nullptr || std::getenv("LSB_HOSTS") != nullptr;
}

void add_census(LaunchEnvironment& environment, const RunOptions& options) {
  const auto says = [&](const char* name, const char* word) {
    return openmp::value_of(environment.variables, name) == word;
  };
  if (options.dry_run || !names_other_nodes(options.command) || says("NIGH_MPI_HIERARCHY", "0") ||
      says("NIGH_MPI_HIERARCHY", "1") || says("NIGH_MPI", "off") || says("NIGH_MPI_COLL", "off"))
    return;
  if (auto census = launch::start_census())
    set_variable(environment, sys::census_variable, *census);
  else
    environment.remarks.push_back("collectives over several nodes are the library's: " +
                                  census.error().message);
}

namespace {

// The variables that ranks need and launchers do not pass on by themselves.
std::vector<std::string> names_to_forward(const LaunchEnvironment& environment) {
  std::vector<std::string> out;
  for (const std::string& entry : environment.variables) {
    std::string name = entry.substr(0, entry.find('='));
    if (name == "LD_PRELOAD" || name.starts_with("NIGH_") || name.starts_with("OMP_") ||
        name.starts_with("KMP_"))
      out.push_back(name);
  }
  return out;
}

void forward_list_in(LaunchEnvironment& environment, const char* variable, char between,
                     const launch::Forwarding& what) {
  if (openmp::find_entry(environment.variables, variable) == nullptr) return;
  const std::string list = openmp::value_of(environment.variables, variable);
  set_variable(environment, variable, forward_list(list, between, what));
}

}  // namespace

// The user's words and variables about variables for ranks are merged with ours; without any, Open MPI's
// mpirun gets a list in a variable, which it does not accept together with -x on the command line.
void forward_to_ranks(LaunchEnvironment& environment, RunOptions& options) {
  constexpr const char* list_name = "OMPI_MCA_mca_base_env_list";
  const std::string& first = options.command.front();
  const std::string library = launch::library_of_launcher(first);
  launch::Forwarding what{
      names_to_forward(environment), openmp::value_of(environment.variables, "LD_PRELOAD"), false,
      [&](const std::string& name) { return openmp::value_of(environment.variables, name); }};
  if (library == "mpich") {
    options.command = forward_words(launch::Launcher::hydra, options.command, what);
  } else if (library.empty() && first.substr(first.rfind('/') + 1) == "srun") {
    options.command = forward_words(launch::Launcher::slurm, options.command, what);
    forward_list_in(environment, "SLURM_EXPORT_ENV", ',', what);
  } else if (library == "openmpi") {
    const bool goes_away = names_other_nodes(options.command),
               has_words = launch::names_variables(options.command);
    const bool has_list = openmp::find_entry(environment.variables, list_name) != nullptr;
    if (has_list) forward_list_in(environment, list_name, ';', what);
    what.adds = goes_away && has_words && !has_list;
    options.command = forward_words(launch::Launcher::open_mpi, options.command, what);
    if (goes_away && !has_words && !has_list)
      set_variable(environment, list_name, forward_list("", ';', what));
  }
}

namespace {

// The PUs of each rank, as the ranks themselves will divide them (NIGH_RANK_SHARE); none where the words do
// not say how many there are on this node, or who binds them.
std::vector<CpuSet> shares_here(launch::Launcher launcher, const RunOptions& options, const Ready& ready) {
  const int ranks = ranks_of(launcher, options.command);
  if (ranks < 1 || names_other_nodes(options.command)) return {};
  auto machine = load_machine(options.machine);
  auto tree = machine ? CoreTree::cut(*machine, ready.launch.mask) : tl::unexpected(machine.error());
  return tree ? rank_shares(*tree, ranks, RankBinding::compact) : std::vector<CpuSet>{};
}

// Launchers bind ranks as if they had one thread: each gets room for its teams, or takes it.
void give_room(RunOptions& options, Ready& ready) {
  const auto launcher = launch::launcher_of(options.command.front());
  if (!launcher || !ready.bind) return;
  int threads = 1;
  for (const int size : ready.launch.sizes) threads = std::min(threads * std::min(size, 4096), 4096);
  const auto variable = [](const std::string& name) { return openmp::value_of(sys::environment(), name); };
  const launch::TeamWords made = team_words(*launcher, options.command, threads, variable);
  const bool free = !made.added.empty() || *launcher == launch::Launcher::hydra;
  if (!made.added.empty())
    ready.environment.remarks.push_back("added " + made.added + " to the words of " +
                                        options.command.front() +
                                        ", which would give a rank fewer PUs than its teams need");
  options.command = made.words;
  if (options.dry_run && free) ready.shares = shares_here(*launcher, options, ready);
}

// The program behind the launcher: false if it can't load our libraries at all.
bool look_behind_launcher(const RunOptions& options, Ready& ready) {
  const auto launcher = launch::launcher_of(options.command.front());
  const std::string program = launcher ? program_of(*launcher, options.command) : options.command.front();
  LaunchEnvironment seen = ready.environment;
  const bool reachable = look_at_program(program, seen);
  if (ready.bind || !reachable) ready.environment = std::move(seen);  // else nobody asked for its threads
  return reachable;
}

}  // namespace

int run_mpi(const RunOptions& given, const CpuSet& own) {
  RunOptions options = given;
  Ready ready;
  if (has_teams(options)) {
    auto made = make_ready(options, own);
    if (!made) return run_failed(made.error().message);
    ready = *std::move(made);
    give_room(options, ready);
  } else {
    auto mask = usable_pus(options, own);
    if (!mask) return run_failed(mask.error().message);
    ready.launch.mask = *mask;
    ready.environment.variables = sys::environment();
    ready.bind = false;
  }
  const bool reachable = look_behind_launcher(options, ready);
  if (const std::string doubt = doubtful_start(launch::start_facts(given.command, 0)); !doubt.empty())
    ready.environment.remarks.push_back(doubt);
  if (options.mpi && reachable) {
    auto library = find_library("libnigh-mpi.so");
    if (!library) return run_failed(library.error().message);
    preload_first(ready.environment, *library);
    keep_learned(ready.environment);
    if (auto set = set_space_variables(ready.environment, options); !set)
      return run_failed(set.error().message);
    add_census(ready.environment, options);
  }
  for (const openmp::Variable& one : options.given) set_variable(ready.environment, one.name, one.value);
  forward_to_ranks(ready.environment, options);
  for (const auto& remark : ready.environment.remarks) run_say(options, remark);
  return options.dry_run ? dry_run(options, ready) : start(options, ready);
}

}  // namespace nigh::cli
