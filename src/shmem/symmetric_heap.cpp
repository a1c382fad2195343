// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/symmetric_heap.hpp"

#include <algorithm>

namespace nigh::shmem {

namespace {
// Lines of two objects never touch: an atomic in one does not slow the other.
constexpr std::size_t grain = 64;

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) & ~(to - 1); }

template <class Ranges>
auto find_at(Ranges& ranges, std::size_t begin) {
  auto at = std::lower_bound(ranges.begin(), ranges.end(), begin,
                             [](const auto& range, std::size_t value) { return range.begin < value; });
  return at != ranges.end() && at->begin == begin ? at : ranges.end();
}

template <class Ranges, class Range>
auto insert_sorted(Ranges& ranges, const Range& range) {
  auto at = std::lower_bound(ranges.begin(), ranges.end(), range.begin,
                             [](const auto& other, std::size_t value) { return other.begin < value; });
  return ranges.insert(at, range);
}
}  // namespace

void SymmetricHeap::reset(std::size_t bytes) {
  const std::lock_guard guard(lock_);
  bytes_ = bytes & ~(grain - 1);
  used_.clear();
  free_.clear();
  if (bytes_ > 0) free_.push_back({0, bytes_, 0});
}

std::size_t SymmetricHeap::take(std::size_t bytes, std::size_t align) {
  const std::lock_guard guard(lock_);
  if (bytes > bytes_) return none;
  align = std::max(align, grain);
  std::size_t wanted = round_up(std::max<std::size_t>(bytes, 1), grain);
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    std::size_t begin = round_up(at->begin, align);
    if (begin < at->begin || begin >= at->end || at->end - begin < wanted) continue;
    Range before = {at->begin, begin, 0}, after = {begin + wanted, at->end, 0};
    at = free_.erase(at);
    if (after.begin < after.end) at = free_.insert(at, after);
    if (before.begin < before.end) free_.insert(at, before);
    insert_sorted(used_, Range{begin, begin + wanted, bytes});
    return begin;
  }
  return none;
}

bool SymmetricHeap::give(std::size_t offset) {
  const std::lock_guard guard(lock_);
  auto found = find_at(used_, offset);
  if (found == used_.end()) return false;
  Range range = {found->begin, found->end, 0};
  used_.erase(found);
  auto at = insert_sorted(free_, range);
  if (at + 1 != free_.end() && at->end == (at + 1)->begin) {
    at->end = (at + 1)->end;
    free_.erase(at + 1);
  }
  if (at != free_.begin() && (at - 1)->end == at->begin) {
    (at - 1)->end = at->end;
    free_.erase(at);
  }
  return true;
}

std::size_t SymmetricHeap::size_at(std::size_t offset) const {
  auto found = find_at(used_, offset);
  return found == used_.end() ? none : found->asked;
}

bool SymmetricHeap::holds(std::size_t offset) const {
  const std::lock_guard guard(lock_);
  const auto after =
      std::upper_bound(used_.begin(), used_.end(), offset,
                       [](std::size_t value, const Range& range) { return value < range.begin; });
  return after != used_.begin() && offset - (after - 1)->begin < (after - 1)->asked;
}

bool SymmetricHeap::resize(std::size_t offset, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  auto found = find_at(used_, offset);
  if (found == used_.end() || bytes > bytes_) return false;
  std::size_t end = found->begin + round_up(std::max<std::size_t>(bytes, 1), grain);
  if (end > found->end) {
    auto next = find_at(free_, found->end);
    if (next == free_.end() || next->end < end) return false;
    next->begin = end;
    if (next->begin == next->end) free_.erase(next);
  } else if (end < found->end) {
    Range rest = {end, found->end, 0};
    auto at = insert_sorted(free_, rest);
    if (at + 1 != free_.end() && at->end == (at + 1)->begin) {
      at->end = (at + 1)->end;
      free_.erase(at + 1);
    }
  }
  found->end = end;
  found->asked = bytes;
  return true;
}

bool SymmetricHeap::validate() const {
  std::vector<Range> all = free_;
  all.insert(all.end(), used_.begin(), used_.end());
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::size_t at = 0;
  for (const Range& range : all) {
    if (range.begin != at || range.end <= range.begin) return false;
    at = range.end;
  }
  for (std::size_t i = 1; i < free_.size(); ++i)
    if (free_[i - 1].end >= free_[i].begin) return false;  // neighbours must have been joined
  return at == bytes_;
}

}  // namespace nigh::shmem
