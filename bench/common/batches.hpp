// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Short batches by threads that sit on CPUs of their own and stay from batch to batch, and what a program
// reports of them. Around each batch a line goes to and fro between the first two CPUs: batches in which they
// were near (one cache) and far are never mixed, since a virtual machine may be moved between the two.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline constexpr double near_below = 120e-9;  // as the communication patterns have it

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::vector<int> usable_cpus() {
  cpu_set_t may;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof may, &may) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &may)) out.push_back(cpu);
  return out;
}

inline void sit_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// The consumer has the first CPU for itself where there are two; producers take turns on the others.
inline int cpu_of_producer(const std::vector<int>& cpus, int producer) {
  return cpus.size() < 2 ? cpus[0] : cpus[1 + static_cast<std::size_t>(producer) % (cpus.size() - 1)];
}

// Seconds that a line takes one way between the first two CPUs; 0: there is one.
inline double line_time(const std::vector<int>& cpus) {
  if (cpus.size() < 2) return 0;
  alignas(128) std::atomic<int> there = 0;
  alignas(128) std::atomic<int> back = 0;
  constexpr int rounds = 200;
  std::thread other([&] {
    sit_on(cpus[1]);
    for (int i = 1; i <= rounds; ++i) {
      while (there.load(std::memory_order_acquire) < i) {}
      back.store(i, std::memory_order_release);
    }
  });
  double best = 1;
  for (int i = 1; i <= rounds; ++i) {
    const double from = now();
    there.store(i, std::memory_order_release);
    while (back.load(std::memory_order_acquire) < i) {}
    if (i > rounds / 4) best = std::min(best, (now() - from) / 2);
  }
  other.join();
  return best;
}

struct Measured {
  std::string name;
  double value = 0;
  bool near = false;
  const char* unit = "ns";  // another: no lines go between threads, they are neither near nor far
};

// Median of the batches of the state that most were in; 0: for 5 s (20) the CPUs moved within each.
inline Measured measure(const std::string& name, bool quick, const std::vector<int>& cpus,
                        const std::function<double()>& batch) {
  std::vector<double> times[2];
  const double begun = now(), patience = quick ? 0.5 : 2.0;
  const std::size_t wanted = quick ? 7 : 21;
  batch();
  const auto patient = [&] {  // much longer where there is nothing yet
    return now() - begun < patience * (times[0].empty() && times[1].empty() ? 10 : 1);
  };
  while (times[0].size() < wanted && times[1].size() < wanted && patient()) {
    const bool before = line_time(cpus) < near_below;
    const double each = batch();
    if ((line_time(cpus) < near_below) == before) times[before ? 1 : 0].push_back(each);
  }
  const bool near = times[1].size() >= times[0].size();
  std::vector<double>& most = times[near ? 1 : 0];
  if (most.empty()) return {name, 0, false};
  const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
  std::nth_element(most.begin(), middle, most.end());
  return {name, 1e9 * *middle, near};
}

// Producers that all begin a batch at once, when the consumer says so.
class Producers {
 public:
  Producers(int count, const std::vector<int>& cpus, std::function<void(int producer)> work)
      : count_(count), work_(std::move(work)) {
    for (int p = 0; p < count; ++p)
      threads_.emplace_back([this, p, cpu = cpu_of_producer(cpus, p)] {
        sit_on(cpu);
        produce(p);
      });
  }
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;
  ~Producers() {
    end_ = true;
    wake();
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns when they begin: awake, but not before all of them are.
  double start() {
    done_.store(0, std::memory_order_relaxed);
    awake_.store(0, std::memory_order_relaxed);
    const std::uint64_t turn = wake();
    while (awake_.load(std::memory_order_acquire) < count_) std::this_thread::yield();
    const double from = now();
    go_.store(turn, std::memory_order_release);
    return from;
  }
  void wait() {
    for (int done = 0; (done = done_.load(std::memory_order_acquire)) < count_;) done_.wait(done);
  }

 private:
  std::uint64_t wake() {
    const std::uint64_t turn = turn_.fetch_add(1, std::memory_order_release) + 1;
    turn_.notify_all();
    return turn;
  }
  void produce(int p) {
    for (std::uint64_t turn = 0;; ++turn) {
      turn_.wait(turn, std::memory_order_acquire);
      if (end_) return;
      awake_.fetch_add(1, std::memory_order_release);
      for (unsigned looks = 1; go_.load(std::memory_order_acquire) <= turn; ++looks)
        if (looks % 256 == 0) std::this_thread::yield();
      work_(p);
      done_.fetch_add(1, std::memory_order_acq_rel);
      done_.notify_all();
    }
  }

  int count_;
  std::function<void(int)> work_;
  bool end_ = false;
  alignas(64) std::atomic<std::uint64_t> turn_ = 0;
  alignas(64) std::atomic<std::uint64_t> go_ = 0;
  alignas(64) std::atomic<int> done_ = 0;
  std::atomic<int> awake_ = 0;
  std::vector<std::thread> threads_;
};

// The program's line of JSON. `error`: what was wrong; empty: nothing was.
inline void report(const char* program, const std::vector<Measured>& results, const std::vector<int>& cpus,
                   const std::vector<int>& placement, const std::string& error) {
  bool near = true;
  bool handed = false;
  for (const Measured& one : results) {
    near = near && one.near;
    handed = handed || std::string_view(one.unit) == "ns";
  }
  auto state = [&](bool is_near) { return cpus.size() < 2 || !handed ? "n/a" : is_near ? "near" : "far"; };
  std::printf("{\"program\":\"%s\",\"size_bytes\":0,\"core_state\":\"%s\",\"placement\":[", program,
              state(near));
  for (std::size_t i = 0; i < placement.size(); ++i) std::printf("%s%d", i > 0 ? "," : "", placement[i]);
  std::printf("],\"verified\":%s,\"errors\":[", error.empty() ? "true" : "false");
  if (!error.empty()) std::printf("\"%s\"", error.c_str());
  std::printf("],\"results\":[");
  const char* comma = "";
  for (const Measured& one : results) {
    if (one.value <= 0) continue;
    std::printf("%s{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"core_state\":\"%s\"}", comma,
                one.name.c_str(), one.value, one.unit, state(one.near));
    comma = ",";
  }
  std::printf("]}\n");
}

// The report of a program with one consumer, on the first CPU.
inline void report(const char* program, const std::vector<Measured>& results, const std::vector<int>& cpus,
                   int producers, const std::string& error) {
  std::vector<int> placement = {cpus[0]};
  for (int p = 0; cpus.size() > 1 && p < producers; ++p) placement.push_back(cpu_of_producer(cpus, p));
  report(program, results, cpus, placement, error);
}

}  // namespace bench
