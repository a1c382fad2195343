// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rectangles in place, cut into blocks that are turned one by one, `down` x `across` of them, with a few rows
// and columns left over at the ends. Two passes over memory where nothing is left over:
//
//        0            columns
//      ┌──────┬──────┬──┐      - every block is turned where it is: squares about their diagonals, panels
//      │ 0, 0 │ 0, 1 │  │        (of whole rows, or of all rows) through a scratch that stays in L2;
//      ├──────┼──────┤  │      - its rows, which are runs in memory, go to where they belong: run k of block
//      │ 1, 0 │ 1, 1 │  │        (i, j) from place (i, k, j) to place (j, k, i). Panels of all rows are made
//      ├──────┴──────┘  │        by that first and turned then.
//      └────────────────┘
//      What is left over is put aside; before, what remains of the rows is moved together, and afterwards
//      apart, to where there is room for it.
#pragma once

#include "transpose/local.hpp"

namespace nigh::transpose {

struct BlockGrid {
  enum class Kind : std::uint8_t { squares, rows, columns };  // what a block is: a panel of whole rows, ...
  Kind kind = Kind::squares;
  std::size_t height = 0, width = 0, down = 1, across = 1;
  std::size_t rows_left = 0, columns_left = 0;
};
// For more than one row and column.
BlockGrid cut_blocks(std::size_t rows, std::size_t columns, std::size_t element);

// Throws std::bad_alloc, with nothing changed, when there is no memory.
void transpose_blocks(std::byte* data, const BlockGrid& blocks, std::size_t element, Team& team);

}  // namespace nigh::transpose
