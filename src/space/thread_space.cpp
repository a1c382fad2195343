// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See thread_space.hpp: nothing here but the plainest implementation of each promise of space.hpp.
#include "space/thread_space.hpp"

#include <cstdlib>

namespace nigh::space {

ThreadSpace::Common::Common(int ranks) : members(static_cast<std::size_t>(ranks)) {}

ThreadSpace::Common::~Common() {
  for (void* data : allocated) std::free(data);
}

ThreadSpace::ThreadSpace(Common& common, int rank) : common_(common) {
  rank_ = rank;
  size_ = static_cast<int>(common.members.size());
  first_ = 1;  // all but nullptr
  span_ = ~std::uintptr_t{0} - 1;
}

void* ThreadSpace::alloc(std::size_t bytes, std::size_t align) {
  if (align < alignof(std::max_align_t)) align = alignof(std::max_align_t);
  void* data = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (!data) return nullptr;
  std::lock_guard lock(common_.mutex);
  common_.allocated.insert(data);
  return data;
}

void ThreadSpace::release(void* data) {
  {
    std::lock_guard lock(common_.mutex);
    common_.allocated.erase(data);
  }
  std::free(data);
}

void ThreadSpace::publish(Root root, void* data) {
  common_.members[static_cast<std::size_t>(rank_)].roots[static_cast<int>(root)].store(
      data, std::memory_order_release);
}

void* ThreadSpace::root(int rank, Root root) const {
  return common_.members[static_cast<std::size_t>(rank)].roots[static_cast<int>(root)].load(
      std::memory_order_acquire);
}

bool ThreadSpace::alive(int rank) const {
  return !common_.members[static_cast<std::size_t>(rank)].dead.load(std::memory_order_acquire);
}

void ThreadSpace::die() {
  common_.members[static_cast<std::size_t>(rank_)].dead.store(true, std::memory_order_release);
}

}  // namespace nigh::space
