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
#include <sstream>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "launch/start_check.hpp"
#include "machine/load.hpp"
#include "plan/ranks.hpp"
#include "space/local_launcher.hpp"
#include "sys/append.h"
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

// The environment of one rank, except for its number.
Result<openmp::LaunchEnvironment> environment_of(const RunOptions& options, const CpuSet& share) {
  openmp::LaunchEnvironment out;
  if (auto self = sys::own_executable(); !self) {
    out.variables = sys::environment();
    out.remarks.push_back(self.error().message + "; the ranks run without a space, their teams unbound");
    return out;
  }
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
  if (!look_at_program(options.command.front(), job.environments.front()))
    for (auto& one : job.environments) one = job.environments.front();
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

std::string account_text(const space::Account& account, int ranks, bool json) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  std::string text;
  std::istringstream in(account.text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    text += "nigh: " + line + "\n";
  }
  if (!json) return text;
  nlohmann::ordered_json document = {
      {"format", "nigh-space"}, {"version", 1}, {"ranks", ranks}, {"rank", account.rank}, {"space", lines}};
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Into the file that was asked for, in which %p is the number of the rank's process; else to stderr.
void tell_account(const RunOptions& options, const std::vector<std::string>& environment,
                  const space::Account& account) {
  const std::string form = openmp::value_of(environment, "NIGH_EXPLAIN");
  if (form.empty() || form == "off" || form == "0") return;
  if (account.rank < 0)
    return run_say(options, "no account: no rank ended normally with libnigh-space.so in its process");
  std::string path = openmp::value_of(environment, "NIGH_EXPLAIN_FILE");
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos;)
    path.replace(at, 2, std::to_string(account.pid));
  const int fd = path.empty() ? -1 : nigh_open_append(path.c_str());
  std::FILE* file = fd < 0 ? nullptr : ::fdopen(fd, "a");
  if (!path.empty() && file == nullptr)
    run_say(options, path + " can't be opened (" + std::strerror(errno) + "): the account follows here");
  const std::string text = account_text(account, options.ranks, form == "json");
  std::fwrite(text.data(), 1, text.size(), file != nullptr ? file : stderr);
  if (file != nullptr) std::fclose(file);
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
  tell_account(options, job.environments.front().variables, outcome->account);
  if (!outcome->sentence.empty()) std::fprintf(stderr, "nigh run: %s\n", one_line(outcome->sentence).c_str());
  return outcome->status;
}

}  // namespace

int run_ranks(const RunOptions& options, const CpuSet& own) {
  const launch::StartFacts facts = launch::start_facts(options.command, options.ranks);
  if (const std::string wrong = impossible_start(facts); !wrong.empty()) return run_failed(wrong);
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
