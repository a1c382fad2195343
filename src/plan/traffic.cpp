// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/traffic.hpp"

#include <algorithm>

namespace nigh {

Traffic::Traffic(int ranks, const std::vector<Entry>& entries)
    : start_(static_cast<std::size_t>(ranks) + 1, 0) {
  for (const Entry& entry : entries)
    if (entry.from != entry.to && entry.bytes > 0) {
      ++start_[static_cast<std::size_t>(entry.from) + 1];
      ++start_[static_cast<std::size_t>(entry.to) + 1];
      total_ += entry.bytes;
    }
  for (std::size_t rank = 1; rank < start_.size(); ++rank) start_[rank] += start_[rank - 1];
  edges_.resize(start_.back());
  std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
  for (const Entry& entry : entries)
    if (entry.from != entry.to && entry.bytes > 0) {
      edges_[next[static_cast<std::size_t>(entry.from)]++] = {entry.to, entry.bytes};
      edges_[next[static_cast<std::size_t>(entry.to)]++] = {entry.from, entry.bytes};
    }
  // Edges of the same two ranks become one.
  std::size_t kept = 0;
  for (std::size_t rank = 0; rank + 1 < start_.size(); ++rank) {
    const auto first = edges_.begin() + static_cast<std::ptrdiff_t>(start_[rank]);
    const auto last = edges_.begin() + static_cast<std::ptrdiff_t>(start_[rank + 1]);
    std::sort(first, last, [](const Edge& a, const Edge& b) { return a.to < b.to; });
    const std::size_t begin = kept;
    for (auto edge = first; edge != last; ++edge)
      if (kept > begin && edges_[kept - 1].to == edge->to)
        edges_[kept - 1].bytes += edge->bytes;
      else
        edges_[kept++] = *edge;
    start_[rank] = begin;
  }
  start_.back() = kept;
  edges_.resize(kept);
}

}  // namespace nigh
