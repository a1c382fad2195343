// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rings share a budget of locked memory, which is small for those without rights: few threads get large
// rings, many get small ones, and when threads have come beyond what was planned for, all rings are made
// anew.
#include "watch/thread_events.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "sys/pages.hpp"
#include "sys/task.hpp"

namespace nigh::watch {

namespace {
constexpr std::size_t budget_bytes = std::size_t{32} << 20;  // for the rings of all threads
constexpr std::size_t most_bytes =
    (std::size_t{1} << 20) + (64 << 10);  // for one ring: 1 MiB and the user page
constexpr std::size_t fewest_bytes = std::size_t{32} << 10;
}  // namespace

ThreadEvents::ThreadEvents(sys::Os os, std::vector<perf_event_attr> attrs, Options options)
    : os_(std::move(os)), attrs_(std::move(attrs)), options_(options) {}

Result<void> ThreadEvents::follow(const std::vector<int>& pids) {
  sys::raise_file_limit();
  limit_ = sys::ring_limit(os_) / 10 * 9;  // the rest is for others
  pids_ = pids;
  refresh();
  if (!threads_.empty() || pids.empty()) return {};
  if (refused_ > 0) return tl::unexpected(reason_);
  return fail(Errc::io, "none of the processes to watch is there any more", ESRCH);
}

// The most memory that one event may lock; half of it where the other half is for an AUX buffer.
std::size_t ThreadEvents::share() const { return limit_ / planned_ / (options_.aux_bytes > 0 ? 2 : 1); }

// A power of two; the kernel counts the user page, too.
std::size_t ThreadEvents::ring_pages() const {
  std::size_t bytes = std::clamp(budget_bytes / planned_, fewest_bytes, most_bytes);
  bytes = std::min(bytes, share());
  std::size_t pages = bytes / sys::page_bytes();
  return std::bit_floor(std::max<std::size_t>(2, pages) - 1);
}

std::size_t ThreadEvents::aux_pages() const {
  return std::bit_floor(std::max<std::size_t>(2, std::min(options_.aux_bytes, share()) / sys::page_bytes()));
}

Result<void> ThreadEvents::open(int pid, int key) {
  Thread thread;
  thread.pid = pid;
  int tid = options_.by_cpu ? -1 : key, cpu = options_.by_cpu ? key : -1;
  bool led = attrs_.size() == 2;
  if (led) {
    auto leader = sys::PerfEvent::open(attrs_[0], tid, cpu);
    if (!leader) return tl::unexpected(leader.error());
    thread.leader = std::move(*leader);
  }
  auto event = sys::PerfEvent::open(attrs_.back(), tid, cpu, led ? &thread.leader : nullptr);
  if (!event) return tl::unexpected(event.error());
  thread.event = std::move(*event);
  auto done = thread.event.map(ring_pages());
  if (done && options_.aux_bytes > 0) done = thread.event.map_aux(aux_pages());
  if (done) done = led ? thread.leader.enable() : thread.event.enable();
  if (!done) return done;
  threads_[key] = std::move(thread);
  return {};
}

void ThreadEvents::refresh() {
  refused_ = 0;
  std::map<int, int> wanted;  // tid -> pid, or CPU -> -1
  for (int pid : pids_)
    for (int tid : sys::threads_of(os_, pid)) wanted[tid] = pid;
  if (options_.by_cpu && !wanted.empty()) {
    wanted.clear();
    auto online = os_.read_line("/sys/devices/system/cpu/online");
    auto cpus = online ? CpuSet::parse(*online) : Result<CpuSet>();
    for (int cpu : cpus ? cpus->members() : std::vector<int>()) wanted[cpu] = -1;
  }
  std::erase_if(threads_, [&](const auto& one) { return !wanted.contains(one.first); });
  if (wanted.size() > planned_) {
    threads_.clear();
    planned_ = wanted.size() + wanted.size() / 4;
  }
  for (const auto& [key, pid] : wanted) {
    if (threads_.contains(key)) continue;
    auto opened = open(pid, key);
    if (opened || opened.error().sys_errno == ESRCH) continue;  // ESRCH: it has just ended
    if (refused_++ == 0) reason_ = opened.error();
  }
}

void ThreadEvents::drain(const std::function<void(const EventBatch&)>& take) {
  for (auto& [key, thread] : threads_) {
    bytes_.clear();
    aux_.clear();
    thread.event.drain(bytes_);
    EventBatch batch;
    batch.pid = thread.pid;
    batch.tid = options_.by_cpu ? -1 : key;
    batch.aux_offset = thread.event.drain_aux(aux_);
    if (bytes_.empty() && aux_.empty()) continue;
    batch.records = sys::parse_records(bytes_, attrs_.back().sample_type);
    batch.aux = aux_;
    take(batch);
  }
  refresh();
}

void ThreadEvents::set_period(std::uint64_t period) {
  attrs_.back().sample_period = period;
  for (auto& [tid, thread] : threads_) static_cast<void>(thread.event.set_period(period));
}

}  // namespace nigh::watch
