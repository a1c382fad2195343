// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run -- CMD`: everything that helps is on. Two libraries are preloaded into the command and all that
// it starts: one waits for an MPI library, one for an OpenMP runtime, and each decides in its process whether
// it can help. So scripts, batch jobs, interpreters and pipelines need no recognition; a launcher of ranks
// does, since its own words decide what a rank may use.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/run.hpp"
#include "launch/launcher.hpp"
#include "launch/start_check.hpp"
#include "machine/load.hpp"
#include "openmp/pins.hpp"
#include "plan/ranks.hpp"
#include "sys/os.hpp"
#include "sys/preload_bar.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

using openmp::LaunchEnvironment;

namespace {

std::string variable(const std::string& name) { return openmp::value_of(sys::environment(), name); }

bool is_wanted(const RunOptions& options, const std::string& feature) {
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), feature) != list.end();
  };
  return (options.only.empty() || has(options.only)) && !has(options.off);
}

// The command, as far as its file and its words tell before it starts.
struct Command {
  std::optional<launch::Launcher> launcher;
  std::string program;
  bool openmp = false;  // linked to a runtime
  bool mpi = false;
  std::string alone;  // the reason against preloading; "": there is none
};

Command look_at_command(const RunOptions& options) {
  Command out;
  out.launcher = launch::launcher_of(options.command.front());
  out.program = out.launcher ? program_of(*out.launcher, options.command) : options.command.front();
  const auto path = sys::find_program(out.program);
  const std::string preloaded = variable("LD_PRELOAD");
  out.alone = sys::reason_of(sys::names_sanitizer(preloaded.c_str()) ? sys::PreloadBar::sanitizer
                             : path ? sys::preload_bar(AT_FDCWD, path->c_str())
                                    : sys::PreloadBar::none);
  const auto facts = path ? sys::inspect_program(*path, false) : fail(Errc::io, "");
  if (!facts) return out;
  out.mpi = !sys::mpi_of(facts->libraries).empty();
  for (const std::string& library : facts->libraries)
    for (const char* runtime : {"libgomp.so", "libomp.so", "libiomp5.so"})
      out.openmp = out.openmp || library.starts_with(runtime);
  return out;
}

// The product of OMP_NUM_THREADS=4,2; 0: unset, or something else.
int threads_of_user() {
  const std::string text = variable("OMP_NUM_THREADS");
  int product = text.empty() ? 0 : 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    char* stop = nullptr;
    const long value = std::strtol(text.substr(at, end - at).c_str(), &stop, 10);
    if (*stop != '\0' || value < 1 || value > 65536) return 0;
    product = static_cast<int>(std::min<long>(product * value, 65536));
    at = end + 1;
  }
  return product;
}

std::string pins_of_user() {
  std::string out;
  for (const char* name : openmp::pins)
    if (const std::string value = variable(name); !value.empty())
      out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value);
  return out;
}

// Undoes an outer `nigh run`, whose wishes are not this one's.
void take_out_ours(LaunchEnvironment& environment) {
  std::string list = openmp::value_of(environment.variables, "LD_PRELOAD");
  const std::string kept = openmp::preload_without_ours(list);
  if (kept == list) return;
  std::erase_if(environment.variables, [](const std::string& entry) {
    return entry.starts_with("LD_PRELOAD=") || entry.starts_with("NIGH_TEAMS=") ||
           entry.starts_with("NIGH_RANK_SHARE=") || entry.starts_with("NIGH_RANK_SHARES=");
  });
  if (!kept.empty()) set_variable(environment, "LD_PRELOAD", kept);
}

class Launch {
 public:
  Launch(const RunOptions& options, CpuSet mask)
      : options_(options), command_(look_at_command(options)), mask_(std::move(mask)) {
    ready_.launch.mask = mask_;
    ready_.bind = false;
    ready_.environment.variables = sys::environment();
  }
  Result<void> prepare();
  int start();

 private:
  void set(const std::string& name, const std::string& value) {
    set_variable(ready_.environment, name, value);
  }
  void say(std::string sentence) { ready_.environment.remarks.push_back(std::move(sentence)); }
  Result<void> preload(const char* library);
  Result<void> teams();
  Result<void> mpi();
  void room_for_threads();
  [[nodiscard]] std::string shares_of_ranks() const;
  [[nodiscard]] bool tells() const;

  RunOptions options_;
  Command command_;
  CpuSet mask_;
  Ready ready_;
};

Result<void> Launch::preload(const char* library) {
  auto path = find_library(library);
  if (!path) return tl::unexpected(path.error());
  preload_first(ready_.environment, *path);
  return {};
}

Result<void> Launch::teams() {
  const bool wanted = is_wanted(options_, "teams");
  if (!wanted && !is_wanted(options_, "mpi")) return {};
  // Also where teams are off: it keeps both libraries out of programs that can't have them.
  if (auto done = preload("libnigh-openmp.so"); !done) return done;
  const std::string pins = pins_of_user();
  if (wanted && !pins.empty()) say("off: teams, since " + pins + " of yours binds the threads");
  if (!wanted || !pins.empty()) {
    set("NIGH_TEAMS", "off");
    return {};
  }
  set("NIGH_TEAMS", options_.teams == "auto" ? "always" : "auto");
  if (!options_.mask.empty()) set("NIGH_MASK", mask_.to_list());
  const bool is_one_rank = !command_.launcher && launch::start_facts(options_.command, 0).in_job;
  if (!is_one_rank) set("NIGH_RANK_SHARE", mask_.to_list());
  room_for_threads();
  return {};
}

// "0-3;4-7": what ranks 0 and 1 may use; "" where the words do not say how many there are on this node.
std::string Launch::shares_of_ranks() const {
  const int ranks = ranks_of(*command_.launcher, options_.command);
  if (ranks < 1 || names_other_nodes(options_.command)) return "";
  auto machine = load_machine("");
  auto tree = machine ? CoreTree::cut(*machine, mask_) : tl::unexpected(machine.error());
  if (!tree || ranks > tree->pu_count()) return "";
  std::string out;
  for (const CpuSet& share : rank_shares(*tree, ranks, RankBinding::compact))
    out += (out.empty() ? "" : ";") + share.to_list();
  return out;
}

// Open MPI binds a rank to one core, Slurm to one CPU, which all threads of a rank would share.
void Launch::room_for_threads() {
  const int threads = threads_of_user();
  if (!command_.launcher || threads == 1 || (threads == 0 && !command_.openmp)) return;
  std::string shares;
  if (*command_.launcher == launch::Launcher::open_mpi) {
    shares = shares_of_ranks();
    if (shares.empty()) return;
  } else if (threads == 0) {
    return;
  }
  const launch::TeamWords made = team_words(*command_.launcher, options_.command, threads, variable);
  if (made.added.empty()) return;
  options_.command = made.words;
  if (!shares.empty()) set("NIGH_RANK_SHARES", shares);
  say("added " + made.added + " to the words of " + options_.command.front() +
      (shares.empty() ? "" : "; ranks get the PUs " + shares));
}

Result<void> Launch::mpi() {
  if (!is_wanted(options_, "mpi")) return {};
  if (const std::string doubt = doubtful_start(launch::start_facts(options_.command, 0)); !doubt.empty())
    say(doubt);
  if (auto done = preload("libnigh-mpi.so"); !done) return done;
  keep_learned(ready_.environment);
  add_census(ready_.environment, options_);
  return {};
}

Result<void> Launch::prepare() {
  take_out_ours(ready_.environment);
  if (!command_.alone.empty()) {
    say(command_.program + " runs without nigh: " + command_.alone);
    return {};
  }
  if (auto done = teams(); !done) return done;
  if (auto done = mpi(); !done) return done;
  if (options_.quiet) set("NIGH_QUIET", "1");
  if (auto done = set_space_variables(ready_.environment, options_); !done) return done;
  if (tells() && variable("NIGH_EXPLAIN").empty() &&
      openmp::find_entry(ready_.environment.variables, "NIGH_EXPLAIN") == nullptr)
    set("NIGH_EXPLAIN", "line");
  forward_to_ranks(ready_.environment, options_);
  return {};
}

// A line at the end is for people who look on.
bool Launch::tells() const { return !options_.quiet && isatty(STDERR_FILENO) == 1; }

int Launch::start() {
  const bool asked = options_.dry_run || !options_.explain.empty() || !options_.explain_file.empty();
  if (asked || (tells() && (command_.launcher || command_.openmp || command_.mpi)))
    for (const auto& remark : ready_.environment.remarks) run_say(options_, remark);
  if (options_.dry_run) return dry_run(options_, ready_);
  if (!options_.mask.empty())
    if (auto bound = sys::set_affinity(mask_); !bound) return run_failed(bound.error().message);
  return cli::start(options_, ready_);
}

}  // namespace

bool is_automatic(const RunOptions& options) {
  if (options.auto_hybrid || options.ranks > 0 || options.watch) return false;
  return options.teams == "auto" || (!options.mpi && !has_teams(options));
}

int run_automatic(const RunOptions& options, const CpuSet& own) {
  auto mask = usable_pus(options, own);
  if (!mask) return run_failed(mask.error().message);
  Launch launch(options, *mask);
  if (auto prepared = launch.prepare(); !prepared) return run_failed(prepared.error().message);
  return launch.start();
}

}  // namespace nigh::cli
