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
#include <regex>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/compare_ratio.hpp"
#include "cli/numbers.hpp"
#include "openmp/launch.hpp"
#include "sys/os.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"
#include "sys/raw_file.hpp"
#include "sys/threads.hpp"

namespace nigh::cli {

namespace {

struct CompareOptions {
  std::vector<std::string> both;  // the two commands, for the shell
  std::string run_options;
  std::string check;
  double seconds = 60, precision = 0.01;
  bool json = false;
};

struct Subject {
  std::string name;  // "without", "with nigh"; of two commands their text
  std::vector<std::string> words;
};

struct Run {
  double seconds = 0, cpu = 0, mib = 0;
  double foreign = 0;      // CPU time of others meanwhile, as a share of all CPUs
  std::size_t result = 0;  // a hash: children begin with our memory, which must not grow
};

// Outputs are kept up to 64 MiB; what follows is not compared.
constexpr std::size_t most_output = std::size_t{64} << 20;

constexpr double day = 24 * 3600;

std::vector<std::string> split_blanks(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return out;
}

Result<std::array<Subject, 2>> subjects_of(const CompareOptions& options) {
  const std::vector<std::string>& command = program_words();
  if (!options.both.empty() && !command.empty())
    return fail(Errc::invalid, "give two commands, or one after --");
  if (options.both.size() == 2)
    return std::array{Subject{options.both[0], {"/bin/sh", "-c", options.both[0]}},
                      Subject{options.both[1], {"/bin/sh", "-c", options.both[1]}}};
  if (command.empty())
    return fail(
        Errc::invalid,
        "say what to compare: nigh compare -- ./app, or two commands: nigh compare './app 1' './app 2'");
  auto self = sys::own_executable();
  if (!self) return tl::unexpected(self.error());
  Subject with{"with nigh", {*self, "run"}};
  for (const std::string& word : split_blanks(options.run_options)) with.words.push_back(word);
  with.words.push_back("--");
  with.words.insert(with.words.end(), command.begin(), command.end());
  return std::array{Subject{"without", command}, with};
}

// Hashes the first group, or the match, of each line that matches; without a pattern the whole output.
Result<std::size_t> result_of(const std::string& output, const CompareOptions& options) {
  const std::hash<std::string_view> hash;
  if (options.check.empty()) return hash(std::string_view(output).substr(0, most_output));
  const std::regex pattern(options.check);
  std::string out;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    std::smatch match;
    if (std::regex_search(line, match, pattern)) out += match[match.size() > 1 ? 1 : 0].str() + "\n";
    at = end + 1;
  }
  if (out.empty()) return fail(Errc::invalid, "no line of the output matches --check " + options.check);
  return hash(out);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1,
                     end - (start == std::string::npos ? 0 : start + 1) + 1);
}

Result<Run> run_once(const Subject& subject, const CompareOptions& options) {
  sys::Command command;
  command.words = subject.words;
  command.timeout_seconds = day;
  // An outer `nigh run` is no part of what is compared.
  const std::string preload = openmp::value_of(sys::environment(), "LD_PRELOAD");
  if (const std::string kept = openmp::preload_without_ours(preload); kept != preload)
    command.environment["LD_PRELOAD"] = kept.empty() ? std::nullopt : std::optional(kept);
  const double busy = sys::busy_cpu_seconds();
  auto done = sys::run_command(command);
  if (!done) return tl::unexpected(done.error());
  if (done->status != 0)
    return fail(Errc::io, fmt::format("{} ended with status {}{}{}", subject.name, done->status,
                                      done->err.empty() ? "" : ": ", last_line(done->err)));
  auto result = result_of(done->out, options);
  if (!result) return tl::unexpected(result.error());
  Run run{done->seconds, done->cpu_seconds, static_cast<double>(done->peak_kib) / 1024, 0, *result};
  const double others = sys::busy_cpu_seconds() - busy - run.cpu;
  run.foreign = std::clamp(others / (run.seconds * sys::raw_cpus_online()), 0.0, 1.0);
  return run;
}

struct Comparison {
  std::array<Subject, 2> subjects;
  std::array<std::vector<Run>, 2> runs;
  std::string same;  // "equal", "different", "different from run to run"
  double seconds = 0;

  [[nodiscard]] std::vector<double> column(std::size_t subject, double Run::* field) const {
    std::vector<double> out;
    for (const Run& run : runs[subject]) out.push_back(run.*field);
    return out;
  }
  [[nodiscard]] Ratio ratio(double Run::* field) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < runs[1].size(); ++i)
      if (runs[0][i].*field > 0) out.push_back(runs[1][i].*field / (runs[0][i].*field));
    return ratio_of(out);
  }
  [[nodiscard]] double foreign() const {
    std::vector<double> all = column(0, &Run::foreign), more = column(1, &Run::foreign);
    all.insert(all.end(), more.begin(), more.end());
    return median_of(all);
  }
};

std::string compare_results(const Comparison& seen) {
  const auto differ = [](const std::vector<Run>& runs) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const Run& one) { return one.result != runs[0].result; });
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
  for (const Subject& subject : out.subjects)
    if (auto first = run_once(subject, options); !first) return tl::unexpected(first.error());
  const double each = sys::now_seconds() - began;
  for (std::size_t pair = 0; pair == 0 || sys::now_seconds() - began + each < options.seconds; ++pair) {
    for (const std::size_t one : {pair % 2, 1 - pair % 2}) {
      auto run = run_once(out.subjects[one], options);
      if (!run) return tl::unexpected(run.error());
      out.runs[one].push_back(*std::move(run));
    }
    const Ratio time = out.ratio(&Run::seconds);
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
  const auto row = [&](const char* name, double Run::* field, const char* form) {
    const auto text = [&](std::size_t one) {
      return fmt::format(fmt::runtime(form), median_of(seen.column(one, field)));
    };
    fmt::print("{:<16} {:>16} {:>16}   {}\n", name, text(0), text(1), ratio_text(seen.ratio(field)));
  };
  row("time", &Run::seconds, "{:.3f} s");
  row("CPU time", &Run::cpu, "{:.3f} s");
  row("largest process", &Run::mib, "{:.1f} MiB");
  fmt::print("{:<16} {}\n", "output", seen.same);
  if (seen.foreign() > 0.05)
    fmt::print("{:<16} used {:.0f} % of the CPUs meanwhile\n", "others", 100 * seen.foreign());
  fmt::print("{}\n", verdict_of(seen.ratio(&Run::seconds), seen.subjects[1].name));
}

void print_json(const Comparison& seen) {
  const auto ratio_json = [](const Ratio& ratio) {
    nlohmann::ordered_json out = {{"median", ratio.median}};
    if (ratio.known) out["low"] = ratio.low, out["high"] = ratio.high;
    return out;
  };
  nlohmann::ordered_json document = {
      {"format", "nigh-compare"}, {"version", 1}, {"subjects", nlohmann::ordered_json::array()}};
  for (std::size_t one = 0; one < 2; ++one)
    document["subjects"].push_back({{"name", seen.subjects[one].name},
                                    {"command", seen.subjects[one].words},
                                    {"seconds", seen.column(one, &Run::seconds)},
                                    {"cpu_seconds", seen.column(one, &Run::cpu)},
                                    {"peak_mib", seen.column(one, &Run::mib)},
                                    {"foreign", seen.column(one, &Run::foreign)}});
  document["time_ratio"] = ratio_json(seen.ratio(&Run::seconds));
  document["cpu_ratio"] = ratio_json(seen.ratio(&Run::cpu));
  document["memory_ratio"] = ratio_json(seen.ratio(&Run::mib));
  document["output"] = seen.same;
  document["verdict"] = verdict_of(seen.ratio(&Run::seconds), seen.subjects[1].name);
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

bool is_pattern(const std::string& text) {
  try {
    return std::regex(text).mark_count() < 1000;
  } catch (const std::regex_error&) { return false; }
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
      "What of the output must be equal: lines that match, their first group if they have one");
  command->add_flag("--json", options->json, "JSON");
  command->footer(
      "  nigh compare -- mpirun -n 4 ./app input\n"
      "  nigh compare --check 'energy = (.*)' 'OMP_PROC_BIND=close ./app' 'nigh run -- ./app'");
  command->callback([options, &status] { status = compare(*options); });
}

}  // namespace nigh::cli
