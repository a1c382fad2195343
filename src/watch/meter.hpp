// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ladder of meters as a small table of operations: each says whether it can be used here and by this
// user, and if not, which right or part is missing and how to get it; each is followed, read and stopped in
// the same way. Nothing is assumed: a probe opens what it would use. The best usable meter is chosen, and its
// level stands in every reading.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"
#include "watch/reading.hpp"

namespace nigh::watch {

constexpr double most_meter_cost = 0.008;  // of one core: above it a meter looks less often

// The result of a probe.
struct MeterState {
  Level level = Level::none;
  std::string name;       // "AMD IBS op", "kernel hint faults", ...
  bool usable = false;    // here, by this user
  double confidence = 0;  // the most that a reading of this meter can have, 0 to 1
  std::string sees;       // what its figures are, one phrase
  std::string missing;    // one sentence, empty where nothing is
  std::string remedy;     // how to get it, one sentence, empty where nothing can be done
};

class Meter {
 public:
  Meter() = default;
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  virtual ~Meter() = default;
  // Watches these processes and no others from now on, with all their threads, also those to come (they are
  // picked up at the next read). May be called again with other processes. Processes that end are dropped.
  // Errors: permission, io: none of the processes can be watched.
  virtual Result<void> follow(const std::vector<int>& pids) = 0;
  // The samples since follow() or the last read. Should be called every 0.2 to 2 s: rings are finite. A
  // process that ended meanwhile is no error.
  virtual Result<Reading> read() = 0;
  // Pages of the watched processes were moved: what is known of where they are is forgotten.
  virtual void pages_moved() {}
  // Ends all measuring; follow() begins anew.
  virtual void stop() = 0;
};

struct MeterOps {
  Level level;
  MeterState (*probe)(const sys::Os&);
  std::unique_ptr<Meter> (*make)(const sys::Os&);
};

// Best first; the last one, Level::none, can always be used.
const std::vector<MeterOps>& meter_table();
std::vector<MeterState> probe_meters(const sys::Os& os);
// The first usable one.
const MeterState& choose(const std::vector<MeterState>& states);
std::unique_ptr<Meter> make_meter(Level level, const sys::Os& os);

// The rungs, one file each (meter_NAME.cpp).
MeterState probe_pmu(const sys::Os& os);
std::unique_ptr<Meter> make_pmu(const sys::Os& os);
MeterState probe_faults(const sys::Os& os);
std::unique_ptr<Meter> make_faults(const sys::Os& os);
MeterState probe_proc(const sys::Os& os);
std::unique_ptr<Meter> make_proc(const sys::Os& os);
MeterState probe_none(const sys::Os& os);
std::unique_ptr<Meter> make_none(const sys::Os& os);

}  // namespace nigh::watch
