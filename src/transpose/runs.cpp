// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/runs.hpp"

#include <algorithm>
#include <cstring>

namespace nigh::transpose {

Runs::Runs(const Slabs& slabs, std::size_t rank, int threads)
    : slabs_(slabs), rows_(slabs.rows.count(rank)), columns_(slabs.columns.count(rank)) {
  std::size_t all = 0;
  const std::size_t ranks = slabs.rows.ranks;
  for (std::size_t d = 0; d < ranks; ++d) {
    spill_first_.push_back(all);
    all += surplus_in(d);
  }
  // For order(): the last element of each run that is longer than the shortest; or all, if those are empty.
  const std::size_t shortest = slabs.rows.things / ranks;
  const std::size_t ends = columns_ * (slabs.rows.things - shortest * ranks);
  spill_.resize(std::max(all, ends) * slabs.element);
  if (shortest > 0) reorder_.emplace(Order{ranks, columns_, 1}, shortest * slabs.element, threads);
}

// Those that move up, the last first; then those that move down, the first first: so none is written over.
void Runs::place(std::byte* data) {
  if (columns_ == 0) return;  // nor need there be an array
  const std::size_t element = slabs_.element;
  const auto move = [&](std::size_t d) {
    std::memmove(data + in_first(d) * element, data + out_first(d) * element, common(d) * element);
  };
  for (std::size_t d = slabs_.rows.ranks; d-- > 0;)
    if (in_first(d) > out_first(d)) move(d);
  for (std::size_t d = 0; d < slabs_.rows.ranks; ++d)
    if (in_first(d) < out_first(d)) move(d);
  for (std::size_t d = 0; d < slabs_.rows.ranks; ++d)
    if (surplus_in(d) > 0)
      std::memcpy(data + (in_first(d) + common(d)) * element, spill(d), surplus_in(d) * element);
}

// Runs differ by one element at most. That one is put aside, so that all are of one length and their
// permutation that of a transpose; then they are moved apart, the last first, and get it back.
void Runs::order(std::byte* data, Team& team) {
  if (columns_ == 0) return;
  const std::size_t element = slabs_.element, ranks = slabs_.rows.ranks, all = slabs_.rows.things;
  const std::size_t shortest = all / ranks, run = shortest * element;
  std::byte *put = data, *aside = spill_.data();
  for (std::size_t d = 0; d < ranks; ++d) {
    const std::size_t count = slabs_.rows.count(d);
    const std::byte* from = data + in_first(d) * element;
    for (std::size_t j = 0; j < columns_; ++j, from += count * element, put += run) {
      if (count > shortest) {
        std::memcpy(aside, from + run, element);
        aside += element;
      }
      std::memmove(put, from, run);
    }
  }
  if (run > 0) {
    reorder_->list();
    reorder_->run(data, team);
  }
  if (all == shortest * ranks) return;
  std::vector<std::size_t> before;  // ranks that have a longer run
  for (std::size_t d = 0; d < ranks; ++d) before.push_back(slabs_.rows.first(d) - d * shortest);
  for (std::size_t j = columns_; j-- > 0;) {
    for (std::size_t d = ranks; d-- > 0;) {
      std::byte* to = data + (j * all + slabs_.rows.first(d)) * element;
      std::memmove(to, data + (j * ranks + d) * run, run);
      if (slabs_.rows.count(d) > shortest)
        std::memcpy(to + run, spill_.data() + (before[d] * columns_ + j) * element, element);
    }
  }
}

}  // namespace nigh::transpose
