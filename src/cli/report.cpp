// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh report`: gathers what there is (this machine, plans, benchmark files, a table of peers, a run's
// account) and writes the page.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/bench_catalog.hpp"
#include "cli/bench_fingerprint.hpp"
#include "cli/bench_here.hpp"
#include "cli/commands.hpp"
#include "cli/report_page.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"

namespace nigh::cli {

namespace {

struct ReportOptions {
  std::string out = "build/report.html", peers, account, machine;
  std::vector<std::string> benches, traces;
  bool no_run = false, summary = false, json = false;
};

// Cases of the slides on machines of the slides, and one that is larger.
const std::vector<std::pair<std::string, std::string>>& model_cases() {
  static const std::vector<std::pair<std::string, std::string>> cases = {
      {"barcelona", "4,scatter,4,subscatter"},
      {"barcelona", "4,scatter,4,scatter"},
      {"nehalem-sun", "2,scatter,8,subcompact"},
      {"opteron-6272", "8,scatter,4,subcompact"}};
  return cases;
}

void add_plans(ReportParts& parts) {
  int cores = usable_part(parts.machine, parts.mask).cores;
  for (const Teams& teams : default_teams(bench_kinds().front(), cores, false)) {
    if (teams.threads() == 1) continue;
    std::string spec = fmt::format("{},scatter,{},subscatter", teams.outer, teams.inner.value_or(1));
    if (auto plan = picture_plan(parts.machine, parts.mask, spec))
      parts.plans_here.push_back(*std::move(plan));
    if (parts.plans_here.size() == 4) break;
  }
  for (const auto& [model, spec] : model_cases()) {
    auto machine = load_model(model);
    if (!machine) continue;
    auto plan = picture_plan(*machine, machine->pus(), spec);
    if (plan) parts.plans_elsewhere.push_back(*std::move(plan));
  }
}

Result<void> add_benches(const ReportOptions& options, ReportParts& parts) {
  for (const std::string& path : options.benches) {
    auto text = sys::read_file(path);
    if (!text) return tl::unexpected(text.error());
    auto file = bench_file_from_json(*text, path);
    if (!file) return tl::unexpected(file.error());
    parts.benches.push_back(*std::move(file));
  }
  // Who names what has been measured wants to look at that.
  if (!options.benches.empty() || !options.traces.empty() || options.no_run) return {};
  for (const char* name : {"nested-stream", "nested-sync", "geothermal"}) {
    auto file = bench_here(name);
    if (!file) return fail_in(name, file.error());
    parts.benches.push_back(*std::move(file));
  }
  return {};
}

// A file that was not named but lies where `tests/vm` puts it is taken too.
Result<void> add_peers(const ReportOptions& options, ReportParts& parts) {
  std::string path = options.peers;
  if (path.empty()) path = (std::filesystem::path(options.out).parent_path() / "peers.json").string();
  auto text = sys::read_file(path);
  if (!text) {
    if (options.peers.empty()) return {};
    return tl::unexpected(text.error());
  }
  auto peers = peers_from_json(*text, path);
  if (!peers) return tl::unexpected(peers.error());
  parts.peers = *std::move(peers);
  return {};
}

Result<ReportParts> gather(const ReportOptions& options) {
  auto machine = load_machine(options.machine);
  if (!machine) return tl::unexpected(machine.error());
  ReportParts parts;
  parts.machine = *std::move(machine);
  parts.mask = parts.machine.pus();
  if (options.machine.empty())
    if (auto mask = sys::affinity()) parts.mask = *mask & parts.machine.pus();
  parts.date = now_text();
  add_plans(parts);
  if (auto added = add_benches(options, parts); !added) return tl::unexpected(added.error());
  if (auto added = add_peers(options, parts); !added) return tl::unexpected(added.error());
  for (const std::string& path : options.traces) {
    auto text = sys::read_file(path);
    if (!text) return tl::unexpected(text.error());
    auto trace = trace_from_json(*text, path);
    if (!trace) return tl::unexpected(trace.error());
    parts.traces.push_back(*std::move(trace));
  }
  if (!options.account.empty()) {
    auto text = sys::read_file(options.account);
    if (!text) return tl::unexpected(text.error());
    parts.account = *std::move(text);
  }
  return parts;
}

// What the page holds, for programs; the figures themselves are in the files of nigh bench --save.
void print_contents(const std::string& page, const ReportParts& parts) {
  nlohmann::ordered_json benches = nlohmann::ordered_json::array();
  for (const BenchFile& file : parts.benches) {
    auto right = std::count_if(file.records.begin(), file.records.end(),
                               [](const BenchRecord& r) { return r.verified; });
    benches.push_back({{"bench", file.records.empty() ? "" : file.records.front().bench},
                       {"records", file.records.size()},
                       {"verified", right},
                       {"absent", file.absent.size()}});
  }
  nlohmann::ordered_json document = {{"format", "nigh-report"},
                                     {"version", 1},
                                     {"page", page},
                                     {"machine", parts.machine.name},
                                     {"plans", parts.plans_here.size() + parts.plans_elsewhere.size()},
                                     {"benches", benches},
                                     {"traces", parts.traces.size()},
                                     {"peers", parts.peers.has_value()},
                                     {"account", !parts.account.empty()}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int report(const ReportOptions& options) {
  auto parts = gather(options);
  if (!parts) return report_failure("report", parts.error().message);
  std::error_code ignored;  // write_file says what is wrong
  auto folder = std::filesystem::path(options.out).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  if (auto written = sys::write_file(options.out, report_page(*parts).text()); !written)
    return report_failure("report", written.error().message);
  if (options.json) {
    print_contents(options.out, *parts);
    return 0;
  }
  if (options.summary) fmt::print("{}", report_summary(*parts));
  fmt::print("{}\n", options.out);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Write one HTML page: machine, plans, benchmarks, peers");
  command->add_option("--out", options->out, "The page to write (default build/report.html)");
  command->add_option("--bench", options->benches, "A file that nigh bench --save wrote; may be given again");
  command->add_option("--peers", options->peers,
                      "A table of peers (default: peers.json beside the page, if there)");
  command->add_option(
      "--trace", options->traces,
      "What a message-driven program's --chare-trace wrote; may be given again (no benchmark is run then)");
  command->add_option("--account", options->account, "What nigh run --explain --explain-file wrote");
  command->add_option("--machine", options->machine, "Another machine: a model's name or a file");
  command->add_flag("--no-run", options->no_run,
                    "Without --bench and --trace: do not run the short benchmarks");
  auto* summary = command->add_flag("--summary", options->summary, "Also print a summary");
  command->add_flag("--json", options->json, "Print what the page holds as JSON")->excludes(summary);
  command->callback([options, &status] { status = report(*options); });
}

}  // namespace nigh::cli
