// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that may be spent on what could be in vain: some at first, and more for each second of CPU time.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nigh::space {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class Budget {
 public:
  constexpr Budget(std::int64_t at_first, std::int64_t each_second)
      : each_second_(each_second), left_(at_first) {}
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
    const std::int64_t earned = (time.tv_sec * 1000 + time.tv_nsec / 1'000'000) * each_second_ / 1000;
    add(earned - earned_.exchange(earned, std::memory_order_relaxed));
  }

  std::int64_t each_second_;
  std::atomic<std::int64_t> left_, earned_{0};
};

}  // namespace nigh::space
