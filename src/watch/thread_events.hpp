// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The same perf event on every thread of some processes, each with a ring of its own. The kernel refuses one
// ring for several threads (perf_event_open(2): PERF_EVENT_IOC_SET_OUTPUT) unless there is an event per
// thread and CPU, so T threads on C CPUs would need T x C descriptors with inheritance; this way needs T, and
// threads are looked for at each read instead. A thread that lives shorter than that is not seen.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sys/perf.hpp"
#include "sys/perf_records.hpp"

namespace nigh::watch {

// New records of one thread (or, in CPU mode, of one CPU: then pid and tid are -1).
struct EventBatch {
  int pid = -1;
  int tid = -1;
  sys::PerfBatch records;
  std::span<const std::byte> aux;
  std::uint64_t aux_offset = 0;
};

class ThreadEvents {
 public:
  struct Options {
    bool by_cpu = false;        // one event per CPU, for PMUs that can't follow a thread; sees all processes
    std::size_t aux_bytes = 0;  // for each event, 0: none
  };
  // `attrs`: one event, or a leader without a ring and the event that samples (Intel's auxiliary event).
  ThreadEvents(sys::Os os, std::vector<perf_event_attr> attrs, Options options);
  ThreadEvents(sys::Os os, std::vector<perf_event_attr> attrs)
      : ThreadEvents(std::move(os), std::move(attrs), Options()) {}

  // Opens events on all threads of these processes, closes those of others and of ended threads. Errors: none
  // of the threads could be opened (the first reason).
  Result<void> follow(const std::vector<int>& pids);
  // Hands each thread's new records to `take` as one batch, then looks for threads that came or ended.
  void drain(const std::function<void(const EventBatch&)>& take);
  void set_period(std::uint64_t period);
  void clear() { threads_.clear(), pids_.clear(); }

  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  // Threads that are there but could not be opened, and why.
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] const Error& reason() const { return reason_; }

 private:
  struct Thread {
    int pid = 0;
    sys::PerfEvent leader, event;
  };
  [[nodiscard]] std::size_t share() const;
  [[nodiscard]] std::size_t ring_pages() const;
  [[nodiscard]] std::size_t aux_pages() const;
  Result<void> open(int pid, int key);
  void refresh();

  sys::Os os_;
  std::vector<perf_event_attr> attrs_;
  Options options_;
  std::vector<int> pids_;
  std::map<int, Thread> threads_;  // by tid; in CPU mode by CPU
  std::size_t limit_ = 0;          // bytes that our rings may lock
  std::size_t planned_ = 16;       // rings that the limit is divided among
  std::size_t refused_ = 0;
  Error reason_;
  std::vector<std::byte> bytes_, aux_;
};

}  // namespace nigh::watch
