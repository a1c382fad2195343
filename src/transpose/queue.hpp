// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Work that is dealt while it is done: pieces differ in length and threads in how much of their CPU they
// have.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace nigh::transpose {

// `count` things are taken `grain` at a time by whoever is free.
class Queue {
 public:
  Queue(std::size_t count, std::size_t grain) : count_(count), grain_(grain) {}
  template <class Work>
  void serve(const Work& work) {
    for (;;) {
      const std::size_t first = next_.fetch_add(grain_, std::memory_order_relaxed);
      if (first >= count_) return;
      work(first, std::min(count_, first + grain_));
    }
  }

 private:
  const std::size_t count_, grain_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace nigh::transpose
