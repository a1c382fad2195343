// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that are threads of one process: every address is global, alloc is the process's own allocator, a
// rank is dead when it says so. The protocols above can't tell the difference, so that the sanitizers, the
// model checker and plain debuggers see all ranks at once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "space/space.hpp"

namespace nigh::space {

class ThreadSpace final : public Space {
 public:
  // The common state of the ranks of one job; make it before the threads, keep it until the last has ended.
  struct Common {
    explicit Common(int ranks);
    ~Common();  // what was not released goes with it, as the memory of a process does
    struct Member {
      std::atomic<void*> roots[static_cast<int>(Root::count)] = {};
      std::atomic<bool> dead = false;
    };
    std::vector<Member> members;
    std::mutex mutex;
    std::unordered_set<void*> allocated;
  };

  ThreadSpace(Common& common, int rank);
  void* alloc(std::size_t bytes, std::size_t align) override;
  void release(void* data) override;
  void publish(Root root, void* data) override;
  [[nodiscard]] void* root(int rank, Root root) const override;
  [[nodiscard]] bool reachable(int) const override { return true; }
  [[nodiscard]] bool all_reachable(const int*, int) const override { return true; }
  [[nodiscard]] bool alive(int rank) const override;
  [[nodiscard]] void* remote(int, const void*) const override { return nullptr; }
  void die();  // for tests of what peers do then

 private:
  [[nodiscard]] void* global_slow(const void* data, std::size_t) const override {
    return const_cast<void*>(data);
  }
  Common& common_;
};

}  // namespace nigh::space
