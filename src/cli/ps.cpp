// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh ps`: who is bound where now.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "machine/load.hpp"
#include "report/ps_view.hpp"
#include "sys/os.hpp"

namespace nigh::cli {

namespace {

struct PsOptions {
  std::vector<int> pids;
  bool all = false, threads = false, memory = false, json = false;
};

// The NUMA nodes of PUs, as a list; "" where the machine can't be read.
class Nodes {
 public:
  Nodes() : machine_(load_this_machine()) {}
  [[nodiscard]] std::vector<int> of(const CpuSet& pus) const {
    std::set<int> out;
    if (machine_)
      for (const int pu : pus.members())
        if (const int node = machine_->node_of_pu(pu); node >= 0)
          out.insert(machine_->node_number(static_cast<std::size_t>(node)));
    return {out.begin(), out.end()};
  }
  [[nodiscard]] std::string text(const CpuSet& pus) const {
    CpuSet list;
    for (const int node : of(pus)) list.set(node);
    return list.to_list();
  }

 private:
  Result<Machine> machine_;
};

std::string memory_text(const report::MemoryView& memory) {
  std::string out = fmt::format("{:.0f} MiB", memory.resident_mib);
  if (memory.huge_mib > 0) out += fmt::format(", {:.0f} of it in huge pages", memory.huge_mib);
  const char* before = "; ";
  for (const auto& [node, mib] : memory.by_node) {
    out += fmt::format("{}node {}: {:.0f}", before, node, mib);
    before = ", ";
  }
  return out;
}

nlohmann::ordered_json memory_document(const report::MemoryView& memory) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const auto& [node, mib] : memory.by_node) nodes.push_back({{"node", node}, {"mib", mib}});
  return {{"resident_mib", memory.resident_mib}, {"huge_mib", memory.huge_mib}, {"nodes", nodes}};
}

void print_text(const sys::Os& os, const std::vector<report::ProcessView>& seen, const PsOptions& options) {
  const Nodes nodes;
  const auto width = static_cast<std::size_t>(terminal_width());
  const auto line = [&](const std::string& text) { fmt::print("{}\n", one_line(text).substr(0, width)); };
  line(fmt::format("{:>8} {:>7} {:>5}  {:<16} {:<8} {}", "process", "threads", "bound", "PUs", "nodes",
                   "command"));
  for (const report::ProcessView& one : seen) {
    const CpuSet pus = one.pus();
    line(fmt::format("{:>8} {:>7} {:>5}  {:<16} {:<8} {}", one.pid, one.threads.size(), one.bound_threads(),
                     pus.to_list(), nodes.text(pus), one.command));
    if (options.memory) {
      const auto memory = report::memory_of(os, one.pid);
      line(fmt::format("{:>16} {}", "memory:", memory ? memory_text(*memory) : "of another user"));
    }
    if (!options.threads) continue;
    for (const report::ThreadView& thread : one.threads)
      line(fmt::format("{:>16} {:>5}  {:<16} {:<8} {}", thread.tid,
                       thread.cpu < 0 ? "" : fmt::format("@{}", thread.cpu), thread.pus.to_list(),
                       nodes.text(thread.pus), thread.name));
  }
}

void print_json(const sys::Os& os, const std::vector<report::ProcessView>& seen, bool with_memory) {
  const Nodes nodes;
  nlohmann::ordered_json document = {
      {"format", "nigh-ps"}, {"version", 1}, {"processes", nlohmann::ordered_json::array()}};
  for (const report::ProcessView& one : seen) {
    nlohmann::ordered_json threads = nlohmann::ordered_json::array();
    for (const report::ThreadView& thread : one.threads)
      threads.push_back(
          {{"tid", thread.tid}, {"name", thread.name}, {"pus", thread.pus.to_list()}, {"cpu", thread.cpu}});
    document["processes"].push_back({{"pid", one.pid},
                                     {"command", one.command},
                                     {"pus", one.pus().to_list()},
                                     {"nodes", nodes.of(one.pus())},
                                     {"bound_threads", one.bound_threads()},
                                     {"threads", threads}});
    if (!with_memory) continue;
    if (const auto memory = report::memory_of(os, one.pid))
      document["processes"].back()["memory"] = memory_document(*memory);
  }
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int ps(const PsOptions& options) {
  const sys::Os os;
  std::vector<report::ProcessView> seen = report::processes(os, options.pids);
  for (const int pid : options.pids)
    if (std::none_of(seen.begin(), seen.end(),
                     [&](const report::ProcessView& one) { return one.pid == pid; }))
      return report_failure("ps", fmt::format("there is no process {}, or it may not be looked at", pid));
  const CpuSet online = report::online_pus(os);
  if (!options.all && options.pids.empty())
    std::erase_if(seen, [&](const report::ProcessView& one) { return !one.is_restricted(online); });
  if (options.json)
    print_json(os, seen, options.memory);
  else if (seen.empty())
    fmt::print("every process may use all PUs ({})\n", online.to_list());
  else
    print_text(os, seen, options);
  return 0;
}

}  // namespace

void add_ps(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("ps", "Show which processes are bound, and where");
  auto options = std::make_shared<PsOptions>();
  command->add_option("-p,--pid", options->pids, "These processes only, bound or not")
      ->check(CLI::Range(1, 4194304));
  command->add_flag("--all", options->all, "All processes, also those that may use all PUs");
  command->add_flag("--threads", options->threads, "A line for each thread, with the PU where it ran last");
  command->add_flag("--memory", options->memory,
                    "The memory of each process by NUMA node, and how much of it is in huge pages");
  command->add_flag("--json", options->json, "JSON");
  command->callback([options, &status] { status = ps(*options); });
}

}  // namespace nigh::cli
