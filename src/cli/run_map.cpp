// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --rank-map MAP -- mpirun ./app`: the ranks start where the map of `nigh plan --ranks --json` puts
// them.
#include "cli/run_map.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.hpp"
#include "launch/launcher.hpp"
#include "launch/rank_map_words.hpp"
#include "sys/os.hpp"
#include "sys/process.hpp"

namespace nigh::cli {
namespace {

// The launcher's answer to this option; "" if there is none.
std::string told_by(const std::string& launcher, const char* option) {
  sys::Command command;
  command.words = {launcher, option};
  command.timeout_seconds = 20;
  const auto told = sys::run_command(command);
  return told ? told->out + told->err : "";
}

// Open MPI before 5 has an option for rankfiles, about which 5 prints a warning.
bool is_old_open_mpi(const std::string& launcher) {
  const std::string told = told_by(launcher, "--version");
  for (const std::string lead : {"(Open MPI) ", "(OpenRTE) "})
    if (const std::size_t at = told.find(lead); at != std::string::npos && at + lead.size() < told.size())
      return told[at + lead.size()] < '5';
  return false;
}

launch::MapWay map_way(launch::Launcher launcher, const std::string& word) {
  if (launcher == launch::Launcher::slurm) return launch::MapWay::hostfile;
  if (launcher == launch::Launcher::open_mpi)
    return is_old_open_mpi(word) ? launch::MapWay::rankfile : launch::MapWay::map_by_rankfile;
  return told_by(word, "--help").find("-rankmap") != std::string::npos ? launch::MapWay::rankmap
                                                                       : launch::MapWay::hosts;
}

Result<RunOptions> apply_map(const RunOptions& options, launch::Launcher launcher) {
  auto text = sys::read_file(options.rank_map);
  if (!text) return tl::unexpected(text.error());
  auto map = launch::parse_rank_map(*text);
  if (!map) return fail_in(options.rank_map, map.error());
  const launch::MapWay way = map_way(launcher, options.command.front());
  auto lines = write_rank_map(form_of(way), map->places, map->hosts);
  if (!lines || (map->hosts.empty() && launcher == launch::Launcher::slurm))
    return fail(Errc::invalid, fmt::format("{} names no hosts: plan it with --hosts", options.rank_map));
  auto file = sys::inherited_file("nigh-rank-map", *lines);
  if (!file) return tl::unexpected(file.error());
  auto words = words_with_map(way, options.command, *map, *file);
  if (!words) return tl::unexpected(words.error());
  RunOptions out = options;
  out.command = *std::move(words);
  if (way == launch::MapWay::hostfile) {
    ::setenv("SLURM_HOSTFILE", file->c_str(), 1);
    if (options.dry_run) run_say(options, "SLURM_HOSTFILE would be " + *file);
  }
  return out;
}

}  // namespace

void add_rank_map_option(CLI::App& command, const std::shared_ptr<RunOptions>& options) {
  command
      .add_option("--rank-map", options->rank_map,
                  "Start the ranks where this map puts them (nigh plan --ranks ... --json)")
      ->excludes("--ranks")
      ->excludes("--auto-hybrid");
}

Result<RunOptions> with_rank_map(const RunOptions& options) {
  if (options.rank_map.empty()) return options;
  const auto launcher = launch::launcher_of(options.command.front());
  if (!launcher)
    return fail(
        Errc::unsupported,
        fmt::format("--rank-map knows the launchers of Open MPI and MPICH, and srun; '{}' is none of them",
                    options.command.front()));
  auto made = apply_map(options, *launcher);
  if (!made) return fail_in("--rank-map", made.error());
  return made;
}

}  // namespace nigh::cli
