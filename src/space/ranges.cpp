// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See ranges.hpp.
#include "space/ranges.hpp"

#include <cstring>

#include "sys/raw_memory.hpp"

namespace nigh::space {

std::size_t Ranges::first_ending_after(std::uintptr_t lo) const {
  std::size_t low = 0, high = count_;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (items_[middle].hi > lo)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

bool Ranges::room_for_one() {
  if (count_ < capacity_) return true;
  const std::size_t bytes = capacity_ * 2 * sizeof(Range);
  const long grown = sys::raw_map(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sys::is_error(grown)) return false;
  auto* items = reinterpret_cast<Range*>(grown);
  memcpy(items, items_, count_ * sizeof(Range));
  if (items_ != inside_) sys::raw_unmap(reinterpret_cast<std::uintptr_t>(items_), capacity_ * sizeof(Range));
  items_ = items;
  capacity_ *= 2;
  return true;
}

void Ranges::insert(std::size_t at, Range range) {
  memmove(items_ + at + 1, items_ + at, (count_ - at) * sizeof(Range));
  items_[at] = range;
  ++count_;
}

void Ranges::erase(std::size_t from, std::size_t to) {
  memmove(items_ + from, items_ + to, (count_ - to) * sizeof(Range));
  count_ -= to - from;
}

bool Ranges::add(std::uintptr_t lo, std::uintptr_t hi) {
  if (lo >= hi) return true;
  if (!room_for_one()) return false;
  std::size_t first = first_ending_after(lo == 0 ? 0 : lo - 1);  // one that ends at lo is joined too
  std::size_t last = first;
  while (last < count_ && items_[last].lo <= hi) {
    if (items_[last].lo < lo) lo = items_[last].lo;
    if (items_[last].hi > hi) hi = items_[last].hi;
    ++last;
  }
  erase(first, last);
  insert(first, {.lo = lo, .hi = hi});
  return true;
}

bool Ranges::remove(std::uintptr_t lo, std::uintptr_t hi) {
  if (lo >= hi) return true;
  if (!room_for_one()) return false;
  std::size_t at = first_ending_after(lo);
  if (at < count_ && items_[at].lo < lo) {
    const std::uintptr_t end = items_[at].hi;
    items_[at].hi = lo;
    ++at;
    if (end > hi) {
      insert(at, {.lo = hi, .hi = end});
      return true;
    }
  }
  std::size_t last = at;
  while (last < count_ && items_[last].hi <= hi) ++last;
  if (last < count_ && items_[last].lo < hi) items_[last].lo = hi;
  erase(at, last);
  return true;
}

std::uintptr_t Ranges::fit(std::size_t bytes, std::size_t align) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uintptr_t lo = (items_[i].lo + align - 1) & ~(align - 1);
    if (lo >= items_[i].lo && lo < items_[i].hi && items_[i].hi - lo >= bytes) return lo;
  }
  return 0;
}

bool Ranges::contains(std::uintptr_t lo, std::uintptr_t hi) const {
  const std::size_t at = first_ending_after(lo);
  return at < count_ && items_[at].lo <= lo && hi <= items_[at].hi;
}

bool Ranges::touches(std::uintptr_t lo, std::uintptr_t hi) const {
  const std::size_t at = first_ending_after(lo);
  return at < count_ && items_[at].lo < hi;
}

std::uint64_t Ranges::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += items_[i].hi - items_[i].lo;
  return sum;
}

bool Ranges::valid() const {
  for (std::size_t i = 0; i < count_; ++i)
    if (items_[i].lo >= items_[i].hi || (i > 0 && items_[i - 1].hi >= items_[i].lo)) return false;
  return true;
}

}  // namespace nigh::space
