// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that work on one thing together and wait for the next: the caller and `threads - 1` others, which
// spin for a moment after each and then sleep. A transpose of a small matrix takes microseconds, so starting
// threads for each would cost more than it saves; a team that always spins would take the program's own
// threads their cores.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/cpuset.hpp"

namespace nigh::transpose {

class Team {
 public:
  // seats: where thread i runs (the caller, thread 0, is left where it is); empty: as the system likes. A
  // seat that is refused is left out.
  explicit Team(int threads, std::vector<CpuSet> seats = {});
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(others_.size()) + 1; }
  [[nodiscard]] const std::vector<CpuSet>& seats() const { return seats_; }
  // Calls work(thread) on every thread and returns when all are through. `work` does not throw. From one
  // thread at a time.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int thread, const CpuSet& seat);
  alignas(64) std::atomic<std::uint32_t> round_{0};  // the last one is `ended`
  bool end_ = false;
  const std::function<void(int)>* work_ = nullptr;
  std::vector<CpuSet> seats_;
  std::vector<std::thread> others_;
  alignas(64) std::atomic<int> working_{0};  // on a line of its own: all write it
};

}  // namespace nigh::transpose
