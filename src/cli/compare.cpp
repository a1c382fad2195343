// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh compare -- CMD`: the same command without and with `nigh run`, by turns, until the ratio of their
// times is known well enough or the time is spent. `nigh compare 'A' 'B'` holds any two commands against each
// other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/compare_run.hpp"
#include "cli/numbers.hpp"
#include "sys/os.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"
#include "sys/threads.hpp"
#include "tune/ratio.hpp"

namespace nigh::cli {

namespace {

struct CompareOptions {
  std::vector<std::string> both;  // the two commands, for the shell
  std::string run_options;
  std::string check;
  double seconds = 60, precision = 0.01;
  bool json = false;
};

Result<std::array<TimedCommand, 2>> subjects_of(const CompareOptions& options) {
  const std::vector<std::string>& command = program_words();
  if (!options.both.empty() && !command.empty())
    return fail(Errc::invalid, "give two commands, or one after --");
  if (options.both.size() == 2)
    return std::array{TimedCommand{options.both[0], {"/bin/sh", "-c", options.both[0]}},
                      TimedCommand{options.both[1], {"/bin/sh", "-c", options.both[1]}}};
  if (command.empty())
    return fail(
        Errc::invalid,
        "say what to compare: nigh compare -- ./app, or two commands: nigh compare './app 1' './app 2'");
  auto self = sys::own_executable();
  if (!self) return tl::unexpected(self.error());
  TimedCommand with{"with nigh", {*self, "run"}};
  for (const std::string& word : split_blanks(options.run_options)) with.words.push_back(word);
  with.words.push_back("--");
  with.words.insert(with.words.end(), command.begin(), command.end());
  return std::array{TimedCommand{"without", command}, with};
}

struct Comparison {
  std::array<TimedCommand, 2> subjects;
  std::array<std::vector<TimedRun>, 2> runs;
  std::string same;  // "equal", "different", "different from run to run"
  double seconds = 0;

  [[nodiscard]] std::vector<double> column(std::size_t subject, double TimedRun::* field) const {
    std::vector<double> out;
    for (const TimedRun& run : runs[subject]) out.push_back(run.*field);
    return out;
  }
  [[nodiscard]] tune::Ratio ratio(double TimedRun::* field) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < runs[1].size(); ++i)
      if (runs[0][i].*field > 0) out.push_back(runs[1][i].*field / (runs[0][i].*field));
    return tune::ratio_of(out);
  }
  [[nodiscard]] double foreign() const {
    std::vector<double> all = column(0, &TimedRun::foreign), more = column(1, &TimedRun::foreign);
    all.insert(all.end(), more.begin(), more.end());
    return tune::median_of(all);
  }
};

std::string compare_results(const Comparison& seen) {
  const auto differ = [](const std::vector<TimedRun>& runs) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const TimedRun& one) { return one.result != runs[0].result; });
  };
  if (differ(seen.runs[0])) return "different from run to run";
  return differ(seen.runs[1]) || seen.runs[0][0].result != seen.runs[1][0].result ? "different" : "equal";
}

// One of each that is not counted, then pairs, of which each begins with the other subject.
Result<Comparison> measure(const CompareOptions& options) {
  auto subjects = subjects_of(options);
  if (!subjects) return tl::unexpected(subjects.error());
  Comparison out{*std::move(subjects), {}, "", 0};
  const double began = sys::now_seconds();
  for (const TimedCommand& subject : out.subjects)
    if (auto first = run_once(subject, options.check); !first) return tl::unexpected(first.error());
  const double each = sys::now_seconds() - began;
  std::size_t next_look = 0;
  for (std::size_t pair = 0; pair == 0 || sys::now_seconds() - began + each < options.seconds; ++pair) {
    for (const std::size_t one : {pair % 2, 1 - pair % 2}) {
      auto run = run_once(out.subjects[one], options.check);
      if (!run) return tl::unexpected(run.error());
      out.runs[one].push_back(*std::move(run));
    }
    // Short programs make many pairs: looking at all of them after each one would take longer than they do.
    if (pair + 1 < next_look) continue;
    next_look = pair + 2 + pair / 16;
    const tune::Ratio time = out.ratio(&TimedRun::seconds);
    if (time.known && time.high - time.low <= 2 * options.precision) break;
  }
  out.same = compare_results(out);
  out.seconds = sys::now_seconds() - began;
  return out;
}

std::string shortened(const std::string& name) {
  return name.size() <= 16 ? name : name.substr(0, 13) + "...";
}

void print_text(const Comparison& seen) {
  const std::string first = shortened(seen.subjects[0].name), second = shortened(seen.subjects[1].name);
  fmt::print("{} pairs by turns in {:.0f} s; medians\n", seen.runs[0].size(), seen.seconds);
  fmt::print("{:<16} {:>16} {:>16}   ratio [95 %]\n", "", first, second);
  const auto row = [&](const char* name, double TimedRun::* field, const char* form) {
    const auto text = [&](std::size_t one) {
      return fmt::format(fmt::runtime(form), tune::median_of(seen.column(one, field)));
    };
    fmt::print("{:<16} {:>16} {:>16}   {}\n", name, text(0), text(1), ratio_text(seen.ratio(field)));
  };
  row("time", &TimedRun::seconds, "{:.3f} s");
  row("CPU time", &TimedRun::cpu, "{:.3f} s");
  row("largest process", &TimedRun::mib, "{:.1f} MiB");
  fmt::print("{:<16} {}\n", "output", seen.same);
  if (seen.foreign() > 0.05)
    fmt::print("{:<16} used {:.0f} % of the CPUs meanwhile\n", "others", 100 * seen.foreign());
  fmt::print("{}\n", verdict_of(seen.ratio(&TimedRun::seconds), seen.subjects[1].name));
}

void print_json(const Comparison& seen) {
  const auto ratio_json = [](const tune::Ratio& ratio) {
    nlohmann::ordered_json out = {{"median", ratio.median}};
    if (ratio.known) out["low"] = ratio.low, out["high"] = ratio.high;
    return out;
  };
  nlohmann::ordered_json document = {
      {"format", "nigh-compare"}, {"version", 1}, {"subjects", nlohmann::ordered_json::array()}};
  for (std::size_t one = 0; one < 2; ++one)
    document["subjects"].push_back({{"name", seen.subjects[one].name},
                                    {"command", seen.subjects[one].words},
                                    {"seconds", seen.column(one, &TimedRun::seconds)},
                                    {"cpu_seconds", seen.column(one, &TimedRun::cpu)},
                                    {"peak_mib", seen.column(one, &TimedRun::mib)},
                                    {"foreign", seen.column(one, &TimedRun::foreign)}});
  document["time_ratio"] = ratio_json(seen.ratio(&TimedRun::seconds));
  document["cpu_ratio"] = ratio_json(seen.ratio(&TimedRun::cpu));
  document["memory_ratio"] = ratio_json(seen.ratio(&TimedRun::mib));
  document["output"] = seen.same;
  document["verdict"] = verdict_of(seen.ratio(&TimedRun::seconds), seen.subjects[1].name);
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int compare(const CompareOptions& options) {
  if (!is_pattern(options.check))
    return report_failure("compare", "--check: '" + options.check + "' is no regular expression");
  auto seen = measure(options);
  if (!seen) return report_failure("compare", seen.error().message);
  if (options.json)
    print_json(*seen);
  else
    print_text(*seen);
  return seen->same == "different" && !options.check.empty() ? 1 : 0;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  auto* command =
      app.add_subcommand("compare", "Run a command with and without nigh by turns, and tell what that gains");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("commands", options->both, "Two commands for the shell, instead of one after --")
      ->expected(2);
  command->add_option("--run", options->run_options,
                      "Options for the runs with nigh, in one word: '--only mpi'");
  command->add_option("--time", options->seconds, "Seconds to spend at most, but for one pair")
      ->check(number_from(0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--precision", options->precision,
                   "Half the width of the ratio's interval that is narrow enough")
      ->check(number_from(0.0001, 1))
      ->capture_default_str();
  command->add_option(
      "--check", options->check,
      "The part of the output that must be equal: lines that match, their first group if they have one");
  command->add_flag("--json", options->json, "JSON");
  command->footer(
      "  nigh compare -- mpirun -n 4 ./app input\n"
      "  nigh compare --check 'energy = (.*)' 'OMP_PROC_BIND=close ./app' 'nigh run -- ./app'");
  command->callback([options, &status] { status = compare(*options); });
}

}  // namespace nigh::cli
