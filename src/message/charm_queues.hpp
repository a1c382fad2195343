// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The three queues that Charm++ went through on its way to multicore (Chao Mei, Charm++ Workshop 2008,
// "queues"), to be measured against and chosen by name: one queue with a lock for everybody; one queue where
// only producers lock and the consumer is kept apart by fences; one queue for each producer, with fences
// alone. All grow as they need, in blocks, as Charm++'s PCQueue does. For threads of one process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "message/inbox.hpp"

namespace nigh::message {

// Mei: "single queue with lock".
class LockedQueue {
 public:
  explicit LockedQueue(std::uint32_t /*producers*/) {}
  void push(std::uint32_t /*producer*/, Link* message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
  }
  void flush(std::uint32_t /*producer*/) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver, std::size_t most = ~std::size_t{0}) {
    std::size_t count = 0;
    for (; count < most; ++count) {
      std::unique_lock lock(mutex_);
      if (messages_.empty()) break;
      Link* const message = messages_.front();
      messages_.pop_front();
      lock.unlock();
      deliver(message);
    }
    return count;
  }

 private:
  std::mutex mutex_;
  std::deque<Link*> messages_;
};

// One producer at a time, one consumer. What is shared: how many were pushed, and the next block.
class FencedBlocks {
 public:
  FencedBlocks() : last_(new Block), first_(last_) {}
  FencedBlocks(const FencedBlocks&) = delete;
  FencedBlocks& operator=(const FencedBlocks&) = delete;
  ~FencedBlocks() {
    while (first_) delete std::exchange(first_, first_->next);
  }

  void push(Link* message) {
    const std::uint64_t n = pushed_.load(std::memory_order_relaxed);
    if (n != 0 && n % block_messages == 0) last_ = last_->next = new Block;
    last_->messages[n % block_messages] = message;
    pushed_.store(n + 1, std::memory_order_release);  // Mei's write fence
  }

  // Null: it is empty.
  Link* take() {
    if (pushed_.load(std::memory_order_acquire) == taken_) return nullptr;  // and its read fence
    if (taken_ != 0 && taken_ % block_messages == 0) delete std::exchange(first_, first_->next);
    return first_->messages[taken_++ % block_messages];
  }

 private:
  static constexpr std::size_t block_messages = 1024;
  struct Block {
    std::array<Link*, block_messages> messages;
    Block* next = nullptr;
  };
  alignas(64) std::atomic<std::uint64_t> pushed_ = 0;
  Block* last_;  // the producer's
  alignas(64) std::uint64_t taken_ = 0;
  Block* first_;  // the consumer's
};

// Mei: "single queue with fence and atomic operation".
class FencedQueue {
 public:
  explicit FencedQueue(std::uint32_t /*producers*/) {}
  void push(std::uint32_t /*producer*/, Link* message) {
    const std::lock_guard lock(mutex_);
    blocks_.push(message);
  }
  void flush(std::uint32_t /*producer*/) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver, std::size_t most = ~std::size_t{0}) {
    std::size_t count = 0;
    for (Link* message = nullptr; count < most && (message = blocks_.take()); ++count) deliver(message);
    return count;
  }

 private:
  std::mutex mutex_;
  FencedBlocks blocks_;
};

// Mei: "one queue for each producer, with fences".
class ProducerQueues {
 public:
  explicit ProducerQueues(std::uint32_t producers) : queues_(producers) {}
  void push(std::uint32_t producer, Link* message) { queues_[producer].push(message); }
  void flush(std::uint32_t /*producer*/) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver, std::size_t most = ~std::size_t{0}) {
    std::size_t count = 0;
    for (FencedBlocks& queue : queues_)
      for (Link* message = nullptr; count < most && (message = queue.take()); ++count) deliver(message);
    return count;
  }

 private:
  std::vector<FencedBlocks> queues_;
};

// Ours behind the same names, in memory of this process.
class LaneQueue {
 public:
  explicit LaneQueue(std::uint32_t producers, std::uint32_t lines = 16, bool may_grow = true)
      : memory_(::operator new(InboxMemory<>::bytes(producers, lines), line)),
        parts_(InboxMemory<>::make(memory_.get(), producers, lines,
                                   may_grow ? RingMemory{get, give} : RingMemory{})),
        inbox_(parts_) {
    lanes_.reserve(producers);
    for (std::uint32_t p = 0; p < producers; ++p) lanes_.emplace_back(parts_, p);
  }
  void push(std::uint32_t producer, Link* message) { lanes_[producer].lane.push(message); }
  void flush(std::uint32_t producer) { lanes_[producer].lane.flush(); }
  template <class Deliver>
  std::size_t take(Deliver&& deliver, std::size_t most = ~std::size_t{0}) {
    return inbox_.take(deliver, most);
  }

 private:
  static constexpr std::align_val_t line{64};
  static void* get(std::size_t bytes) { return ::operator new(bytes, line, std::nothrow); }
  static void give(void* memory, std::size_t) { ::operator delete(memory, line); }
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, line); }
  };
  struct alignas(128) OwnLines {  // 128: the prefetcher takes lines in pairs
    OwnLines(const InboxMemory<>& parts, std::uint32_t producer) : lane(parts, producer) {}
    Lane<> lane;
  };
  std::unique_ptr<void, Free> memory_;
  InboxMemory<> parts_;
  Inbox<> inbox_;
  std::vector<OwnLines> lanes_;
};

}  // namespace nigh::message
