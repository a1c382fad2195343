// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A set of addresses as sorted, disjoint ranges that never touch: what is free in the slot, what is mapped
// over by others. Adding merges with the neighbours, so that freed extents coalesce by themselves; taking is
// first fit by address, which keeps the slot dense at its low end. An array and no tree: the kernel allows a
// process 65530 mappings, hence no more ranges than that, and moving half of them costs microseconds. The
// array grows straight from the kernel, since malloc itself stands on it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

struct Range {
  std::uintptr_t lo = 0, hi = 0;
};

class Ranges {
 public:
  constexpr Ranges() = default;
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  // Both may split or join ranges. False: no memory for one more entry, nothing was changed.
  bool add(std::uintptr_t lo, std::uintptr_t hi);
  bool remove(std::uintptr_t lo, std::uintptr_t hi);

  // The lowest place for `bytes` at a multiple of `align` (a power of two); 0: there is none. Takes nothing.
  [[nodiscard]] std::uintptr_t fit(std::size_t bytes, std::size_t align) const;
  [[nodiscard]] bool contains(std::uintptr_t lo, std::uintptr_t hi) const;
  [[nodiscard]] bool touches(std::uintptr_t lo, std::uintptr_t hi) const;

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const Range& at(std::size_t index) const { return items_[index]; }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] bool valid() const;  // sorted, disjoint, no two touching

 private:
  static constexpr std::size_t kInside = 128;
  [[nodiscard]] std::size_t first_ending_after(std::uintptr_t lo) const;
  bool room_for_one();
  void insert(std::size_t at, Range range);
  void erase(std::size_t from, std::size_t to);

  Range inside_[kInside] = {};
  Range* items_ = inside_;
  std::size_t count_ = 0, capacity_ = kInside;
};

}  // namespace nigh::space
