// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nigh::benchmark {

using nlohmann::ordered_json;

namespace {

constexpr int version = 1;

// The samples of one result, subject and state.
struct Group {
  BenchRecord record;
  std::map<int, double> by_round;
};

Group& group_of(std::vector<Group>& groups, const BenchRecord& key) {
  for (Group& group : groups)
    if (group.record.subject == key.subject && group.record.result == key.result &&
        group.record.core_state == key.core_state)
      return group;
  groups.push_back({key, {}});
  groups.back().record.verified = true;
  return groups.back();
}

void add_sample(Group& group, const Observation& seen, double value) {
  BenchRecord& record = group.record;
  group.by_round[seen.round] = value;
  record.values.push_back(value);
  record.placement = seen.placement;  // the latest
  record.moves += seen.moves;
  record.verified = record.verified && seen.verified;
  for (const std::string& error : seen.errors)
    if (std::find(record.errors.begin(), record.errors.end(), error) == record.errors.end())
      record.errors.push_back(error);
}

// None where a round has no ratio: a cost is a difference of two times and can come out at or below zero, and
// the remaining rounds alone would be a choice of the flattering ones.
std::optional<Spread> ratio_of(const Group& group, const Group& base, bool higher) {
  std::vector<double> ratios;
  for (auto [round, value] : group.by_round) {
    auto other = base.by_round.find(round);
    if (other == base.by_round.end()) continue;
    if (value <= 0 || other->second <= 0) return std::nullopt;
    ratios.push_back(higher ? value / other->second : other->second / value);
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(ratios);
}

void compare_with_baseline(std::vector<Group>& groups) {
  for (Group& group : groups)
    for (const Group& base : groups)
      if (is_baseline(base.record.subject) && !is_baseline(group.record.subject) &&
          base.record.result == group.record.result && base.record.core_state == group.record.core_state)
        group.record.ratio = ratio_of(group, base, higher_is_better(group.record.unit));
}

ordered_json spread_json(const Spread& s) { return {{"median", s.median}, {"low", s.low}, {"high", s.high}}; }

ordered_json record_json(const BenchRecord& r) {
  ordered_json out = {{"bench", r.bench},           {"case", r.case_name},      {"subject", r.subject},
                      {"size_bytes", r.size_bytes}, {"unit", r.unit},           {"median", r.value.median},
                      {"low", r.value.low},         {"high", r.value.high},     {"samples", r.samples},
                      {"core_state", r.core_state}, {"placement", r.placement}, {"verified", r.verified},
                      {"runtime", r.runtime},       {"teams", r.teams},         {"result", r.result},
                      {"values", r.values},         {"moves", r.moves}};
  if (!r.shape.empty()) out["shape"] = r.shape;
  if (!r.errors.empty()) out["errors"] = r.errors;
  if (r.ratio)
    out["ratio_to_unbound"] = spread_json(*r.ratio);  // to the baseline; the name is older than MPI
  return out;
}

BenchRecord record_from(const ordered_json& in) {
  BenchRecord r;
  in.at("bench").get_to(r.bench);
  in.at("case").get_to(r.case_name);
  in.at("subject").get_to(r.subject);
  in.at("size_bytes").get_to(r.size_bytes);
  in.at("unit").get_to(r.unit);
  in.at("median").get_to(r.value.median);
  in.at("low").get_to(r.value.low);
  in.at("high").get_to(r.value.high);
  in.at("samples").get_to(r.samples);
  in.at("core_state").get_to(r.core_state);
  in.at("placement").get_to(r.placement);
  in.at("verified").get_to(r.verified);
  r.runtime = in.value("runtime", "");
  r.teams = in.value("teams", "");
  r.result = in.value("result", "");
  r.shape = in.value("shape", "");
  r.values = in.value("values", std::vector<double>{});
  r.moves = in.value("moves", 0);
  r.errors = in.value("errors", std::vector<std::string>{});
  if (auto ratio = in.find("ratio_to_unbound"); ratio != in.end())
    r.ratio = Spread{ratio->at("median"), ratio->at("low"), ratio->at("high")};
  return r;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  NIGH_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  std::size_t n = values.size();
  double median = n % 2 != 0 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
  return {median, values.front(), values.back()};
}

bool says(const ordered_json& machine, const char* key) {
  auto found = machine.find(key);
  return found != machine.end() && found->is_boolean() && found->get<bool>();
}

bool is_baseline(const std::string& subject) {
  return subject == "unbound" || subject == "library" || subject == "moodycamel-bulk" || subject == "MPICH" ||
         subject == "mimalloc" || subject == "memcpy" || subject == "state apart" || subject == "fftw-openmp";
}

bool higher_is_better(const std::string& unit) { return unit.ends_with("/s"); }

std::vector<BenchRecord> summarise(const std::string& bench, const std::string& runtime,
                                   const std::string& teams, const std::vector<Observation>& observations) {
  std::vector<Group> groups;
  for (const Observation& seen : observations)
    for (std::size_t i = 0; i < seen.results.size(); ++i) {
      const auto& [result, value] = seen.results[i];
      BenchRecord key;
      key.bench = bench;
      key.case_name = fmt::format("{} {} {}", teams, result, runtime);
      key.subject = seen.subject;
      key.size_bytes = seen.size_bytes;
      key.unit = seen.unit;
      key.core_state = i < seen.states.size() ? seen.states[i] : seen.core_state;
      key.runtime = runtime;
      key.teams = teams;
      key.result = result;
      add_sample(group_of(groups, key), seen, value);
    }
  compare_with_baseline(groups);
  std::vector<BenchRecord> out;
  for (Group& group : groups) {
    group.record.value = spread_of(group.record.values);
    group.record.samples = static_cast<int>(group.record.values.size());
    out.push_back(std::move(group.record));
  }
  return out;
}

ordered_json to_json(const BenchFile& file) {
  ordered_json out = {{"format", "nigh-bench"}, {"version", version}, {"machine", file.machine}};
  out["records"] = ordered_json::array();
  for (const BenchRecord& record : file.records) out["records"].push_back(record_json(record));
  out["absent"] = ordered_json::array();
  for (const BenchAbsence& a : file.absent)
    out["absent"].push_back(
        {{"bench", a.bench}, {"case", a.case_name}, {"subject", a.subject}, {"reason", a.reason}});
  return out;
}

Result<BenchFile> bench_file_from_json(const std::string& text, const std::string& where) {
  ordered_json in = ordered_json::parse(text, nullptr, false);
  if (in.is_discarded() || !in.is_object() || !in.contains("format") || in["format"] != "nigh-bench")
    return fail(Errc::invalid, where + " is not what nigh bench --json writes");
  try {
    if (in.at("version").get<int>() > version)
      return fail(Errc::invalid, where + " is of a later version than this nigh reads");
    BenchFile out;
    if (auto machine = in.find("machine"); machine != in.end() && machine->is_object())
      out.machine = *machine;
    for (const ordered_json& record : in.at("records")) out.records.push_back(record_from(record));
    for (const ordered_json& a : in.value("absent", ordered_json::array()))
      out.absent.push_back({a.at("bench"), a.at("case"), a.at("subject"), a.at("reason")});
    return out;
  } catch (const ordered_json::exception& error) { return fail(Errc::invalid, where + ": " + error.what()); }
}

}  // namespace nigh::benchmark
