// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's work in its own memory when a matrix that is not square is transposed in place over ranks. Its
// rows of A, turned, are blocks, one for each rank; these change places with the blocks of the others, which
// differ in size by a row and a column; and the runs of the received blocks are put in order. Beside the
// array, buffers of O(rows + columns) elements are used.
//
//      A, turned          exchanged              B
//      [d][its columns][my rows]  ->  [d][my columns][its rows]  ->  [my columns][d][its rows]
#pragma once

#include <optional>
#include <vector>

#include "transpose/reorder.hpp"
#include "transpose/slabs.hpp"

namespace nigh::transpose {

class Runs {
 public:
  Runs(const Slabs& slabs, std::size_t rank, int threads);

  // In elements of the array: the block that goes to rank d, the one that comes from it. What both have goes
  // where the other came from; what one has more goes from its end, and into the spill.
  [[nodiscard]] std::size_t out_first(std::size_t d) const { return slabs_.columns.first(d) * rows_; }
  [[nodiscard]] std::size_t out_count(std::size_t d) const { return slabs_.columns.count(d) * rows_; }
  [[nodiscard]] std::size_t in_first(std::size_t d) const { return slabs_.rows.first(d) * columns_; }
  [[nodiscard]] std::size_t in_count(std::size_t d) const { return slabs_.rows.count(d) * columns_; }
  [[nodiscard]] std::size_t common(std::size_t d) const { return std::min(out_count(d), in_count(d)); }
  [[nodiscard]] std::size_t surplus_out(std::size_t d) const { return out_count(d) - common(d); }
  [[nodiscard]] std::size_t surplus_in(std::size_t d) const { return in_count(d) - common(d); }
  // The place for elements from rank d beyond the common ones.
  [[nodiscard]] std::byte* spill(std::size_t d) { return spill_.data() + spill_first_[d] * slabs_.element; }

  // After the exchange: blocks go where they belong, with what is in the spill; then runs are put in order.
  void place(std::byte* data);
  void order(std::byte* data, Team& team);

 private:
  Slabs slabs_;
  std::size_t rows_, columns_;  // of A and of B that this rank has
  std::vector<std::size_t> spill_first_;
  std::vector<std::byte> spill_;
  std::optional<Reorder> reorder_;  // of runs of the shortest length, unless that is 0
};

}  // namespace nigh::transpose
