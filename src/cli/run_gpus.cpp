// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --gpus -- mpirun -n 4 ./app`: each rank sees the GPUs nearest to its share of the node's PUs. The
// program starts through `nigh rank-gpus`, which a launcher runs as each rank: only there are the node, the
// number of its ranks and the variables that others set known. The launcher binds nobody; the ranks are bound
// to their shares.
#include "cli/run_gpus.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/commands.hpp"
#include "launch/gpu_words.hpp"
#include "launch/launcher.hpp"
#include "machine/load.hpp"
#include "plan/devices.hpp"
#include "plan/ranks.hpp"
#include "sys/launchers.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"

namespace nigh::cli {
namespace {

constexpr const char* rank_command = "rank-gpus";

std::string variable_here(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

struct RankGpus {
  CpuSet pus;
  std::vector<int> gpus;
};

// The PUs and GPUs of each rank of a node whose PUs are `mask`.
Result<std::vector<RankGpus>> gpus_of_ranks(const Machine& machine, const CpuSet& mask, int ranks) {
  auto usable = launch::usable_gpus(machine, [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  if (!usable) return tl::unexpected(usable.error());
  if (usable->empty())
    return fail(Errc::unsupported, "there is no GPU of NVIDIA, AMD or Intel to use on this node");
  auto tree = CoreTree::cut(machine, mask);
  if (!tree) return tl::unexpected(tree.error());
  const std::vector<CpuSet> shares = rank_shares(*tree, ranks, RankBinding::compact);
  const std::vector<std::vector<int>> lists = share_devices(machine, *usable, shares);
  std::vector<RankGpus> out;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) out.push_back({shares[rank], lists[rank]});
  return out;
}

// The ranks of this node as they would be, for --dry-run and --explain.
void show_ranks(const RunOptions& options, launch::Launcher launcher, const CpuSet& own) {
  const int ranks = ranks_of(launcher, options.command);
  auto machine = options.machine.empty() ? load_this_machine_with_devices() : load_machine(options.machine);
  if (!machine || ranks < 1) return;
  auto made = gpus_of_ranks(*machine, options.machine.empty() ? own : machine->pus(), ranks);
  if (!made) return run_say(options, "--gpus: " + made.error().message);
  for (std::size_t rank = 0; rank < made->size(); ++rank) {
    std::string words;
    for (const auto& [name, value] : launch::gpu_variables(*machine, (*made)[rank].gpus))
      words += fmt::format(" {}={}", name, value);
    run_say(options, fmt::format("rank {} of a node: PUs {},{}", rank, (*made)[rank].pus.to_list(), words));
  }
}

// Sets the variables of this rank and binds it. A sentence: why it was left as it is.
std::string take_gpus() {
  sys::LocalSeat seat;
  if (!sys::find_local_seat(sys::lookup_variable, nullptr, seat))
    return "no launcher says which rank this is";
  auto own = sys::affinity();
  auto machine = load_this_machine_with_devices();
  if (!own || !machine) return (own ? machine.error() : own.error()).message;
  auto made = gpus_of_ranks(*machine, *own, seat.size);
  if (!made) return made.error().message;
  const RankGpus& mine = (*made)[static_cast<std::size_t>(seat.rank)];
  for (const auto& [name, value] : launch::gpu_variables(*machine, mine.gpus))
    ::setenv(name.c_str(), value.c_str(), 1);
  if (seat.size <= own->count()) sys::set_affinity(mine.pus);
  return "";
}

int run_rank(const std::vector<std::string>& words) {
  if (words.empty()) return report_failure(rank_command, "say what to run");
  if (const std::string why = take_gpus();
      !why.empty() && sys::speaks_for_node(sys::lookup_variable, nullptr))
    report_failure(rank_command, "GPUs stay as they are: " + why);
  const int error = sys::become(words, sys::environment());
  report_failure(rank_command, fmt::format("can't run {}: {}", words.front(), std::strerror(error)));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

Result<RunOptions> with_gpus(const RunOptions& options, const CpuSet& own) {
  if (!options.gpus) return options;
  const auto launcher = launch::launcher_of(options.command.front());
  auto self = sys::own_executable();
  if (!self) return tl::unexpected(self.error());
  RunOptions out = options;
  if (!launcher) {
    sys::LocalSeat seat;
    if (!sys::find_local_seat(sys::lookup_variable, nullptr, seat))
      return fail(Errc::invalid,
                  fmt::format("--gpus shares the GPUs of a node out to its ranks, and '{}' is neither a "
                              "launcher of ranks nor started by one",
                              options.command.front()));
    out.command.insert(out.command.begin(), {*self, rank_command, "--"});
    return out;
  }
  auto words = words_with_wrapper(*launcher, options.command, {*self, rank_command, "--"}, variable_here);
  if (!words) return fail_in("--gpus", words.error());
  out.command = *std::move(words);
  if (options.dry_run || !options.explain.empty()) show_ranks(options, *launcher, own);
  return out;
}

void add_rank_gpus(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(rank_command, "As a rank of nigh run --gpus")->group("");
  command->callback([&status] { status = run_rank(program_words()); });
}

}  // namespace nigh::cli
