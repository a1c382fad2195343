// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Threads for measurements: a Crew that keeps one worker bound to each PU it was ever asked for (so that a
// sample costs a wake-up, not the making of threads), a StartLine that lets them go at the same moment, and
// an Interrupt that turns Ctrl-C into a flag while it lives.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"

namespace nigh::sys {

// Seconds on the monotonic clock.
double now_seconds();
// Seconds since 1970 on the wall clock: for people.
double unix_seconds();
// Seconds for which the calling thread really had a CPU: less than the time that passed when others had it
// too.
double thread_seconds();
// The same of all threads of this process.
double process_seconds();
// Sleeps; a signal ends it early.
void sleep_seconds(double seconds);

// Tells the core (and an emulator that runs all CPUs in one thread) that this is a waiting loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

class Crew {
 public:
  Crew();
  ~Crew();  // waits for its workers
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  // Runs work(k) on PU pus[k] for all k at once and returns when all have ended. No PU twice.
  Result<void> run(const std::vector<int>& pus, const std::function<void(std::size_t)>& work);

 private:
  struct Worker;
  Result<Worker*> worker(int pu);
  std::vector<std::unique_ptr<Worker>> workers_;
};

// All `count` threads leave wait() together, once the last one has come.
class StartLine {
 public:
  explicit StartLine(std::size_t count) : missing_(count) {}
  void wait();

 private:
  std::atomic<std::size_t> missing_;
};

// While one of these lives, SIGINT and SIGTERM set a flag; a second one ends the process as usual.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] static const std::atomic<bool>& flag();
  // The signal that set it.
  [[nodiscard]] static int by();

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace nigh::sys
