// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a program, for any form of `nigh run`: a policy of the kernel that is inherited over fork and
// exec, as numactl(8) sets it, and variables.
#include <fmt/format.h>

#include <cstdlib>

#include "cli/run.hpp"
#include "launch/launcher.hpp"
#include "machine/load.hpp"
#include "sys/start.hpp"

namespace nigh::cli {

namespace {

struct NamedPolicy {
  const char* option;
  const std::string RunOptions::* nodes;
  sys::MemoryPolicy policy;
};
constexpr NamedPolicy policies[] = {
    {"--interleave", &RunOptions::interleave, sys::MemoryPolicy::interleave},
    {"--weighted-interleave", &RunOptions::weighted_interleave, sys::MemoryPolicy::weighted_interleave},
    {"--membind", &RunOptions::membind, sys::MemoryPolicy::bind},
    {"--preferred", &RunOptions::preferred, sys::MemoryPolicy::preferred}};

Result<CpuSet> nodes_of(const std::string& text, const Machine& machine) {
  CpuSet all;
  for (std::size_t i = 0; i < machine.node_count(); ++i) all.set(machine.node_number(i));
  if (text == "all") return all;
  auto nodes = CpuSet::parse(text);
  if (!nodes) return nodes;
  if (nodes->empty() || !all.contains(*nodes))
    return fail(Errc::invalid, "this machine has nodes " + all.to_list() + ", not " + text);
  return nodes;
}

Result<void> set_policy(const NamedPolicy& named, const RunOptions& options) {
  const std::string& text = options.*(named.nodes);
  auto machine = load_this_machine();
  auto nodes = machine ? nodes_of(text, *machine) : tl::unexpected(machine.error());
  if (!nodes) return fail_in(named.option, nodes.error());
  if (options.dry_run) return {};
  const auto launcher = launch::launcher_of(options.command.front());
  if (launcher == launch::Launcher::slurm)
    run_say(options,
            fmt::format("{}: does not reach the ranks, which Slurm's daemon starts; srun --mem-bind does",
                        named.option));
  else if (launcher && names_other_nodes(options.command))
    run_say(options,
            fmt::format("{}: on this node only; launchers don't hand a memory policy on", named.option));
  auto set = sys::set_memory_policy(named.policy, *nodes);
  return set ? set : fail_in(named.option, set.error());
}

// GLIBC_TUNABLES is a list that colons divide; of one name the last counts.
void add_tunable(const char* tunable) {
  const char* others = std::getenv("GLIBC_TUNABLES");
  const std::string list =
      others != nullptr && *others != '\0' ? fmt::format("{}:{}", others, tunable) : tunable;
  ::setenv("GLIBC_TUNABLES", list.c_str(), 1);
}

// For --dry-run, whose table has what the other parts set.
void show(const RunOptions& options) {
  for (const NamedPolicy& named : policies)
    if (const std::string& nodes = options.*(named.nodes); !nodes.empty())
      run_say(options, fmt::format("the memory policy would be {} {}", named.option, nodes));
  if (options.huge_pages)
    run_say(options, fmt::format("GLIBC_TUNABLES would be {}", std::getenv("GLIBC_TUNABLES")));
  if (options.threads > 0) run_say(options, fmt::format("OMP_NUM_THREADS would be {}", options.threads));
}

}  // namespace

Result<void> prepare_memory(const RunOptions& options) {
  for (const NamedPolicy& named : policies)
    if (!(options.*(named.nodes)).empty())
      if (auto set = set_policy(named, options); !set) return set;
  if (options.huge_pages) add_tunable("glibc.malloc.hugetlb=1");
  if (options.threads > 0) ::setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);
  if (options.dry_run) show(options);
  return {};
}

}  // namespace nigh::cli
