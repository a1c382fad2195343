// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/compare_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <regex>

#include "openmp/environment.hpp"
#include "sys/os.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"
#include "sys/raw_file.hpp"
#include "sys/threads.hpp"

namespace nigh::cli {

namespace {

// Outputs are kept up to 64 MiB; what follows is not compared.
constexpr std::size_t most_output = std::size_t{64} << 20;

constexpr double day = 24 * 3600;

// Hashes the first group, or the match, of each line that matches; without a pattern the whole output.
Result<std::size_t> result_of(const std::string& output, const std::string& check) {
  const std::hash<std::string_view> hash;
  if (check.empty()) return hash(std::string_view(output).substr(0, most_output));
  const std::regex pattern(check);
  std::string out;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    std::smatch match;
    if (std::regex_search(line, match, pattern)) out += match[match.size() > 1 ? 1 : 0].str() + "\n";
    at = end + 1;
  }
  if (out.empty()) return fail(Errc::invalid, "no line of the output matches --check " + check);
  return hash(out);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1,
                     end - (start == std::string::npos ? 0 : start + 1) + 1);
}

}  // namespace

Result<TimedRun> run_once(const TimedCommand& subject, const std::string& check,
                          std::optional<double> most_seconds) {
  sys::Command command;
  command.words = subject.words;
  command.timeout_seconds = most_seconds.value_or(day);
  // An outer `nigh run` is no part of what is compared.
  const std::string preload = openmp::value_of(sys::environment(), "LD_PRELOAD");
  if (const std::string kept = openmp::preload_without_ours(preload); kept != preload)
    command.environment["LD_PRELOAD"] = kept.empty() ? std::nullopt : std::optional(kept);
  const double busy = sys::busy_cpu_seconds();
  auto done = sys::run_command(command);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out)
    return fail(Errc::io, fmt::format("{} took more than {:.3g} s", subject.name, command.timeout_seconds));
  if (done->status != 0)
    return fail(Errc::io, fmt::format("{} ended with status {}{}{}", subject.name, done->status,
                                      done->err.empty() ? "" : ": ", last_line(done->err)));
  auto result = result_of(done->out, check);
  if (!result) return tl::unexpected(result.error());
  TimedRun run{done->seconds, done->cpu_seconds, static_cast<double>(done->peak_kib) / 1024, 0, *result};
  const double others = sys::busy_cpu_seconds() - busy - run.cpu;
  run.foreign = std::clamp(others / (run.seconds * sys::raw_cpus_online()), 0.0, 1.0);
  return run;
}

std::vector<std::string> split_blanks(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return out;
}

bool is_pattern(const std::string& text) {
  try {
    return std::regex(text).mark_count() < 1000;
  } catch (const std::regex_error&) { return false; }
}

}  // namespace nigh::cli
