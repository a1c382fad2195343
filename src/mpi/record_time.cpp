// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/record_time.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>

#include "message/atomic.hpp"

namespace nigh::mpi::record {
namespace {

constexpr std::uint64_t first_interval = 1'000'000;  // ns

Times g_times;
std::uint64_t g_origin = 0;
std::atomic<bool> g_timing = false;
std::atomic<bool> g_locked = false;
// The outermost call of this thread. Stacks grow downwards: a call from above it has outlived it.
thread_local const void* t_outermost = nullptr;

std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void double_intervals() {
  g_times.interval_ns *= 2;
  for (FunctionTime& one : g_times.functions) {
    if (!one.by_interval) continue;
    for (std::size_t i = 0; i < intervals; ++i)
      one.by_interval[i] = i < intervals / 2 ? one.by_interval[2 * i] + one.by_interval[2 * i + 1] : 0;
  }
}

void add(Function function, std::uint64_t from, std::uint64_t to) {
  FunctionTime& row = g_times.functions[static_cast<int>(function)];
  if (row.calls++ == 0)
    row.by_interval = static_cast<std::uint64_t*>(std::calloc(intervals, sizeof(std::uint64_t)));
  row.total += to - from;
  row.longest = std::max(row.longest, to - from);
  from -= g_origin;
  to -= g_origin;
  while (to / g_times.interval_ns >= intervals) double_intervals();
  if (!row.by_interval) return;
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t i = at / g_times.interval_ns;
    const std::uint64_t end = std::min(to, (i + 1) * g_times.interval_ns);
    row.by_interval[i] += end - at;
    at = end;
  }
}

}  // namespace

void start_times() {
  g_times.interval_ns = first_interval;
  g_times.started = static_cast<double>(now(CLOCK_REALTIME)) / 1e9;
  g_origin = now();
  g_timing.store(true, std::memory_order_release);
}

const Times& stop_times() {
  if (g_timing.exchange(false)) g_times.seconds_ns = now() - g_origin;
  while (g_locked.exchange(true, std::memory_order_acquire)) message::yield_cpu();
  g_locked.store(false, std::memory_order_release);
  return g_times;
}

void give_up_call() { t_outermost = nullptr; }

InCall::InCall(Function function) : function_(function) {
  if (!g_timing.load(std::memory_order_acquire) || (t_outermost && this < t_outermost)) return;
  t_outermost = this;
  start_ = now();
}

InCall::~InCall() {
  if (start_ == 0 || t_outermost != this) return;
  t_outermost = nullptr;
  const std::uint64_t end = now();
  while (g_locked.exchange(true, std::memory_order_acquire)) message::yield_cpu();
  if (g_timing.load(std::memory_order_relaxed)) add(function_, start_, end);
  g_locked.store(false, std::memory_order_release);
}

}  // namespace nigh::mpi::record
