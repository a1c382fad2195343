// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run -n 8 -- ./app`: our own launcher for one node. Each rank gets a share of the PUs by plan, its
// place in the job, and the space; with --teams its threads are planned within its share. nigh stays as the
// parent of the ranks until they have ended.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/run.hpp"
#include "machine/load.hpp"
#include "plan/ranks.hpp"
#include "space/launch.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

namespace {

struct Job {
  std::vector<CpuSet> shares;
  std::vector<openmp::LaunchEnvironment> environments;  // of each rank, less its place in the job
  std::string machine;
};

Result<std::vector<CpuSet>> shares_of(const RunOptions& options, const CpuSet& own,
                                      std::string& machine_name) {
  auto binding = rank_binding_from(options.bind);
  if (!binding) return fail_in("--bind", binding.error());
  auto usable = usable_pus(options, own);
  if (!usable) return tl::unexpected(usable.error());
  if (*binding == RankBinding::none && options.machine.empty())
    return std::vector<CpuSet>(static_cast<std::size_t>(options.ranks), *usable);
  auto machine = load_machine(options.machine);
  if (!machine) return tl::unexpected(machine.error());
  machine_name = machine->name;
  auto tree = CoreTree::cut(*machine, *usable);
  if (!tree) return tl::unexpected(tree.error());
  return rank_shares(*tree, options.ranks, *binding);
}

// What one rank's environment is, but for its number.
Result<openmp::LaunchEnvironment> environment_of(const RunOptions& options, const CpuSet& share) {
  openmp::LaunchEnvironment out;
  if (has_teams(options)) {
    RunOptions one = options;
    one.mask = "";
    auto ready = make_ready(one, share);
    if (!ready) return tl::unexpected(ready.error());
    out = std::move(ready->environment);
  } else {
    out.variables = sys::environment();
  }
  auto library = find_library("libnigh-space.so");
  if (!library) return tl::unexpected(library.error());
  preload_first(out, *library);
  if (auto set = set_space_variables(out, options); !set) return tl::unexpected(set.error());
  return out;
}

Result<Job> make_job(const RunOptions& options, const CpuSet& own) {
  Job job;
  auto shares = shares_of(options, own, job.machine);
  if (!shares) return tl::unexpected(shares.error());
  job.shares = *std::move(shares);
  for (const CpuSet& share : job.shares) {
    bool same = !job.environments.empty() && share == job.shares[job.environments.size() - 1];
    if (same) {
      job.environments.push_back(job.environments.back());
      continue;
    }
    auto environment = environment_of(options, share);
    if (!environment) return tl::unexpected(environment.error());
    job.environments.push_back(*std::move(environment));
  }
  look_at_program(options, job.environments.front());
  return job;
}

void print_job(const RunOptions& options, const Job& job) {
  fmt::print("would start {} ranks of:", options.ranks);
  for (const auto& word : options.command) fmt::print(" {}", word);
  fmt::print("\n");
  for (const auto& v : job.environments.front().set) fmt::print("  set      {}={}\n", v.name, v.value);
  for (const auto& v : job.environments.front().removed) fmt::print("  removed  {}={}\n", v.name, v.value);
  for (std::size_t rank = 0; rank < job.shares.size(); ++rank)
    fmt::print("  rank {:<4} PUs {}\n", rank, job.shares[rank].to_list());
}

void print_job_json(const RunOptions& options, const Job& job) {
  auto variables = [](const std::vector<openmp::Variable>& list) {
    auto out = nlohmann::ordered_json::object();
    for (const auto& v : list) out[v.name] = v.value;
    return out;
  };
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t rank = 0; rank < job.shares.size(); ++rank)
    ranks.push_back({{"rank", rank}, {"mask", job.shares[rank].to_list()}});
  const auto& first = job.environments.front();
  nlohmann::ordered_json document = {
      {"format", "nigh-run"},
      {"version", 1},
      {"command", options.command},
      {"environment", {{"set", variables(first.set)}, {"removed", variables(first.removed)}}},
      {"remarks", first.remarks},
      {"bind", options.bind},
      {"ranks", ranks}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int start_job(const RunOptions& options, const Job& job) {
  space::RankLaunch launch;
  launch.command = options.command;
  auto key = space::make_job_key(launch.key);
  if (!key) return run_failed(key.error().message);
  for (int rank = 0; rank < options.ranks; ++rank) {
    auto at = static_cast<std::size_t>(rank);
    launch.ranks.push_back(
        {.mask = job.shares[at],
         .environment = space::rank_environment(job.environments[at].variables, rank, options.ranks, *key)});
  }
  std::fflush(nullptr);
  auto outcome = space::launch_ranks(launch);
  if (!outcome) return run_failed(outcome.error().message);
  if (outcome->exec_errno != 0) {
    run_failed(options.command.front() + ": " + std::strerror(outcome->exec_errno));
    return outcome->exec_errno == ENOENT ? run_status_not_found : run_status_cannot_execute;
  }
  if (!outcome->sentence.empty()) std::fprintf(stderr, "nigh run: %s\n", outcome->sentence.c_str());
  return outcome->status;
}

}  // namespace

int run_ranks(const RunOptions& options, const CpuSet& own) {
  auto job = make_job(options, own);
  if (!job) return run_failed(job.error().message);
  for (const auto& remark : job->environments.front().remarks) run_say(options, remark);
  if (!options.dry_run) return start_job(options, *job);
  if (options.json)
    print_job_json(options, *job);
  else
    print_job(options, *job);
  return 0;
}

}  // namespace nigh::cli
