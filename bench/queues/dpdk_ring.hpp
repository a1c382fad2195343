// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A bounded ring after DPDK's rte_ring (22.11, its C11 form), many producers and one consumer: each end has a
// head, up to which places are reserved, and a tail, up to which they may be used by the other end. A
// producer reserves by a compare and swap of the head, copies, waits until the tail has come to where its own
// places begin, and moves it over them. It waits as rte_ring does by default, without ever giving its CPU
// away: one that is preempted between head and tail holds all others up until it runs again. Written here
// because the package (libdpdk-dev) brings 220 others; docs/bench.md holds it against the real one.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "message/inbox.hpp"

namespace bench {

template <class T>
class DpdkRing {
 public:
  // For at least `capacity`; positions wrap around in 32 bits, as there.
  explicit DpdkRing(std::uint32_t capacity)
      : mask_(std::bit_ceil(capacity + 1) - 1), capacity_(mask_), places_(new T[std::size_t{mask_} + 1]) {}

  // All of them or none (rte_ring_mp_enqueue_bulk).
  bool enqueue_bulk(const T* from, std::uint32_t count) {
    std::uint32_t head = producers_.head.load(std::memory_order_acquire);
    do {
      if (count > capacity_ + consumer_.tail.load(std::memory_order_acquire) - head) return false;
    } while (!producers_.head.compare_exchange_strong(head, head + count, std::memory_order_release,
                                                      std::memory_order_acquire));
    for_each_run(head, count,
                 [&](T* place, std::uint32_t at, std::uint32_t n) { copy(from + at, place, n); });
    while (producers_.tail.load(std::memory_order_relaxed) != head) nigh::message::pause_cpu();
    producers_.tail.store(head + count, std::memory_order_release);
    return true;
  }

  // Takes all that there are, up to `most` (rte_ring_sc_dequeue_burst).
  std::uint32_t dequeue_burst(T* to, std::uint32_t most) {
    const std::uint32_t head = consumer_.head.load(std::memory_order_relaxed);
    const std::uint32_t count = std::min(most, producers_.tail.load(std::memory_order_acquire) - head);
    if (count == 0) return 0;
    consumer_.head.store(head + count, std::memory_order_relaxed);
    for_each_run(head, count, [&](T* place, std::uint32_t at, std::uint32_t n) { copy(place, to + at, n); });
    consumer_.tail.store(head + count, std::memory_order_release);
    return count;
  }

 private:
  struct alignas(128) Ends {  // an empty line after each, against the prefetch of pairs of lines
    std::atomic<std::uint32_t> head = 0, tail = 0;
  };
  static void copy(const T* from, T* to, std::uint32_t count) {  // as there: std::copy_n would be a call
    std::uint32_t i = 0;
    for (; i + 4 <= count; i += 4) {
      to[i] = from[i];
      to[i + 1] = from[i + 1];
      to[i + 2] = from[i + 2];
      to[i + 3] = from[i + 3];
    }
    for (; i < count; ++i) to[i] = from[i];
  }
  // One run of places, or two where they go on at the ring's begin.
  template <class Run>
  void for_each_run(std::uint32_t head, std::uint32_t count, Run&& run) {
    const std::uint32_t first = head & mask_, fit = std::min(count, mask_ + 1 - first);
    run(&places_[first], 0, fit);
    if (fit < count) run(&places_[0], fit, count - fit);
  }

  const std::uint32_t mask_, capacity_;
  const std::unique_ptr<T[]> places_;
  Ends producers_, consumer_;
};

}  // namespace bench
