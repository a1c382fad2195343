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
// When CPU time was read last (ns since the origin), what it was, and from when on it is to be read again.
std::uint64_t g_cpu_read = 0, g_cpu = 0;
std::atomic<std::uint64_t> g_next_read = 0;
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
  const auto fold = [](std::uint64_t* row) {
    for (std::size_t i = 0; i < intervals; ++i) row[i] = i < intervals / 2 ? row[2 * i] + row[2 * i + 1] : 0;
  };
  fold(g_times.cpu);
  for (FunctionTime& one : g_times.functions)
    if (one.by_interval) fold(one.by_interval);
}

// Makes intervals so long that `to` (ns since the origin) is within them.
void reach(std::uint64_t to) {
  while (to / g_times.interval_ns >= intervals) double_intervals();
}

// Adds `amount`, spread evenly over [from, to).
void spread(std::uint64_t* row, std::uint64_t from, std::uint64_t to, std::uint64_t amount) {
  const double each = static_cast<double>(amount) / static_cast<double>(to - from);
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t i = at / g_times.interval_ns;
    const std::uint64_t end = std::min(to, (i + 1) * g_times.interval_ns);
    row[i] += static_cast<std::uint64_t>(static_cast<double>(end - at) * each);
    at = end;
  }
}

void read_cpu(std::uint64_t at) {
  const std::uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  if (at <= g_cpu_read || cpu < g_cpu) return;
  reach(at);
  spread(g_times.cpu, g_cpu_read, at, cpu - g_cpu);
  g_cpu_read = at;
  g_cpu = cpu;
  g_next_read.store((at / g_times.interval_ns + 1) * g_times.interval_ns, std::memory_order_relaxed);
}

void add(Function function, std::uint64_t from, std::uint64_t to) {
  FunctionTime& row = g_times.functions[static_cast<int>(function)];
  if (row.calls++ == 0)
    row.by_interval = static_cast<std::uint64_t*>(std::calloc(intervals, sizeof(std::uint64_t)));
  row.total += to - from;
  row.longest = std::max(row.longest, to - from);
  reach(to);
  if (row.by_interval && to > from) spread(row.by_interval, from, to, to - from);
}

void lock() {
  while (g_locked.exchange(true, std::memory_order_acquire)) message::yield_cpu();
}
void unlock() { g_locked.store(false, std::memory_order_release); }

}  // namespace

void start_times() {
  g_times.interval_ns = first_interval;
  g_times.started = static_cast<double>(now(CLOCK_REALTIME)) / 1e9;
  g_origin = now();
  g_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  g_next_read = first_interval;
  g_timing.store(true, std::memory_order_release);
}

const Times& stop_times() {
  lock();
  if (g_timing.exchange(false)) {
    g_times.seconds_ns = now() - g_origin;
    read_cpu(g_times.seconds_ns);
  }
  unlock();
  return g_times;
}

void give_up_call() { t_outermost = nullptr; }

InCall::InCall(Function function) : function_(function) {
  if (!g_timing.load(std::memory_order_acquire) || (t_outermost && this < t_outermost)) return;
  t_outermost = this;
  start_ = now();
  if (start_ - g_origin < g_next_read.load(std::memory_order_relaxed)) return;
  lock();
  if (g_timing.load(std::memory_order_relaxed)) read_cpu(start_ - g_origin);
  unlock();
}

InCall::~InCall() {
  if (start_ == 0 || t_outermost != this) return;
  t_outermost = nullptr;
  const std::uint64_t end = now();
  lock();
  if (g_timing.load(std::memory_order_relaxed)) {
    add(function_, start_ - g_origin, end - g_origin);
    if (end - g_origin >= g_next_read.load(std::memory_order_relaxed)) read_cpu(end - g_origin);
  }
  unlock();
}

}  // namespace nigh::mpi::record
