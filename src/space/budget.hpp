// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that may be spent on what could be in vain: some at first, and more for each second of CPU time, if
// asked for only while there are signs that it isn't.
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nigh::space {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Signs last for a second of CPU time.
class Signs {
 public:
  void seen() {
    if (!seen_.load(std::memory_order_relaxed)) seen_.store(true, std::memory_order_relaxed);
  }
  bool last(std::int64_t cpu_ms) {
    if (seen_.exchange(false, std::memory_order_relaxed))
      until_.store(cpu_ms + 1000, std::memory_order_relaxed);
    return cpu_ms <= until_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> seen_{false};
  std::atomic<std::int64_t> until_{-1};
};

class Budget {
 public:
  // `signs`: time without any brings nothing.
  constexpr Budget(std::int64_t at_first, std::int64_t each_second, Signs* signs = nullptr)
      : each_second_(each_second), signs_(signs), left_(at_first) {}
  [[nodiscard]] bool is_spent() const { return left_.load(std::memory_order_relaxed) <= 0; }
  void add(std::int64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t left() const { return left_.load(std::memory_order_relaxed); }
  // Takes the bytes if any are left, also more than are left. Of a spent budget it asks for the CPU time of
  // the process, some hundred ns.
  bool pay(std::size_t bytes) {
    if (is_spent()) collect();
    if (is_spent()) return false;
    left_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    return true;
  }

 private:
  void collect() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    const std::int64_t ms = time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
    const std::int64_t earned = ms * each_second_ / 1000;
    const std::int64_t before = earned_.exchange(earned, std::memory_order_relaxed);
    if (signs_ == nullptr)
      add(earned - before);
    else if (signs_->last(ms))
      add(std::min(earned - before, each_second_));
  }

  std::int64_t each_second_;
  Signs* signs_;
  std::atomic<std::int64_t> left_, earned_{0};
};

}  // namespace nigh::space
