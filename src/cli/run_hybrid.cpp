// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --auto-hybrid -- mpirun ./app`: ranks x threads of a node as the model of the transpose wants
// them, written into the launcher's words and into OMP_NUM_THREADS. Then nigh becomes the launcher.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/plan_transpose.hpp"
#include "cli/run.hpp"
#include "launch/hybrid_words.hpp"
#include "launch/launcher.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

namespace {
constexpr const char* assumed_matrix = "8192x8192,double";

// "8192x8192,double", the type may be left out.
TransposeOptions wanted_transpose(const RunOptions& options) {
  const std::string text = options.transpose.empty() ? assumed_matrix : options.transpose;
  const std::size_t comma = text.find(',');
  TransposeOptions out;
  out.size = text.substr(0, comma);
  if (comma != std::string::npos) out.type = text.substr(comma + 1);
  return out;
}

launch::Surroundings here() {
  return {[](const std::string& name) {
            const char* value = std::getenv(name.c_str());
            return std::string(value == nullptr ? "" : value);
          },
          [](const std::string& path) { return sys::read_file(path); }};
}

struct Chosen {
  launch::HybridChoice choice;
  std::string why, table;
};

Result<Chosen> choose(const RunOptions& options, const launch::JobNodes& nodes) {
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  const int own = std::max(machine->count(Kind::core), 1);
  auto probe = load_probe(*machine);
  auto mpi = load_mpi_probe(*machine);
  tell_if_unused("run", probe);
  tell_if_unused("run", mpi);
  apply_stored_probe(*machine);
  TransposeOptions transpose = wanted_transpose(options);
  transpose.nodes = options.nodes > 0 ? options.nodes : nodes.nodes;
  transpose.cores = options.cores > 0 ? options.cores : nodes.cores > 0 ? nodes.cores : own;
  auto best = best_transpose(transpose, *machine, probe ? &*probe : nullptr, mpi ? &*mpi : nullptr);
  if (!best) return tl::unexpected(best.error());
  return Chosen{
      {transpose.nodes, best->ranks, best->threads, transpose.cores <= own},
      fmt::format("{} node{} x {} cores ({}), a matrix of {} {}{}: {}", transpose.nodes,
                  transpose.nodes == 1 ? "" : "s", transpose.cores,
                  options.nodes > 0 ? "--nodes" : nodes.from, transpose.size, transpose.type,
                  options.transpose.empty() ? ", assumed (--transpose says another)" : "", best->why),
      best->table};
}
}  // namespace

void add_hybrid_options(CLI::App& command, const std::shared_ptr<RunOptions>& options, CLI::Option* ranks) {
  auto* hybrid = command.add_flag("--auto-hybrid", options->auto_hybrid,
                                  "The command starts MPI ranks: as many, with as many threads, as a "
                                  "transpose on its nodes is fastest with");
  hybrid->excludes(ranks);
  command
      .add_option("--transpose", options->transpose, "With --auto-hybrid: of which matrix, 8192x8192,double")
      ->needs(hybrid);
  command.add_option("--nodes", options->nodes, "With --auto-hybrid: nodes of the job, if nothing says them")
      ->check(CLI::Range(1, 65536))
      ->needs(hybrid);
  command.add_option("--cores", options->cores, "With --auto-hybrid: cores of a node that the job has")
      ->check(CLI::Range(1, 65536))
      ->needs(hybrid);
}

Result<RunOptions> auto_hybrid(const RunOptions& options) {
  auto launcher = launch::launcher_of(options.command.front());
  if (!launcher)
    return fail(Errc::unsupported,
                fmt::format("--auto-hybrid knows the launchers of Open MPI and MPICH, and srun; "
                            "'{}' is none of them",
                            options.command.front()));
  RunOptions out = options;
  if (const launch::HybridWords seen = hybrid_words(*launcher, options.command, {}); !seen.aside.empty()) {
    run_say(options,
            "--auto-hybrid: '" + seen.aside + "' fixes the ranks of a node already; nothing is changed");
    return out;
  }
  auto nodes = job_nodes(*launcher, options.command, here());
  if (!nodes) return fail(nodes.error().code, "--auto-hybrid: " + nodes.error().message);
  auto chosen = choose(options, *nodes);
  if (!chosen) return fail(Errc::invalid, "--auto-hybrid: " + chosen.error().message);
  const launch::HybridWords made = hybrid_words(*launcher, options.command, chosen->choice);
  out.command = made.words;
  const std::string threads = std::to_string(chosen->choice.threads), name = "OMP_NUM_THREADS";
  const std::string users = here().variable(name);
  if (options.keep_env && !users.empty())
    run_say(options, name + "=" + users + " is kept");
  else
    out.given.push_back({name, threads});
  if (!users.empty() && users != threads && !options.keep_env)
    run_say(options, fmt::format("{}={} becomes {}", name, users, threads));
  if (!made.replaced.empty())
    run_say(options, fmt::format("{} becomes {}, ranks in all", made.replaced,
                                 std::int64_t{chosen->choice.nodes} * chosen->choice.ranks));
  run_say(options, chosen->why);
  if (!options.explain.empty() && !options.json) {
    run_say(options, "what was weighed:");
    std::fputs(options.quiet ? "" : (chosen->table + "\n").c_str(), stderr);
  }
  return out;
}

}  // namespace nigh::cli
