// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A space as everything above sees it: the ranks of a job on one node, and the memory that all of them reach
// by plain loads and stores at the same addresses (SMARTMAP: Brightwell, Kelly, Crow, CUG 2009, in user
// space). The question asked once per message, "may a peer read this buffer where it lies?", is answered
// inline by two compares; all else is cold and virtual. Two kinds exist: ranks that are processes
// (process_space.hpp, one memfd each, mapped at one slot in all) and ranks that are threads of one process
// (thread_space.hpp), on which the same protocols run under the thread sanitizer and the model checker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nigh::space {

// The pointers that a rank lets its peers find: one per layer, published once.
enum class Root : int { message, collectives, mpi, shmem, chare, test, user, count };

class Space {
 public:
  Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  virtual ~Space() = default;

  // This rank among the ranks of its job on this node, and how many there are (reachable or not).
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // Messages from here on may go in one copy, where their buffers are shared.
  static constexpr std::size_t one_copy_bytes = 4000;

  // The address at which every rank finds these bytes, or nullptr when they are private to this process:
  // stacks, static data that was not shared, memory that something else was mapped over. Cheap enough for
  // every message.
  [[nodiscard]] void* global(const void* data, std::size_t bytes) const {
    auto offset = reinterpret_cast<std::uintptr_t>(data) - first_;
    if (offset < span_ && bytes <= span_ - offset && !patched_.load(std::memory_order_relaxed)) {
      if (marks_ && bytes >= one_copy_bytes) mark(offset);
      return const_cast<void*>(data);
    }
    return global_slow(data, bytes);
  }

  // Memory of this rank that all ranks reach; nullptr when there is none left. Not zeroed. `align` is a power
  // of two.
  virtual void* alloc(std::size_t bytes, std::size_t align) = 0;
  virtual void release(void* data) = 0;

  // Shows `data` (from alloc) to the peers; seen with everything written before it.
  virtual void publish(Root root, void* data) = 0;
  // The pointer that `rank` published, or nullptr: not yet, or that rank is not reachable.
  [[nodiscard]] virtual void* root(int rank, Root root) const = 0;

  // True if this rank and `rank` have mapped each other. False for ranks without us, or with another version
  // of us.
  [[nodiscard]] virtual bool reachable(int rank) const = 0;
  // True if every pair of `ranks` is reachable from each other: the same answer on every one of them.
  [[nodiscard]] virtual bool all_reachable(const int* ranks, int count) const = 0;
  // False once the rank's process has ended. Makes a system call: for slow paths of waiting only.
  [[nodiscard]] virtual bool alive(int rank) const = 0;

  // The address in `rank`'s memory that corresponds to `mine` in ours (Brightwell, CUG 2009, p. 14): the same
  // offset of its heap, the same variable of the same module for shared static data. nullptr when there is
  // none.
  [[nodiscard]] virtual void* remote(int rank, const void* mine) const = 0;

 protected:
  // Aliases, holes, addresses in peers' memory.
  [[nodiscard]] virtual void* global_slow(const void* data, std::size_t bytes) const = 0;

  static constexpr std::size_t page_bytes = 4096;
  // A message begins there (sites.hpp).
  void mark(std::uintptr_t offset) const {
    std::atomic<std::uint8_t>& page = marks_[offset / page_bytes];
    const std::uint8_t is = page.load(std::memory_order_relaxed);
    if ((is & 1) == 0) page.store(is | 1, std::memory_order_relaxed);
  }

  int rank_ = 0;
  int size_ = 1;
  std::uintptr_t first_ = 0;  // our own slot: [first_, first_ + span_)
  std::uintptr_t span_ = 0;
  std::atomic<std::uint8_t>* marks_ = nullptr;  // of the slot's pages, where blocks that are sent are learned
  std::atomic<bool> patched_ = false;           // something else is mapped within the slot: ask global_slow
};

}  // namespace nigh::space
