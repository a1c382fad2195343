// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh report`: gathers what there is (this machine, plans, what other commands wrote, a table of peers, a
// run's account) and writes the page.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "benchmark/catalog.hpp"
#include "benchmark/fingerprint.hpp"
#include "cli/bench_here.hpp"
#include "cli/commands.hpp"
#include "cli/run_record.hpp"
#include "machine/draw.hpp"
#include "machine/load.hpp"
#include "machine/probe.hpp"
#include "report/documents.hpp"
#include "report/page.hpp"
#include "sys/os.hpp"

namespace nigh::cli {

namespace {

struct ReportOptions {
  std::string out = "build/report.html", peers, account, machine, perfetto;
  std::vector<std::string> files, benches, traces;
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

void add_plan(report::ReportParts& parts, const Machine& machine, const CpuSet& mask,
              const std::string& spec) {
  auto plan = NestedPlan::make(machine, mask, spec);
  auto threads = plan ? expand(*plan, 0) : Result<std::vector<PlannedThread>>(tl::unexpected(plan.error()));
  if (threads) parts.documents.push_back(report::plan_document(machine, mask, spec, 0, *threads));
}

// Plans of this machine, and of models.
void add_plans(report::ReportParts& parts, const CpuSet& mask) {
  int made = 0;
  for (const benchmark::Teams& teams : default_teams(
           benchmark::bench_kinds().front(), benchmark::usable_part(parts.machine, mask).cores, false)) {
    if (teams.threads() == 1) continue;
    add_plan(parts, parts.machine, mask,
             fmt::format("{},scatter,{},subscatter", teams.outer, teams.inner.value_or(1)));
    if (++made == 4) break;
  }
  std::string last;
  for (const auto& [model, spec] : model_cases()) {
    auto machine = load_model(model);
    if (!machine || machine->name == parts.machine.name) continue;
    if (last != model) parts.documents.push_back(report::machine_document(*machine));
    last = model;
    add_plan(parts, *machine, machine->pus(), spec);
  }
}

Result<void> add_document(report::ReportParts& parts, nlohmann::ordered_json document,
                          const std::string& path) {
  // Pages hold the same models, and often the same machine.
  const auto same = [&](nlohmann::ordered_json other) {
    other.erase("file");
    return other == document;
  };
  if (std::any_of(parts.documents.begin(), parts.documents.end(),
                  [&](const auto& other) { return other["format"] == document["format"] && same(other); }))
    return {};
  if (document["format"] == "nigh-bench") {
    auto file = benchmark::bench_file_from_json(document.dump(), path);
    if (!file) return tl::unexpected(file.error());
    parts.benches.push_back(*std::move(file));
  }
  const std::string name = printable(std::filesystem::path(path).filename().string());
  document["file"] = document.contains("file") ? name + ": " + document["file"].get<std::string>() : name;
  parts.documents.push_back(std::move(document));
  return {};
}

// A file of nigh, or the folder of a record.
Result<void> add_file(report::ReportParts& parts, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    auto records = read_rank_records(path);
    if (!records) return tl::unexpected(records.error());
    parts.documents.push_back(traffic_document(*records, printable(path)));
    if (auto times = rank_times_document(*records, printable(path)); !times.is_null())
      parts.documents.push_back(std::move(times));
    return {};
  }
  auto text = sys::read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto documents = report::page_documents(*text, path);
  if (!documents) return tl::unexpected(documents.error());
  for (auto& document : *documents)
    if (auto added = add_document(parts, std::move(document), path); !added) return added;
  return {};
}

Result<void> add_files(const ReportOptions& options, report::ReportParts& parts) {
  for (const std::vector<std::string>* list : {&options.files, &options.benches})
    for (const std::string& path : *list)
      if (auto added = add_file(parts, path); !added) return added;
  // A user who names results wants to look at those.
  if (!options.files.empty() || !options.benches.empty() || !options.traces.empty() || options.no_run)
    return {};
  for (const char* name : {"nested-stream", "nested-sync", "geothermal"}) {
    auto file = bench_here(name);
    if (!file) return fail_in(name, file.error());
    parts.documents.push_back(to_json(*file));
    parts.benches.push_back(*std::move(file));
  }
  return {};
}

// A file that was not named but lies where `tests/vm` puts it is taken too.
Result<void> add_peers(const ReportOptions& options, report::ReportParts& parts) {
  std::string path = options.peers;
  if (path.empty()) path = (std::filesystem::path(options.out).parent_path() / "peers.json").string();
  auto text = sys::read_file(path);
  if (!text) {
    if (options.peers.empty()) return {};
    return tl::unexpected(text.error());
  }
  auto peers = report::peers_from_json(*text, path);
  if (!peers) return tl::unexpected(peers.error());
  parts.peers = *std::move(peers);
  return {};
}

Result<report::ReportParts> gather(const ReportOptions& options) {
  const bool own = options.machine.empty() || options.machine == "this";
  auto machine = own ? load_this_machine_with_devices() : load_machine(options.machine);
  if (!machine) return tl::unexpected(machine.error());
  if (own) apply_stored_probe(*machine);
  report::ReportParts parts;
  parts.machine = *std::move(machine);
  parts.date = now_text();
  CpuSet mask = parts.machine.pus();
  if (own)
    if (auto allowed = sys::affinity()) mask = *allowed & mask;
  parts.documents.push_back(report::machine_document(parts.machine));
  add_plans(parts, mask);
  if (auto added = add_files(options, parts); !added) return tl::unexpected(added.error());
  if (auto added = add_peers(options, parts); !added) return tl::unexpected(added.error());
  for (const std::string& path : options.traces) {
    auto text = sys::read_file(path);
    if (!text) return tl::unexpected(text.error());
    auto trace = report::trace_from_json(*text, path);
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

std::size_t documents_of(const report::ReportParts& parts, const char* format) {
  return static_cast<std::size_t>(std::count_if(parts.documents.begin(), parts.documents.end(),
                                                [&](const auto& one) { return one["format"] == format; }));
}

// The contents of the page, for programs; the figures themselves are in the files of nigh bench --save.
void print_contents(const std::string& page, const report::ReportParts& parts) {
  nlohmann::ordered_json benches = nlohmann::ordered_json::array();
  for (const benchmark::BenchFile& file : parts.benches) {
    auto right = std::count_if(file.records.begin(), file.records.end(),
                               [](const benchmark::BenchRecord& r) { return r.verified; });
    benches.push_back({{"bench", file.records.empty() ? "" : file.records.front().bench},
                       {"records", file.records.size()},
                       {"verified", right},
                       {"absent", file.absent.size()}});
  }
  nlohmann::ordered_json formats = nlohmann::ordered_json::array();
  for (const auto& one : parts.documents) formats.push_back(one["format"]);
  nlohmann::ordered_json document = {{"format", "nigh-report"},
                                     {"version", 1},
                                     {"page", page},
                                     {"machine", parts.machine.name},
                                     {"plans", documents_of(parts, "nigh-plan")},
                                     {"benches", benches},
                                     {"traces", parts.traces.size()},
                                     {"peers", parts.peers.has_value()},
                                     {"account", !parts.account.empty()},
                                     {"documents", formats}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// `--perfetto`: no page.
int report_perfetto(const ReportOptions& options) {
  if (options.files.size() != 1)
    return report_failure("report",
                          "--perfetto needs one record of ranks: nigh report --perfetto FILE FOLDER");
  const std::string& folder = options.files.front();
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return report_failure("report", fmt::format("--perfetto: {} is no folder of nigh run --record", folder));
  auto records = read_rank_records(folder);
  if (!records) return report_failure("report", records.error().message);
  const std::string text = perfetto_counters(*records);
  if (text.empty()) return report_failure("report", fmt::format("--perfetto: {} has no times", folder));
  if (auto written = sys::write_file(options.perfetto, text); !written)
    return report_failure("report", written.error().message);
  if (options.json) {
    const nlohmann::ordered_json document = {{"format", "nigh-report"},
                                             {"version", 1},
                                             {"perfetto", options.perfetto},
                                             {"ranks", records->front().ranks},
                                             {"told", records->size()}};
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}\n", options.perfetto);
  }
  return 0;
}

int report(const ReportOptions& options) {
  if (!options.perfetto.empty()) return report_perfetto(options);
  auto parts = gather(options);
  if (!parts) return report_failure("report", parts.error().message);
  std::error_code ignored;  // write_file says what is wrong
  auto folder = std::filesystem::path(options.out).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  if (auto written = sys::write_file(options.out, report_page(*parts)); !written)
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
  CLI::App* command =
      app.add_subcommand("report", "Write one HTML page: gains, machine, messages, benchmarks");
  command->add_option("file", options->files,
                      "JSON of compare, tune, bench, machine, plan or ps, the folder of a record of ranks, "
                      "or a page that was kept");
  auto* perfetto = command->add_option("--perfetto", options->perfetto,
                                       "In place of a page: the record of ranks as a trace for Perfetto");
  perfetto->excludes(
      command->add_option("--out", options->out, "The page to write (default build/report.html)"));
  command->add_option("--bench", options->benches, "A file that nigh bench --save wrote; may be given again");
  command->add_option("--peers", options->peers,
                      "A table of peers (default: peers.json beside the page, if there)");
  perfetto->excludes(command->add_option(
      "--trace", options->traces,
      "Trace of a message-driven program (--chare-trace); may be given again (no benchmark is run then)"));
  command->add_option("--account", options->account, "Account of nigh run --explain --explain-file");
  command->add_option("--machine", options->machine, "Another machine: a model's name or a file");
  command->add_flag("--no-run", options->no_run, "Without files: do not run the short benchmarks");
  auto* summary = command->add_flag("--summary", options->summary, "Also print a summary");
  command->add_flag("--json", options->json, "Print what the page holds as JSON")->excludes(summary);
  command->callback([options, &status] { status = report(*options); });
}

}  // namespace nigh::cli
