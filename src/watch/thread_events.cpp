// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rings share a budget of locked memory: few threads get large rings, many get small ones.
#include "watch/thread_events.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "sys/page_watch.hpp"

namespace nigh::watch {

namespace {
constexpr std::size_t budget_bytes = std::size_t{32} << 20;  // for the rings of all threads
constexpr std::size_t most_bytes = std::size_t{1} << 20;     // for one ring
constexpr std::size_t fewest_bytes = std::size_t{32} << 10;
}  // namespace

ThreadEvents::ThreadEvents(sys::Os os, std::vector<perf_event_attr> attrs)
    : os_(std::move(os)), attrs_(std::move(attrs)) {}

Result<void> ThreadEvents::follow(const std::vector<int>& pids) {
  sys::raise_file_limit();
  pids_ = pids;
  refresh();
  if (!threads_.empty() || pids.empty()) return {};
  if (refused_ > 0) return tl::unexpected(reason_);
  return fail(Errc::io, "none of the processes to watch is there any more", ESRCH);
}

Result<void> ThreadEvents::open(int pid, int tid, std::size_t sharers) {
  Thread thread;
  thread.pid = pid;
  if (attrs_.size() == 2) {
    auto leader = sys::PerfEvent::open(attrs_[0], tid, -1);
    if (!leader) return tl::unexpected(leader.error());
    thread.leader = std::move(*leader);
  }
  auto event = sys::PerfEvent::open(attrs_.back(), tid, -1, attrs_.size() == 2 ? &thread.leader : nullptr);
  if (!event) return tl::unexpected(event.error());
  std::size_t bytes = std::clamp(budget_bytes / sharers, fewest_bytes, most_bytes);
  if (auto mapped = event->map(std::bit_floor(bytes / sys::page_size())); !mapped) return mapped;
  thread.event = std::move(*event);
  if (attrs_.size() == 2)
    if (auto enabled = thread.leader.enable(); !enabled) return enabled;
  if (auto enabled = thread.event.enable(); !enabled) return enabled;
  threads_[tid] = std::move(thread);
  return {};
}

void ThreadEvents::refresh() {
  refused_ = 0;
  std::map<int, int> alive;  // tid -> pid
  for (int pid : pids_)
    for (int tid : sys::threads_of(os_, pid)) alive[tid] = pid;
  std::erase_if(threads_, [&](const auto& one) { return !alive.contains(one.first); });
  for (const auto& [tid, pid] : alive) {
    if (threads_.contains(tid)) continue;
    auto opened = open(pid, tid, alive.size());
    if (opened || opened.error().sys_errno == ESRCH) continue;  // ESRCH: it has just ended
    if (refused_++ == 0) reason_ = opened.error();
  }
}

void ThreadEvents::drain(const std::function<void(const sys::PerfBatch&)>& take) {
  for (auto& [tid, thread] : threads_) {
    bytes_.clear();
    thread.event.drain(bytes_);
    if (!bytes_.empty()) take(sys::parse_records(bytes_, attrs_.back().sample_type));
  }
  refresh();
}

void ThreadEvents::set_period(std::uint64_t period) {
  attrs_.back().sample_period = period;
  for (auto& [tid, thread] : threads_) static_cast<void>(thread.event.set_period(period));
}

}  // namespace nigh::watch
