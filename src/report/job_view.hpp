// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A program and all that it has started, as it runs: for the live page of `nigh run --web`.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sys/os.hpp"

namespace nigh::report {

class JobView {
 public:
  // `most_threads`: that are told of one by one.
  JobView(sys::Os os, int pid, std::string command, std::size_t most_threads = 4096);
  // The state (format nigh-run-state, docs/interfaces.md) `elapsed` s after the start. How busy a thread is
  // comes from its CPU time since the last look.
  nlohmann::ordered_json look(double elapsed);

 private:
  sys::Os os_;
  int pid_;
  std::string command_;
  std::size_t most_threads_;
  double last_ = -1;                                // s
  std::map<std::pair<int, int>, double> cpu_time_;  // s, by process and thread
};

}  // namespace nigh::report
