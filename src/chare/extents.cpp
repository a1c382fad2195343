// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/extents.hpp"

#include <algorithm>
#include <bit>

namespace nigh::chare {

Extents::Extents(space::CommonRange* range, bool is_shared, std::uint32_t pe, std::uint32_t pes)
    : range_(range), is_shared_(is_shared), pe_(pe), pes_(pes) {}

bool Extents::can_be() const { return range_ && range_->settled() && (!is_shared_ || range_->is_shared()); }

std::uint64_t Extents::epoch_of(const void* extent) const {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(extent) - range_->first();
  return std::uint64_t{1} << offset / (range_->bytes() / epochs);
}

// The next one in which this PE has some; false: there is none.
bool Extents::next_epoch() {
  slice_ = range_->bytes() / epochs / pes_ / smallest * smallest;
  while (next_ < epochs && (avoided_ >> next_ & 1)) ++next_;
  if (next_ == epochs || slice_ == 0) return false;
  at_ = range_->first() + next_ * (range_->bytes() / epochs) + pe_ * slice_;
  end_ = at_ + slice_;
  taken_ |= std::uint64_t{1} << next_;
  ++next_;
  return true;
}

void* Extents::take(std::size_t& bytes) {
  if (!can_be() || bytes > range_->bytes() / epochs) return nullptr;
  bytes = std::max(std::bit_ceil(bytes), smallest);
  auto& free = free_[static_cast<std::size_t>(std::countr_zero(bytes))];
  if (!free.empty()) {
    void* const out = free.back();
    free.pop_back();
    return out;
  }
  while (end_ - at_ < bytes)
    if ((slice_ > 0 && bytes > slice_) || !next_epoch()) return nullptr;
  auto* const out = reinterpret_cast<void*>(at_);  // NOLINT(performance-no-int-to-ptr)
  if (!range_->use(out, bytes)) return nullptr;
  at_ += bytes;
  return out;
}

void Extents::give(void* extent, std::size_t bytes) {
  if (bytes > most_kept) range_->discard(extent, bytes);
  free_[static_cast<std::size_t>(std::countr_zero(bytes))].push_back(extent);
}

bool Extents::place(const void* extent, std::size_t bytes) {
  const bool is_one = can_be() && bytes >= smallest && std::has_single_bit(bytes) &&
                      reinterpret_cast<std::uintptr_t>(extent) % smallest == 0;
  return is_one && range_->use(extent, bytes);
}

bool Extents::keep_out(std::uint64_t these) {
  if (taken_ & these) return false;
  avoided_ |= these;
  return true;
}

}  // namespace nigh::chare
