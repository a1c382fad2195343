// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The results of a benchmark run: records as docs/interfaces.md describes them, a line for each subject that
// could not be measured and why, and the fingerprint of the machine. A single sample is an Observation;
// records are made from observations by a pure function, so that the statistics can be tested without running
// anything.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::benchmark {

struct Spread {
  double median = 0, low = 0, high = 0;
};
// Needs at least one value.
Spread spread_of(std::vector<double> values);

struct BenchRecord {
  std::string bench, case_name, subject;
  std::uint64_t size_bytes = 0;
  std::string unit;
  Spread value;
  int samples = 0;
  std::string core_state;  // near, far, n/a
  std::vector<int> placement;
  bool verified = false;
  // Beyond what the interface promises:
  std::string runtime, teams, result;  // "libgomp", "4x4", "triad"
  std::string shape;                   // of a matrix, "1000x600"
  std::vector<double> values;          // the samples, in the order taken
  int moves = 0;                       // times a thread was seen on another PU than before, all samples
  std::vector<std::string> errors;     // what was wrong, where not verified
  std::optional<Spread> ratio;         // to the baseline, sample by sample; above 1 is better
};

// A subject without a record, and why.
struct BenchAbsence {
  std::string bench, case_name, subject, reason;
};

struct BenchFile {
  nlohmann::ordered_json machine = nlohmann::ordered_json::object();  // the fingerprint
  std::vector<BenchRecord> records;
  std::vector<BenchAbsence> absent;
};

// True if a fingerprint says so; files of others may lack it, or hold something else there.
bool says(const nlohmann::ordered_json& machine, const char* key);

// One run of one program.
struct Observation {
  std::string subject;
  int round = 0;
  std::string core_state;
  std::uint64_t size_bytes = 0;
  std::vector<std::pair<std::string, double>> results;  // in the program's order
  std::vector<std::string> states;  // of each result, from programs that know; else core_state is everybody's
  std::string unit;
  std::vector<int> placement;
  int moves = 0;
  bool verified = false;
  std::vector<std::string> errors;
};

// One record for each result, subject and core state; samples of different states are never mixed. Ratios
// compare samples of the same round (taken right after each other) and the same state.
std::vector<BenchRecord> summarise(const std::string& bench, const std::string& runtime,
                                   const std::string& teams, const std::vector<Observation>& observations);

// The subject that others are compared with: `unbound` for OpenMP, `library` (MPI as it is) for
// communication, moodycamel's bulk mode for queues, mimalloc for memory, memcpy for copies.
bool is_baseline(const std::string& subject);

// True if larger values are better (rates), false if smaller ones are (times).
bool higher_is_better(const std::string& unit);

nlohmann::ordered_json to_json(const BenchFile& file);
// `where` names the text in messages.
Result<BenchFile> bench_file_from_json(const std::string& text, const std::string& where);

}  // namespace nigh::benchmark
