// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes that the ranks of a job send each other: an undirected graph whose edges are the bytes of both
// directions, as compressed sparse rows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace nigh {

class Traffic {
 public:
  struct Entry {
    int from = 0, to = 0;  // ranks
    double bytes = 0;
  };
  struct Edge {
    int to = 0;
    double bytes = 0;
  };

  Traffic() = default;
  // Entries of the same two ranks are added up, in both directions; those of a rank with itself are dropped.
  // Requires 0 <= from, to < ranks and bytes >= 0.
  Traffic(int ranks, const std::vector<Entry>& entries);

  [[nodiscard]] int ranks() const { return static_cast<int>(start_.size()) - 1; }
  [[nodiscard]] std::span<const Edge> of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {edges_.data() + start_[r], edges_.data() + start_[r + 1]};
  }
  // Edges in both directions.
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }
  // Bytes between different ranks, each message counted once.
  [[nodiscard]] double total() const { return total_; }

 private:
  std::vector<std::size_t> start_ = {0};
  std::vector<Edge> edges_;
  double total_ = 0;
};

}  // namespace nigh
