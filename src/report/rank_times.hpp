// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The time and the memory of ranks, from their records (src/mpi/record_time.hpp), and all ranks of a job on
// one time axis.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::report {

struct RankRecord;

struct RankTimes {
  struct Function {
    std::string name;  // "MPI_Bcast"
    double calls = 0, seconds = 0, longest_seconds = 0;
    std::vector<float> microseconds;  // in it, for each interval
  };
  double started = 0, seconds = 0;  // s since 1970; from then to MPI_Finalize. 0 s: the record has no times
  double interval_seconds = 0;
  double user_seconds = 0, system_seconds = 0, minor_faults = 0, major_faults = 0, peak_mib = 0;
  double resident_mib = 0, huge_mib = 0;  // at the end; of it in huge pages. 0: the record does not say it
  std::vector<float> cpu_microseconds;    // of all threads, for each interval
  std::vector<Function> functions;
};

// Reads the members of a record. Errors: invalid: which member is not what it should be.
Result<RankTimes> rank_times_from(const nlohmann::json& record);

// One document, nigh-rank-times: ranks (groups of them, where there are more than 256) by at most 512 columns
// of time, in % of it in MPI, and of CPU time (100: one PU); each function's part; what each rank used. Null:
// no record has times.
nlohmann::ordered_json rank_times_document(const std::vector<RankRecord>& records, const std::string& name);

// The same for Perfetto, of each rank, in % of time: in MPI, CPU time (100: one PU), and the six functions
// that took longest. Clocks of hosts are taken to agree. Empty: no record has times.
std::string perfetto_counters(const std::vector<RankRecord>& records);

}  // namespace nigh::report
