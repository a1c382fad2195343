// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include "launch/ranks_run.hpp"

namespace nigh::benchmark {

namespace {

// The needs of the samples of one runtime and team size.
struct Case {
  const BenchRequest& request;
  std::string runtime;
  Result<std::string> program;
  Teams teams;
  std::vector<double> reference;  // derivatives of the serial run, if any
  std::vector<Subject> subjects;
  std::vector<bool> gone;  // subjects that failed
  std::vector<Observation> seen;
  [[nodiscard]] std::string name() const { return teams.text() + " " + runtime; }
};

bool wanted(const BenchRequest& request, const Subject& subject) {
  return request.subjects.empty() ||
         std::find(request.subjects.begin(), request.subjects.end(), subject.name) != request.subjects.end();
}

void hold_against_reference(const Case& one, ProgramRun& run) {
  if (one.reference.empty()) return;
  double off = deviation(run.derivatives, one.reference);
  if (off <= most_deviation) return;
  run.seen.verified = false;
  run.seen.errors.push_back(fmt::format("the derivatives are off the serial run's by {:.1e}", off));
}

void take_sample(Case& one, std::size_t index, int round, PingPong& pingpong, BenchFile& file) {
  const Subject& subject = one.subjects[index];
  double before = pingpong.measure();
  auto program = subject.program.empty() ? one.program : launch::find_own_program(subject.program);
  auto run = program
                 ? run_program(*program, one.request.options, one.teams, subject, one.request.timeout_seconds)
                 : tl::unexpected(program.error());
  double after = pingpong.measure();
  if (!run) {
    one.gone[index] = true;
    file.absent.push_back({one.request.kind.name, one.name(), subject.name, run.error().message});
    return;
  }
  hold_against_reference(one, *run);
  run->seen.subject = subject.name;
  run->seen.round = round;
  run->seen.core_state = core_state_between(before, after);
  one.seen.push_back(std::move(run->seen));
}

// The serial run: one thread, unbound, by the same program. Its own checks must hold too.
Result<std::vector<double>> serial_reference(const BenchRequest& request, const std::string& program) {
  auto run = run_program(program, request.options, {1, 1}, {"serial", {}, {}, {}}, request.timeout_seconds);
  if (!run) return fail_in("the serial reference", run.error());
  if (!run->seen.verified)
    return fail(Errc::internal, "the serial reference is wrong: " +
                                    (run->seen.errors.empty() ? program : run->seen.errors.front()));
  return run->derivatives;
}

Result<std::vector<Case>> cases_of(const BenchRequest& request, const std::string& runtime) {
  auto program = launch::find_own_program(program_name(request.kind, runtime, request.installs));
  if (!program) return tl::unexpected(program.error());
  std::vector<double> reference;
  if (request.kind.serial_reference) {
    request.progress(0, "serial reference, " + runtime);
    auto found = serial_reference(request, *program);
    if (!found) return tl::unexpected(found.error());
    reference = *found;
  }
  std::vector<Case> out;
  for (const Teams& teams : request.teams) {
    Case one{request, runtime, *program, teams, reference, {}, {}, {}};
    for (Subject& subject :
         subjects_for(request.kind, runtime, teams, request.usable, request.nigh, request.installs))
      if (wanted(request, subject)) one.subjects.push_back(std::move(subject));
    one.gone.assign(one.subjects.size(), false);
    out.push_back(std::move(one));
  }
  return out;
}

void run_case(Case& one, double from, double to, PingPong& pingpong, BenchFile& file) {
  std::size_t count = one.subjects.size();
  for (int round = 0; round < one.request.samples; ++round)
    for (std::size_t turn = 0; turn < count; ++turn) {
      std::size_t index = (turn + static_cast<std::size_t>(round)) % count;
      if (one.gone[index]) continue;
      double share = (static_cast<double>(round) + static_cast<double>(turn) / static_cast<double>(count)) /
                     one.request.samples;
      one.request.progress(from + share * (to - from),
                           fmt::format("{} {}", one.name(), one.subjects[index].name));
      take_sample(one, index, round, pingpong, file);
    }
}

// The table shows subjects in the order of the catalog, not in that of the first round; all else stays.
std::vector<BenchRecord> by_subject(const std::vector<BenchRecord>& records,
                                    const std::vector<Subject>& subjects) {
  std::vector<std::string> results;
  for (const BenchRecord& r : records)
    if (std::find(results.begin(), results.end(), r.result) == results.end()) results.push_back(r.result);
  std::vector<BenchRecord> out;
  for (const std::string& result : results)
    for (const Subject& subject : subjects)
      for (const BenchRecord& r : records)
        if (r.result == result && r.subject == subject.name) out.push_back(r);
  return out;
}

}  // namespace

double deviation(const std::vector<double>& values, const std::vector<double>& reference) {
  if (values.size() != reference.size()) return std::numeric_limits<double>::infinity();
  double scale = 0, worst = 0;
  for (double r : reference) scale = std::max(scale, std::abs(r));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double off = std::abs(values[i] - reference[i]);
    if (!std::isfinite(off)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, off);
  }
  if (worst == 0) return 0;
  return scale > 0 ? worst / scale : std::numeric_limits<double>::infinity();
}

Result<void> run_bench(const BenchRequest& request, BenchFile& file) {
  std::vector<Case> cases;
  for (const std::string& runtime : request.runtimes) {
    auto found = cases_of(request, runtime);
    if (!found) {
      file.absent.push_back({request.kind.name, runtime, "all", found.error().message});
      continue;
    }
    for (Case& one : *found) cases.push_back(std::move(one));
  }
  PingPong pingpong(request.usable.pus);
  bool any = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    double n = static_cast<double>(cases.size()), at = static_cast<double>(i);
    run_case(cases[i], at / n, (at + 1) / n, pingpong, file);
    auto records = summarise(request.kind.name, cases[i].runtime, cases[i].teams.text(), cases[i].seen);
    records = by_subject(records, cases[i].subjects);
    any = any || !records.empty();
    file.records.insert(file.records.end(), records.begin(), records.end());
  }
  if (any) return {};
  std::string why = file.absent.empty() ? "no subject was left to run" : file.absent.back().reason;
  return fail(Errc::unsupported, "nothing could be measured: " + why);
}

}  // namespace nigh::benchmark
