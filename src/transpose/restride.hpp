// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows that are moved together, or apart, in their own memory. Threads have ranges of rows; those that
// another's rows are going to be written over are put aside before any of them moves.
//
//      0   1   2 │ 3   4   5       apart             thread 1 begins where row 2 still is: thread 0 puts it
//      ├─┘ ├─┘ ├─│ ├─┘ ├─┘ ├─┘                       aside
//      0 1 2 │ 3 4 5               together
#pragma once

#include <cstddef>
#include <memory>

#include "transpose/local.hpp"

namespace nigh::transpose {

class Restride {
 public:
  // Rows of so many bytes, of which the first stays where it is. from, to: bytes from each to the next, no
  // less than a row has. Throws std::bad_alloc.
  Restride(std::size_t rows, std::size_t bytes, std::size_t from, std::size_t to, int threads);
  void run(std::byte* data, Team& team) const;

 private:
  [[nodiscard]] IndexRange rows_of(std::size_t part) const { return share(rows_, 1, part, parts_); }
  [[nodiscard]] IndexRange aside(std::size_t part) const;
  void move(std::byte* data, std::size_t part) const;

  std::size_t rows_, bytes_, from_, to_;
  std::size_t parts_;
  std::size_t most_aside_ = 0;  // rows of a part
  std::unique_ptr<std::byte[]> held_;
};

}  // namespace nigh::transpose
