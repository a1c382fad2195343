// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// When a rank is in which MPI function, and for how long: sums over intervals of equal length, which double
// in length whenever the run outlasts them. So a run of an hour takes as much memory, and as large a file, as
// one of a second.
//
// CPU time is read at most twice in an interval, at the beginning and the end of an MPI call, and is spread
// evenly over the time since it was read before.
#pragma once

#include <cstdint>

#include "mpi/functions.hpp"

namespace nigh::mpi::record {

constexpr int intervals = 512;

struct FunctionTime {
  std::uint64_t calls = 0, total = 0, longest = 0;  // the last two in ns
  std::uint64_t* by_interval = nullptr;             // ns; intervals of them, or there was no memory
};

struct Times {
  double started = 0;                 // s since 1970, of interval 0
  std::uint64_t seconds_ns = 0;       // from then until the end
  std::uint64_t interval_ns = 0;      // length of an interval
  std::uint64_t cpu[intervals] = {};  // ns of CPU time of all threads of the process
  FunctionTime functions[function_count];
};

// From now on calls are timed. Called once, by one thread.
void start_times();
// Ends it; what is returned stays.
const Times& stop_times();

// A call of `function` in this thread, while it lives. Of calls within calls (a library that calls itself)
// the outermost one is timed.
class InCall {
 public:
  explicit InCall(Function function);
  ~InCall();
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  Function function_;
  std::uint64_t start_ = 0;  // ns; 0: within another call, or nothing is timed
};

// An error handler of the program is about to be called, which may leave the call for good (handlers.hpp): it
// is not counted, what the handler calls and what comes later is.
void give_up_call();

}  // namespace nigh::mpi::record
