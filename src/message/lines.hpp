// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Data that one thread writes all the time lies on cache lines of its own: else each write is a miss of the
// threads that read beside it (Mei, Charm++ Workshop 2008, p. 20).
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace nigh::message {

inline constexpr std::size_t line_bytes = 64;

// Memory that shares no line with what malloc gives others.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + line_bytes - 1) / line_bytes * line_bytes;
    return static_cast<T*>(::operator new(bytes, std::align_val_t{line_bytes}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, std::align_val_t{line_bytes}); }
  template <class Other>
  bool operator==(const LineAllocator<Other>&) const {
    return true;
  }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// A part of what one thread writes: for the test that none shares a line with another's.
struct OwnPart {
  const char* what = "";
  const void* at = nullptr;
  std::size_t bytes = 0;
};

}  // namespace nigh::message
