// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Squares that are transposed where they are, tile by tile about their diagonals.
#pragma once

#include "transpose/local.hpp"
#include "transpose/queue.hpp"

namespace nigh::transpose {

// Squares without gaps between them in a matrix whose rows are `stride` elements apart.
struct Grid {
  std::byte* data = nullptr;
  std::size_t stride = 0;
  std::size_t side = 0, down = 1, across = 1;
};
// The length of a queue for transpose_squares(): rows of tiles of all squares.
std::size_t rows_of_tiles(const Grid& grid);
void transpose_squares(const Grid& grid, std::size_t element, Queue& queue);

}  // namespace nigh::transpose
