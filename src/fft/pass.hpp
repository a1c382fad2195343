// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One pass over an array: lines along one of its axes are fetched from wherever they lie, a panel of them
// that a core's cache holds, transformed there, and put wherever they belong. What elsewhere are three passes
// over memory (transpose, transform, transpose back) is one, and lines may lie in pieces in the memory of
// several ranks.
//
//      columns of the array            panel, in the cache       to the same columns, or to rows
//      ┌─────┬──┬──────┐ rank 0        ┌─────────────────┐
//      │     │  │      │        ──►    ├─────────────────┤  ──►
//      ├─────┼──┼──────┤ rank 1        ├─────────────────┤
//      │     │  │      │               └─────────────────┘
//      └─────┴──┴──────┘
#pragma once

#include <vector>

#include "fft/lanes.hpp"
#include "fft/rows.hpp"
#include "fft/twiddles.hpp"
#include "transpose/local.hpp"

namespace nigh::fft {

// Elements [first, first + count) of every line.
struct LinePiece {
  std::byte* at = nullptr;  // of element `first` of line 0 of matrix 0
  std::size_t first = 0, count = 0;
};

// The place of lines: element e of line l of matrix m. Distances in bytes. With `flat`, pieces count the
// elements of all matrices one after the other, m * flat + e, and `matrix` is not used.
struct View {
  std::vector<LinePiece> pieces;
  std::size_t element = 0, line = 0, matrix = 0;
  std::size_t flat = 0;
  [[nodiscard]] bool together(std::size_t element_bytes) const {  // each line lies in one place
    return pieces.size() == 1 && flat == 0 && element == element_bytes;
  }
};

struct Pass {
  Transform transform;
  bool only_moves = false;  // no transform: lines of complex elements are moved as they are
  std::size_t matrices = 1, lines = 0;
  View from, to;
  // The transform: one of these, unless the pass only moves.
  const RowPlan* rows = nullptr;
  const LanePlan* lanes = nullptr;
  // Element k of line l is multiplied by w^(k * (l + first)) afterwards.
  const Twiddles* twiddles = nullptr;
  std::size_t first_line = 0;
};

// The share of thread `part` of `parts`. Throws bad_alloc.
void run_part(const Pass& pass, int part, int parts);

}  // namespace nigh::fft
