// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run` uses what `nigh tune` found for the same command on the same machine, where nothing else is
// said, and names it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/run.hpp"
#include "machine/load.hpp"
#include "machine/probe.hpp"
#include "tune/profile.hpp"

namespace nigh::cli {

namespace {

bool says_nothing(const RunOptions& options) {
  const bool memory = options.huge_pages || options.threads > 0 || !options.interleave.empty() ||
                      !options.weighted_interleave.empty() || !options.membind.empty() ||
                      !options.preferred.empty();
  return is_automatic(options) && options.teams.empty() && options.only.empty() && options.off.empty() &&
         options.mask.empty() && options.machine.empty() && !memory;
}

// True if a word of the command waits for a number.
bool is_open(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word.find("{ranks}") != std::string::npos || word.find("{threads}") != std::string::npos;
  });
}

// The words that tune_candidates.cpp makes. False: another.
bool add_option(const std::vector<std::string>& words, std::size_t& at, RunOptions& options) {
  const std::string& name = words[at];
  if (name == "--mpi") return options.mpi = true;
  if (name == "--huge-pages") return options.huge_pages = true;
  if (++at == words.size()) return false;
  if (name == "--teams") return options.teams = words[at], true;
  if (name == "--interleave") return options.interleave = words[at], true;
  if (name != "--off") return false;
  options.off = words[at] == "mpi,teams" ? std::vector<std::string>{"mpi", "teams"} : std::vector{words[at]};
  return true;
}

Result<RunOptions> applied(const tune::Profile& profile, const RunOptions& options) {
  RunOptions out = options;
  for (std::size_t at = 0; at < profile.choice.options.size(); ++at)
    if (!add_option(profile.choice.options, at, out))
      return fail(Errc::invalid,
                  "the profile of this command has options that nigh tune does not write; it is ignored");
  if (profile.choice.alone) out.off = {"mpi", "teams"};
  out.threads = profile.choice.threads;
  out.command = written_in(options.command, profile.choice);
  return out;
}

// Error: there is no profile (ENOENT), or one that can't be used.
Result<RunOptions> profile_for(const RunOptions& options) {
  auto profile = tune::load_profile(options.command);
  if (!profile) return tl::unexpected(profile.error());
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  if (profile->topology != topology_hash(*machine) || profile->cpu != name_of_cpu())
    return fail(Errc::invalid,
                "the profile of this command is of another machine (" + profile->cpu + "); it is ignored");
  auto out = applied(*profile, options);
  if (out && (isatty(STDERR_FILENO) == 1 || options.dry_run || !options.explain.empty()))
    run_say(options, fmt::format("as nigh tune found on {}: {} ({} of the time of a plain nigh run)",
                                 profile->date, text_of(profile->choice), ratio_text(profile->gain)));
  return out;
}

}  // namespace

Result<RunOptions> with_profile(const RunOptions& options) {
  const bool open = is_open(options.command);
  if (!options.no_profile && says_nothing(options)) {
    auto found = profile_for(options);
    if (found) return found;
    if (found.error().sys_errno != ENOENT) run_say(options, found.error().message);
  }
  if (open && !options.no_profile)
    return fail(
        Errc::invalid,
        "the command has {ranks} or {threads} in it, and nigh tune has found no numbers for it here: nigh "
        "tune -- with the same command, or write numbers");
  return options;
}

}  // namespace nigh::cli
