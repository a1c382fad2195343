// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --dry-run`: what would be set and removed, and where each thread would be; of ranks that a
// launcher starts on this node, each one's.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/run.hpp"
#include "machine/load.hpp"
#include "plan/nested.hpp"

namespace nigh::cli {

using openmp::LaunchEnvironment;

namespace {

// The plan of one process.
struct ProcessPlan {
  CpuSet mask;
  std::vector<PlannedThread> threads;
};

struct Plans {
  std::string machine;
  std::vector<ProcessPlan> processes;  // one, or each rank of this node
};

Result<Plans> make_plans(const Ready& ready) {
  auto machine = load_machine(ready.launch.machine);
  if (!machine) return tl::unexpected(machine.error());
  Plans out{machine->name, {}};
  for (const CpuSet& mask : ready.shares.empty() ? std::vector{ready.launch.mask} : ready.shares) {
    auto plan = NestedPlan::make(*machine, mask, ready.launch.spec);
    if (!plan) return tl::unexpected(plan.error());
    auto threads = expand(*plan, 0);
    if (!threads) return tl::unexpected(threads.error());
    out.processes.push_back({mask, *std::move(threads)});
  }
  return out;
}

// The warning that the program itself would print at its first region.
void say_if_small(const RunOptions& options, const Ready& ready, const Plans& plans) {
  std::size_t threads = 1;
  for (const int size : ready.launch.sizes) threads *= static_cast<std::size_t>(size);
  for (const ProcessPlan& one : plans.processes)
    if (const auto pus = static_cast<std::size_t>(one.mask.count()); threads > pus)
      return run_say(options, fmt::format("the plan has {} threads for {} PU{} ({}), which they will share",
                                          threads, pus, pus == 1 ? "" : "s", one.mask.to_list()));
}

std::string path_text(const std::vector<int>& path, std::size_t levels) {
  std::string out;
  for (std::size_t i = 0; i < levels; ++i) out += fmt::format("{}{}", i == 0 ? "" : ".", path[i]);
  return out;
}

// One line for each innermost team: "team 2: PUs 8 9 10 11".
void print_map(const std::vector<PlannedThread>& threads) {
  std::string team = "-";
  for (const auto& thread : threads) {
    std::string master = path_text(thread.path, thread.path.size() - 1);
    if (master != team) {
      bool first = team == "-";
      fmt::print("{}  {:<12} PUs", first ? "" : "\n", master.empty() ? "team" : "team of " + master);
    }
    team = master;
    fmt::print(" {}", thread.pu);
  }
  fmt::print("\n");
}

void print_command(const RunOptions& options, const LaunchEnvironment& environment) {
  fmt::print("would run:");
  for (const auto& word : options.command) fmt::print(" {}", word);
  fmt::print("\n");
  for (const auto& v : environment.set) fmt::print("  set      {}={}\n", v.name, v.value);
  for (const auto& v : environment.removed) fmt::print("  removed  {}={}\n", v.name, v.value);
}

void print_dry_run(const RunOptions& options, const Ready& ready, const Plans& plans) {
  print_command(options, ready.environment);
  if (ready.launch.ranks && ready.shares.empty())
    fmt::print(
        "each rank plans within the PUs that its launcher leaves it; one that has all of this node:\n");
  for (std::size_t rank = 0; rank < plans.processes.size(); ++rank) {
    if (!ready.shares.empty()) fmt::print("rank {}: ", rank);
    fmt::print("plan {} on PUs {} of {}:\n", ready.launch.spec, plans.processes[rank].mask.to_list(),
               plans.machine);
    print_map(plans.processes[rank].threads);
  }
}

nlohmann::ordered_json variables_json(const std::vector<openmp::Variable>& variables) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& v : variables) out[v.name] = v.value;
  return out;
}

nlohmann::ordered_json environment_json(const LaunchEnvironment& environment) {
  return {{"set", variables_json(environment.set)}, {"removed", variables_json(environment.removed)}};
}

nlohmann::ordered_json plan_json(const Ready& ready, const Plans& plans, const ProcessPlan& one) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& t : one.threads)
    list.push_back(
        {{"path", t.path}, {"pu", t.pu}, {"core", t.core}, {"numa_node", t.numa_node}, {"reason", t.reason}});
  return {{"format", "nigh-plan"},      {"version", 1},
          {"machine", plans.machine},   {"spec", ready.launch.spec},
          {"mask", one.mask.to_list()}, {"threads", list}};
}

void print_dry_run_json(const RunOptions& options, const Ready& ready, const Plans& plans) {
  nlohmann::ordered_json document = {{"format", "nigh-run"},
                                     {"version", 1},
                                     {"command", options.command},
                                     {"environment", environment_json(ready.environment)},
                                     {"mask", ready.launch.mask.to_list()},
                                     {"remarks", ready.environment.remarks},
                                     {"plan", plan_json(ready, plans, plans.processes.front())}};
  if (!ready.shares.empty())
    for (const ProcessPlan& one : plans.processes) document["ranks"].push_back(plan_json(ready, plans, one));
  // Arguments and variables may hold any bytes: what is not UTF-8 is replaced, never an error.
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// Without a plan: what would be run and what is changed for it.
void print_plain(const RunOptions& options, const LaunchEnvironment& environment) {
  if (!options.json) {
    print_command(options, environment);
    return;
  }
  nlohmann::ordered_json document = {{"format", "nigh-run"},
                                     {"version", 1},
                                     {"command", options.command},
                                     {"environment", environment_json(environment)},
                                     {"remarks", environment.remarks}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

int dry_run(const RunOptions& options, const Ready& ready) {
  if (!ready.bind) {
    print_plain(options, ready.environment);
    return 0;
  }
  auto plans = make_plans(ready);
  if (!plans) return run_failed(plans.error().message);
  say_if_small(options, ready, *plans);
  if (options.json)
    print_dry_run_json(options, ready, *plans);
  else
    print_dry_run(options, ready, *plans);
  return 0;
}

}  // namespace nigh::cli
