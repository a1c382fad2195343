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

#include "benchmark/catalog.hpp"
#include "benchmark/fingerprint.hpp"
#include "benchmark/model.hpp"
#include "benchmark/nodes.hpp"
#include "benchmark/runner.hpp"
#include "benchmark/steps.hpp"
#include "benchmark/table.hpp"
#include "cli/bench_here.hpp"
#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"

namespace nigh::cli {

namespace {

struct BenchOptions {
  std::string name, runtime = "both", teams, save, size;
  std::vector<std::string> subjects;
  std::string library;  // of mpi-nodes and transpose-steps
  int samples = 5, threads = 0;
  double timeout = 300;
  bool quick = false, json = false;
};

void list_benches() {
  for (const benchmark::BenchKind& kind : benchmark::bench_kinds())
    fmt::print("{:<16} {}\n", kind.name, kind.title);
  for (const benchmark::ModelBench& bench : benchmark::model_benches())
    fmt::print("{:<16} {}\n", bench.name, bench.title);
  fmt::print("{:<16} {}\n", benchmark::nodes_bench,
             "collectives on ranks of a launcher (-- mpirun -n 16 --host a:8,b:8), on several nodes");
  fmt::print("{:<16} {}\n", benchmark::steps_bench,
             "the three steps on ranks of a launcher (-- mpirun -n 8), timed and predicted");
}

// The libraries of MPI that are installed, as far as they can be used; why not the others.
struct Libraries {
  std::vector<launch::MpiInstall> installs;
  std::vector<std::string> without;
};

Libraries installed_libraries() {
  Libraries out;
  out.installs = launch::named(launch::find_mpi(launch::launcher_folders()), "patterns", out.without);
  return out;
}

Result<std::vector<std::string>> wanted_libraries(const BenchOptions& options, const Libraries& libraries) {
  std::vector<std::string> all, wanted;
  for (const launch::MpiInstall& one : libraries.installs)
    if (one.name == options.runtime) return std::vector<std::string>{one.name};
  for (const launch::MpiInstall& one : libraries.installs) {
    all.push_back(one.name);
    if (options.runtime == "both" || one.name.starts_with(options.runtime + "-")) wanted.push_back(one.name);
  }
  if (all.empty())
    return fail(Errc::unsupported,
                libraries.without.empty()
                    ? "no library of MPI was found: PATH has no mpiexec or mpirun with its library in lib or "
                      "lib64 beside it"
                    : libraries.without.front());
  if (wanted.empty())
    return fail(Errc::invalid,
                fmt::format("--runtime: there is no library '{}' here; there are {}{}{}", options.runtime,
                            fmt::join(all, ", "), libraries.without.empty() ? "" : "; ",
                            fmt::join(libraries.without, "; ")));
  return wanted;
}

Result<std::vector<std::string>> wanted_runtimes(const BenchOptions& options,
                                                 const benchmark::BenchKind& kind) {
  const auto& known = runtimes_of(kind);
  if (options.runtime == "both") return known;
  if (std::find(known.begin(), known.end(), options.runtime) != known.end())
    return std::vector<std::string>{options.runtime};
  return fail(Errc::invalid, fmt::format("--runtime: {} runs under {}, not {}", kind.name,
                                         fmt::join(known, " and "), options.runtime));
}

Result<benchmark::BenchRequest> make_request(const BenchOptions& options, const benchmark::BenchKind& kind,
                                             const Machine& machine, const CpuSet& mask,
                                             const Libraries& libraries) {
  benchmark::BenchRequest request;
  request.kind = kind;
  request.usable = benchmark::usable_part(machine, mask);
  auto runtimes = kind.is_mpi() ? wanted_libraries(options, libraries) : wanted_runtimes(options, kind);
  if (!runtimes) return tl::unexpected(runtimes.error());
  request.runtimes = *runtimes;
  for (const std::string& runtime : request.runtimes)
    if (kind.is_mpi()) request.installs.push_back(benchmark::mpi_named(runtime, libraries.installs));
  request.teams = default_teams(kind, request.usable.cores, options.quick);
  if (!options.teams.empty()) {
    auto teams = benchmark::parse_teams(options.teams);
    if (!teams) return tl::unexpected(teams.error());
    request.teams = *teams;
  }
  if (kind.on_ranks())
    for (const benchmark::Teams& teams : request.teams)
      if (teams.inner || teams.outer < 2 || teams.outer > 63)
        return fail(Errc::invalid,
                    fmt::format("--teams: {} takes numbers of ranks from 2 to 63, such as 2,4; not {}",
                                kind.name, teams.text()));
  if (kind.is_queues())
    for (const benchmark::Teams& teams : request.teams)
      if (teams.inner || teams.outer > 1024)
        return fail(Errc::invalid,
                    fmt::format("--teams: queues takes numbers of producers up to 1024, such as 1,4; not {}",
                                teams.text()));
  if (kind.is_copy())
    for (const benchmark::Teams& teams : request.teams)
      if (teams.inner)
        return fail(Errc::invalid,
                    fmt::format("--teams: copy takes numbers of threads, such as 1,4; not {}", teams.text()));
  if (kind.is_alloc() && request.teams != default_teams(kind, 1, false))
    return fail(Errc::invalid,
                fmt::format("--teams: alloc has one producer and one consumer; not {}", options.teams));
  if (kind.name == "pingpong" && request.teams != default_teams(kind, 1, false))
    return fail(Errc::invalid, fmt::format("--teams: pingpong is between 2 PEs; not {}", options.teams));
  if (kind.is_chare())
    for (const benchmark::Teams& teams : request.teams)
      if (teams.inner || (teams.outer != 1 && teams.outer != 2 && teams.outer != 4 && teams.outer != 8))
        return fail(Errc::invalid, fmt::format("--teams: {} takes 1, 2, 4 or 8 PEs, such as 2,4; not {}",
                                               kind.name, teams.text()));
  request.options = size_options(kind, request.usable, options.quick);
  request.subjects = options.subjects;
  request.samples = options.samples;
  request.timeout_seconds = options.timeout;
  auto self = sys::own_executable();
  if (!self) return tl::unexpected(self.error());
  request.nigh = *self;
  return request;
}

// A misspelt subject would silently measure nothing.
Result<void> check_subjects(const benchmark::BenchRequest& request) {
  std::vector<std::string> known;
  for (const std::string& runtime : request.kind.is_mpi() ? request.runtimes : runtimes_of(request.kind))
    for (const benchmark::Subject& s :
         subjects_for(request.kind, runtime, {2, 1}, request.usable, "nigh", request.installs))
      if (std::find(known.begin(), known.end(), s.name) == known.end()) known.push_back(s.name);
  for (const std::string& name : request.subjects)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Errc::invalid,
                  fmt::format("--subjects: there is no '{}'; there are {}", name, fmt::join(known, "; ")));
  return {};
}

template <class Request>
void show_progress(Request& request) {
  if (isatty(STDERR_FILENO) == 0) return;
  request.progress = [](double share, const std::string& what) {
    std::fprintf(stderr, "\r\033[K%3.0f%%  %s", 100 * share, what.c_str());
    std::fflush(stderr);
  };
}

int show(const BenchOptions& options, const benchmark::BenchFile& file) {
  std::string text = to_json(file).dump(1) + "\n";
  if (options.json)
    std::fputs(text.c_str(), stdout);
  else if (options.name == benchmark::steps_bench)
    fmt::print("{}", steps_table(file));
  else if (benchmark::is_model_bench(options.name))
    fmt::print("{}", model_table(file));
  else if (options.name == benchmark::nodes_bench)
    fmt::print("{} ranks on {} node{}\n{}", file.machine.value("ranks", 0), file.machine.value("nodes", 0),
               file.machine.value("nodes", 0) == 1 ? "" : "s", bench_table(file, isatty(STDOUT_FILENO) != 0));
  else
    fmt::print("{}\n{}", benchmark::fingerprint_line(file.machine),
               bench_table(file, isatty(STDOUT_FILENO) != 0));
  if (!options.save.empty())
    if (auto written = sys::write_file(options.save, text); !written)
      return report_failure("bench", written.error().message);
  for (const benchmark::BenchRecord& record : file.records)
    if (!record.verified) return report_failure("bench", record.case_name + ": a result is wrong");
  return 0;
}

struct Prepared {
  benchmark::BenchRequest request;
  benchmark::BenchFile file;
};

Result<Prepared> prepare(const BenchOptions& options, const benchmark::BenchKind& kind,
                         const Libraries& libraries) {
  auto machine = load_this_machine();
  if (!machine) return tl::unexpected(machine.error());
  auto mask = sys::affinity();
  if (!mask) return tl::unexpected(mask.error());
  auto request = make_request(options, kind, *machine, *mask, libraries);
  if (!request) return tl::unexpected(request.error());
  if (auto known = check_subjects(*request); !known) return tl::unexpected(known.error());
  Prepared out{*std::move(request), {}};
  out.file.machine = benchmark::fingerprint(*machine, *mask, sys::Os());
  out.file.machine["bench_options"] = out.request.options;
  out.file.machine["quick"] = options.quick;
  if (kind.is_mpi())
    for (const std::string& why : libraries.without) out.file.absent.push_back({kind.name, "", "all", why});
  show_progress(out.request);
  return out;
}

Result<void> measure(Prepared& prepared) {
  auto ran = run_bench(prepared.request, prepared.file);
  prepared.file.machine["load_after"] = benchmark::load_average(sys::Os());
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  return ran;
}

// One after the other, into one file; the machine's description is that of the first.
Result<benchmark::BenchFile> run_all(const BenchOptions& options,
                                     const std::vector<benchmark::BenchKind>& kinds, std::string& trouble) {
  std::vector<Prepared> all;
  Libraries libraries;
  if (std::any_of(kinds.begin(), kinds.end(), [](const benchmark::BenchKind& kind) { return kind.is_mpi(); }))
    libraries = installed_libraries();
  for (const benchmark::BenchKind& kind : kinds) {
    auto prepared = prepare(options, kind, libraries);
    if (!prepared) return tl::unexpected(prepared.error());
    all.push_back(*std::move(prepared));
  }
  for (Prepared& one : all) {
    if (auto ran = measure(one); !ran) trouble = ran.error().message;
    benchmark::BenchFile& first = all.front().file;
    if (&one.file == &first) continue;
    first.records.insert(first.records.end(), one.file.records.begin(), one.file.records.end());
    first.absent.insert(first.absent.end(), one.file.absent.begin(), one.file.absent.end());
    first.machine["load_after"] = one.file.machine["load_after"];
  }
  return std::move(all.front().file);
}

int compute(const BenchOptions& options) {
  auto file = benchmark::run_model_bench(options.name, options.quick ? 40 : 200);
  return file ? show(options, *file) : report_failure("bench", file.error().message);
}

// The ranks of `nigh bench transpose-steps -- mpirun -n 8`.
int launched(const BenchOptions& options) {
  benchmark::StepsRequest request{.sizes = {}, .launcher = program_words(), .library = options.library};
  std::string sizes = !options.size.empty() ? options.size
                      : options.quick       ? "512x512"
                                            : "1024x1024,1000x1037,2048x2048";
  for (std::size_t at = 0; at <= sizes.size();) {
    const std::size_t end = std::min(sizes.find(',', at), sizes.size());
    request.sizes.push_back(sizes.substr(at, end - at));
    at = end + 1;
  }
  request.threads = options.threads;
  request.passes = options.samples;
  request.timeout_seconds = options.timeout;
  auto file = run_transpose_steps(request);
  if (file) return show(options, *file);
  report_failure("bench", file.error().message);
  return file.error().code == Errc::invalid ? 2 : 1;
}

// The jobs of `nigh bench mpi-nodes -- mpirun -n 16 --host a:8,b:8`.
int on_nodes(const BenchOptions& options) {
  if (!options.teams.empty() || options.threads != 0 || options.runtime != "both") {
    report_failure("bench",
                   "--teams, --threads and --runtime are not mpi-nodes'; the launcher's words say it");
    return 2;
  }
  auto self = sys::own_executable();
  if (!self) return report_failure("bench", self.error().message);
  benchmark::NodesRequest request{.launcher = program_words(),
                                  .library = options.library,
                                  .subjects = options.subjects,
                                  .sizes = options.size,
                                  .samples = options.samples,
                                  .quick = options.quick,
                                  .timeout_seconds = options.timeout,
                                  .nigh = *self};
  show_progress(request);
  auto file = run_mpi_nodes(request);
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  if (file) return show(options, *file);
  report_failure("bench", file.error().message);
  return file.error().code == Errc::invalid ? 2 : 1;
}

int bench(const BenchOptions& options) {
  if (options.name.empty()) return list_benches(), 0;
  if (options.name == benchmark::steps_bench) return launched(options);
  if (options.name == benchmark::nodes_bench) return on_nodes(options);
  if (!program_words().empty()) {
    report_failure("bench", fmt::format("{} starts its programs itself; words after -- go with {} and {}",
                                        options.name, benchmark::nodes_bench, benchmark::steps_bench));
    return 2;
  }
  if (benchmark::is_model_bench(options.name)) return compute(options);
  auto kinds = benchmark::find_benches(options.name);
  std::string trouble;
  auto file = kinds ? run_all(options, *kinds, trouble) : tl::unexpected(kinds.error());
  if (!file) {
    report_failure("bench", file.error().message);
    return file.error().code == Errc::invalid ? 2 : 1;
  }
  int status = show(options, *file);
  return trouble.empty() ? status : report_failure("bench", trouble);
}

}  // namespace

Result<benchmark::BenchFile> bench_here(const std::string& name) {
  BenchOptions options;
  options.name = name;
  options.quick = true;
  auto kinds = benchmark::find_benches(name);
  if (!kinds) return tl::unexpected(kinds.error());
  std::string trouble;
  auto file = run_all(options, *kinds, trouble);
  if (file && !trouble.empty()) return fail(Errc::unsupported, trouble);
  return file;
}

void add_bench(CLI::App& app, int& status) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure programs with and without nigh, and under what others offer for the same");
  command->add_option("name", options->name, benchmark::bench_names() + "; none: list them");
  command->add_option(
      "--runtime", options->runtime,
      "libgomp or libomp; a library of MPI, such as openmpi or mpich-5.0.2; both: all there are");
  command->add_option(
      "--teams", options->teams,
      "Team sizes, OUTERxINNER, such as 4x2,1x8; numbers of ranks, producers or PEs, such as 2,4");
  command->add_option(
      "--size", options->size,
      "Matrices of transpose-steps, such as 1024x1024,1000x600; bytes of mpi-nodes, such as 8,65536");
  command
      ->add_option("--threads", options->threads,
                   "Threads of a rank of transpose-steps (default: all CPUs of a node)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--library", options->library,
                   "The launcher's MPI for mpi-nodes and transpose-steps: openmpi or mpich")
      ->check(CLI::IsMember({"openmpi", "mpich"}));
  command->add_option("--samples", options->samples, "Samples of each subject, taken in turn (default 5)")
      ->check(CLI::Range(1, 10000));
  command->add_option("--subjects", options->subjects, "Only these, separated by ';', such as 'nigh;unbound'")
      ->delimiter(';');
  command->add_option("--timeout", options->timeout, "Seconds after which one run is stopped (default 300)")
      ->check(number_from(0.001, 1e8));
  command->add_option("--save", options->save, "Also write the records to this file");
  command->add_flag("--quick", options->quick, "Smaller data and fewer cases");
  command->add_flag("--json", options->json, "Print the records as JSON");
  command->callback([options, &status] { status = bench(*options); });
}

}  // namespace nigh::cli
