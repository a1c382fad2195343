// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The symmetric heap's bookkeeping: offsets only, kept in private memory. It is a pure function of the
// sequence of calls, which OpenSHMEM requires to be the same on all PEs, so that all PEs arrive at the same
// offsets without a word between them. First fit over a sorted list of free ranges: deterministic, and small
// because symmetric objects are few. Calls that change it are collective; any thread may ask meanwhile.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace nigh::shmem {

class SymmetricHeap {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  void reset(std::size_t bytes);
  // Offset of `bytes` bytes aligned to `align` (a power of two), or `none`.
  std::size_t take(std::size_t bytes, std::size_t align);
  // False when nothing begins at that offset.
  bool give(std::size_t offset);
  // Size as asked for, or `none` when nothing begins there.
  [[nodiscard]] std::size_t size_at(std::size_t offset) const;
  // Grows or shrinks in place; false when there is no room behind it.
  bool resize(std::size_t offset, std::size_t bytes);
  // True if that byte belongs to a block, of the length that was asked for.
  [[nodiscard]] bool holds(std::size_t offset) const;
  [[nodiscard]] bool validate() const;

 private:
  struct Range {
    std::size_t begin, end;  // bytes; of a used one, `end` is rounded up
    std::size_t asked;       // of a used one
  };
  std::vector<Range> free_, used_;  // each sorted by begin
  std::size_t bytes_ = 0;
  mutable std::mutex lock_;
};

}  // namespace nigh::shmem
