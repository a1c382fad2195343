// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A lock that works before libc is initialised and that a fork can reset: one word, sleeping by futex.
#pragma once

#include <atomic>
#include <cstdint>

#include "sys/futex.hpp"

namespace nigh::space {

class Lock {
 public:
  constexpr Lock() = default;
  void lock() {
    std::uint32_t expected = 0;
    if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0) sys::futex_wait(&word_, 2, 10'000'000);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) sys::futex_wake_all(&word_);
  }
  // In the child of a fork, whose other threads are gone.
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> word_{0};
};

class Holding {
 public:
  explicit Holding(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Holding() { lock_.unlock(); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  Lock& lock_;
};

}  // namespace nigh::space
