// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The interface of a queue in the queue benchmark: push(producer, item), flush(producer) and take(deliver),
// bound at compile time, so that no call of ours stands in anybody's inner loop. subjects() has all that were
// there when this was built.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "message/inbox.hpp"

namespace bench {

inline constexpr std::size_t items = 10'000;  // of each producer, as in Mei's talk (Charm++ Workshop 2008)

struct alignas(64) Item {
  nigh::message::Link link;
  std::uint32_t from = 0, number = 0;
  std::array<std::uint64_t, 5> payload{};

  void write() {
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = (std::uint64_t{from} << 32 | number) + i;
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t all = number;
    for (const std::uint64_t word : payload) all += word;
    return all;
  }
  [[nodiscard]] bool right(std::size_t expected) const {
    for (std::size_t i = 0; i < payload.size(); ++i)
      if (payload[i] != (std::uint64_t{from} << 32 | number) + i) return false;
    return number == expected;
  }
};
static_assert(sizeof(Item) == 64, "a message of one line");

enum class Batch {
  pointer,  // items are not touched
  message,  // written before, read after
  push,     // as pointer, but nobody takes until all are pushed
  verify,   // as message, every byte and the order checked
};

// The findings of a verifying consumer.
struct Found {
  std::vector<std::size_t> next;
  std::size_t wrong = 0;
};

class Queue {
 public:
  virtual ~Queue() = default;
  virtual void produce(int producer, Item* items, Batch batch) = 0;
  // Until `all` were taken.
  virtual void consume(std::size_t all, Batch batch, Found& found) = 0;
};

template <class Kind>
class Adapted : public Queue {
 public:
  explicit Adapted(int producers) : queue_(static_cast<std::uint32_t>(producers)) {}

  void produce(int producer, Item* mine, Batch batch) override {
    const auto p = static_cast<std::uint32_t>(producer);
    const bool touch = batch == Batch::message || batch == Batch::verify;
    for (std::size_t i = 0; i < items; ++i) {
      if (touch) mine[i].write();
      queue_.push(p, &mine[i]);
    }
    queue_.flush(p);
  }

  void consume(std::size_t all, Batch batch, Found& found) override {
    if (batch == Batch::verify)
      take_all(all, [&](Item* item) { found.wrong += item->right(found.next[item->from]++) ? 0 : 1; });
    else if (batch == Batch::message)
      take_all(all, [this](Item* item) { sum_ += item->sum(); });
    else
      take_all(all, [this](Item* item) { sum_ ^= reinterpret_cast<std::uintptr_t>(item); });
  }

 private:
  template <class Deliver>
  void take_all(std::size_t all, Deliver&& deliver) {
    std::size_t seen = 0;
    for (unsigned idle = 0; seen < all;) {
      const std::size_t got = queue_.take(deliver);
      seen += got;
      if (got != 0) continue;
      nigh::message::pause_cpu();
      if (++idle % 256 == 0) std::this_thread::yield();  // producers may share this CPU
    }
  }
  Kind queue_;
  std::uint64_t sum_ = 0;
};

struct Subject {
  std::string name;
  std::function<std::unique_ptr<Queue>(int producers)> make;  // none: `missing` says what is not installed
  std::string missing;
};
const std::vector<Subject>& subjects();

}  // namespace bench
