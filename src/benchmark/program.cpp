// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/program.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sys/process.hpp"
#include "sys/program.hpp"

namespace nigh::benchmark {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The last line that is an object: a peer may print words of its own before it.
std::string report_line(const std::string& text) {
  std::string found;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    if (text[at] == '{') found = text.substr(at, end - at);
    at = end + 1;
  }
  return found;
}

std::string why_it_failed(const std::string& name, const sys::Finished& done, double timeout_seconds) {
  if (done.timed_out) return fmt::format("{} was stopped after {:.0f} s", name, timeout_seconds);
  std::string words = first_line(done.err.empty() ? done.out : done.err);
  // The program knows better what it misses than the loader, who speaks first.
  if (words.starts_with("ERROR: ld.so:") && words.size() + 1 < done.err.size())
    words = first_line(done.err.substr(words.size() + 1));
  return fmt::format("{} ended with status {}{}{}", name, done.status, words.empty() ? "" : ": ", words);
}

}  // namespace

Result<ProgramRun> parse_program_output(const std::string& text) {
  nlohmann::json in = nlohmann::json::parse(report_line(text), nullptr, false);
  if (in.is_discarded() || !in.is_object()) return fail(Errc::io, "the program printed no report");
  try {
    ProgramRun out;
    in.at("size_bytes").get_to(out.seen.size_bytes);
    in.at("placement").get_to(out.seen.placement);
    in.at("verified").get_to(out.seen.verified);
    in.at("errors").get_to(out.seen.errors);
    out.seen.moves = in.value("moves", 0);
    for (const nlohmann::json& result : in.at("results")) {
      double value = result.at("value").get<double>();
      out.seen.results.emplace_back(result.at("name").get<std::string>(), value);
      result.at("unit").get_to(out.seen.unit);
      if (result.contains("core_state"))
        out.seen.states.push_back(result.at("core_state").get<std::string>());
    }
    out.derivatives = in.value("derivatives", std::vector<double>{});
    return out;
  } catch (const nlohmann::json::exception& error) {
    return fail(Errc::io, std::string("the program's report can't be read: ") + error.what());
  }
}

Result<ProgramRun> run_program(const std::string& program, const std::vector<std::string>& options,
                               const Teams& teams, const Subject& subject, double timeout_seconds) {
  sys::Command command;
  command.words = subject.prefix;
  command.words.push_back(program);
  command.words.insert(command.words.end(), {"--teams", subject.teams.value_or(teams).text()});
  command.words.insert(command.words.end(), options.begin(), options.end());
  command.words.insert(command.words.end(), subject.options.begin(), subject.options.end());
  command.clear = cleared_variables();
  for (const auto& [name, value] : common_environment()) command.environment[name] = value;
  for (const auto& [name, value] : subject.environment) command.environment[name] = value;
  command.timeout_seconds = timeout_seconds;
  if (!sys::find_program(command.words[0]))
    return fail(Errc::unsupported, command.words[0] + " is not installed");
  auto done = sys::run_command(command);
  if (!done) return tl::unexpected(done.error());
  auto run = parse_program_output(done->out);
  bool reported = run && (done->status == 0 || (done->status == 1 && !run->seen.verified));
  if (!reported) return fail(Errc::io, why_it_failed(command.words[0], *done, timeout_seconds));
  return run;
}

}  // namespace nigh::benchmark
