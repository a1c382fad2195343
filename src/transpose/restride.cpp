// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/restride.hpp"

#include <algorithm>
#include <cstring>

namespace nigh::transpose {

Restride::Restride(std::size_t rows, std::size_t bytes, std::size_t from, std::size_t to, int threads)
    : rows_(rows), bytes_(bytes), from_(from), to_(to) {
  // The largest number of parts that only the next one overwrites.
  const std::size_t further = std::max(from, to) - std::min(from, to);
  const std::size_t most = further == 0 ? 1 : std::max<std::size_t>(1, std::min(from, to) / (2 * further));
  parts_ = std::min({static_cast<std::size_t>(threads), most, std::max<std::size_t>(1, rows / 2)});
  for (std::size_t part = 0; part < parts_; ++part) {
    const IndexRange range = aside(part);
    most_aside_ = std::max(most_aside_, range.end - range.first);
  }
  held_.reset(new std::byte[parts_ * most_aside_ * bytes_]);
}

// Together: the next part's first row goes where the last ones of this lie. Apart: the last row of the part
// before goes where the first ones of this lie.
IndexRange Restride::aside(std::size_t part) const {
  const IndexRange mine = rows_of(part);
  if (from_ == to_ || (from_ > to_ && part + 1 == parts_) || (from_ < to_ && part == 0)) return {};
  if (from_ > to_) return {std::max(mine.first, mine.end * to_ / from_), mine.end};
  return {mine.first, std::min(mine.end, (mine.first * to_ + from_ - 1) / from_)};
}

void Restride::move(std::byte* data, std::size_t part) const {
  const IndexRange mine = rows_of(part), held = aside(part);
  const auto move_row = [&](std::size_t row) {
    std::byte* const to = data + row * to_;
    if (row >= held.first && row < held.end) {
      std::memcpy(to, held_.get() + (part * most_aside_ + row - held.first) * bytes_, bytes_);
    } else {
      std::memmove(to, data + row * from_, bytes_);
    }
  };
  if (from_ > to_) {
    for (std::size_t row = mine.first; row < mine.end; ++row) move_row(row);
  } else {
    for (std::size_t row = mine.end; row-- > mine.first;) move_row(row);
  }
}

void Restride::run(std::byte* data, Team& team) const {
  if (from_ == to_ || rows_ == 0) return;
  const auto each_part = [&](const auto& work) {
    team.run([&](int thread) {
      const auto threads = static_cast<std::size_t>(team.threads());
      for (auto part = static_cast<std::size_t>(thread); part < parts_; part += threads) work(part);
    });
  };
  if (most_aside_ > 0)
    each_part([&](std::size_t part) {
      const IndexRange range = aside(part);
      for (std::size_t row = range.first; row < range.end; ++row)
        std::memcpy(held_.get() + (part * most_aside_ + row - range.first) * bytes_, data + row * from_,
                    bytes_);
    });
  each_part([&](std::size_t part) { move(data, part); });
}

}  // namespace nigh::transpose
