// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh bench`: options, the wiring of one run, and where its records go.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/bench_catalog.hpp"
#include "cli/bench_fingerprint.hpp"
#include "cli/bench_here.hpp"
#include "cli/bench_runner.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

namespace {

struct Options {
  std::string name, runtime = "both", teams, save, size;
  std::vector<std::string> subjects;
  int samples = 5;
  double timeout = 300;
  bool quick = false, json = false;
};

void list_benches() {
  for (const BenchKind& kind : bench_kinds()) fmt::print("{:<16} {}\n", kind.name, kind.title);
}

Result<BenchRequest> make_request(const Options& options, const Machine& machine, const CpuSet& mask) {
  BenchRequest request;
  auto kind = find_bench(options.name);
  if (!kind) return tl::unexpected(kind.error());
  request.kind = *kind;
  request.usable = usable_part(machine, mask);
  request.runtimes = options.runtime == "both" ? std::vector<std::string>{"libgomp", "libomp"}
                                               : std::vector<std::string>{options.runtime};
  request.teams = default_teams(*kind, request.usable.cores, options.quick);
  if (!options.teams.empty()) {
    auto teams = parse_teams(options.teams);
    if (!teams) return tl::unexpected(teams.error());
    request.teams = *teams;
  }
  request.options = size_options(*kind, request.usable, options.quick);
  request.subjects = options.subjects;
  request.samples = options.samples;
  request.timeout_seconds = options.timeout;
  auto self = sys::own_executable();
  if (!self) return tl::unexpected(self.error());
  request.nigh = *self;
  return request;
}

// A misspelt subject would silently measure nothing.
Result<void> check_subjects(const BenchRequest& request) {
  std::vector<std::string> known;
  for (const char* runtime : {"libgomp", "libomp"})
    for (const Subject& s : subjects_for(request.kind, runtime, {1, 1}, request.usable, "nigh"))
      if (std::find(known.begin(), known.end(), s.name) == known.end()) known.push_back(s.name);
  for (const std::string& name : request.subjects)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Errc::invalid,
                  fmt::format("--subjects: there is no '{}'; there are {}", name, fmt::join(known, "; ")));
  return {};
}

void show_progress(BenchRequest& request) {
  if (isatty(STDERR_FILENO) == 0) return;
  request.progress = [](double share, const std::string& what) {
    std::fprintf(stderr, "\r\033[K%3.0f%%  %s", 100 * share, what.c_str());
    std::fflush(stderr);
  };
}

int show(const Options& options, const BenchFile& file) {
  std::string text = to_json(file).dump(1) + "\n";
  if (options.json)
    std::fputs(text.c_str(), stdout);
  else
    fmt::print("{}\n{}", fingerprint_line(file.machine), bench_table(file, isatty(STDOUT_FILENO) != 0));
  if (!options.save.empty())
    if (auto written = sys::write_file(options.save, text); !written)
      return report_failure("bench", written.error().message);
  for (const BenchRecord& record : file.records)
    if (!record.verified) return report_failure("bench", record.case_name + ": a result is wrong");
  return 0;
}

struct Prepared {
  BenchRequest request;
  BenchFile file;
};

Result<Prepared> prepare(const Options& options) {
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  auto mask = sys::affinity();
  if (!mask) return tl::unexpected(mask.error());
  auto request = make_request(options, *machine, *mask);
  if (!request) return tl::unexpected(request.error());
  if (auto known = check_subjects(*request); !known) return tl::unexpected(known.error());
  Prepared out{*std::move(request), {}};
  out.file.machine = fingerprint(*machine, *mask, sys::Os());
  out.file.machine["bench_options"] = out.request.options;
  out.file.machine["quick"] = options.quick;
  show_progress(out.request);
  return out;
}

Result<void> measure(Prepared& prepared) {
  auto ran = run_bench(prepared.request, prepared.file);
  prepared.file.machine["load_after"] = load_average(sys::Os());
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  return ran;
}

int bench(const Options& options) {
  if (options.name.empty()) return list_benches(), 0;
  auto prepared = prepare(options);
  if (!prepared) {
    report_failure("bench", prepared.error().message);
    return prepared.error().code == Errc::invalid ? 2 : 1;
  }
  auto ran = measure(*prepared);
  int status = show(options, prepared->file);
  return ran ? status : report_failure("bench", ran.error().message);
}

}  // namespace

Result<BenchFile> bench_here(const std::string& name) {
  Options options;
  options.name = name;
  options.quick = true;
  auto prepared = prepare(options);
  if (!prepared) return tl::unexpected(prepared.error());
  if (auto ran = measure(*prepared); !ran) return tl::unexpected(ran.error());
  return std::move(prepared->file);
}

void add_bench(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure nested OpenMP programs under nigh, unbound and under other ways to bind them");
  command->add_option("name", options->name,
                      "nested-stream, nested-sync, geothermal, nested-overhead; none: list them");
  command->add_option("--runtime", options->runtime, "libgomp, libomp or both")
      ->check(CLI::IsMember({"libgomp", "libomp", "both"}));
  command->add_option("--teams", options->teams, "Team sizes, OUTERxINNER, such as 4x2,1x8");
  command->add_option("--samples", options->samples, "Samples of each subject, taken in turn (default 5)")
      ->check(CLI::Range(1, 10000));
  command->add_option("--subjects", options->subjects, "Only these, separated by ';', such as 'nigh;unbound'")
      ->delimiter(';');
  command->add_option("--timeout", options->timeout, "Seconds after which one run is stopped (default 300)")
      ->check(CLI::PositiveNumber);
  command->add_option("--save", options->save, "Also write the records to this file");
  command->add_flag("--quick", options->quick, "Smaller data and fewer cases");
  command->add_flag("--json", options->json, "Print the records as JSON");
  command->callback([options, &status] { status = bench(*options); });
}

}  // namespace nigh::cli
