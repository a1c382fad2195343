// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A tile and its mirror image change places through two scratches that stay in L1. What is exchanged next is
// prefetched meanwhile, a few rows at a time: the rows of a tile are too short for hardware to find their
// way.
#include "transpose/tiles.hpp"

#include <algorithm>
#include <cstring>

namespace nigh::transpose {

namespace {
constexpr std::size_t tile = 32, strip = 16;

void prefetch(const std::byte* at, std::size_t stride, std::size_t rows, std::size_t bytes) {
  for (std::size_t i = 0; i < rows; ++i, at += stride) {
    for (std::size_t k = 0; k < bytes; k += line) __builtin_prefetch(at + k, 0, 2);
  }
}

// The tile at (row, column) and its mirror image change places. Both scratches are written before the matrix
// is. The tile at (row, column + tile) is next, if it is whole.
void exchange(const Opposites& blocks, std::size_t element, std::size_t row, std::size_t column) {
  alignas(line) std::byte first[tile * tile * 16], second[tile * tile * 16];
  const std::size_t rows = std::min(tile, blocks.rows - row),
                    columns = std::min(tile, blocks.columns - column);
  const std::size_t one_row = blocks.one_stride * element, other_row = blocks.other_stride * element;
  std::byte* const one = blocks.one + row * one_row + column * element;
  std::byte* const other = blocks.other + column * other_row + row * element;
  const auto turn = kernels().cached[Kernels::index(element)];
  const bool more = rows == tile && column + 2 * tile <= blocks.columns;
  for (std::size_t i = 0; i < rows; i += strip) {
    if (more) {
      prefetch(one + i * one_row + tile * element, one_row, strip, tile * element);
      prefetch(other + (tile + i) * other_row, other_row, strip, tile * element);
    }
    turn({one + i * one_row, blocks.one_stride, first + i * element, tile, std::min(strip, rows - i),
          columns});
  }
  if (one != other) turn({other, blocks.other_stride, second, tile, columns, rows});
  for (std::size_t i = 0; i < columns; ++i)
    std::memcpy(other + i * other_row, first + i * tile * element, rows * element);
  if (one == other) return;
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(one + i * one_row, second + i * tile * element, columns * element);
}
}  // namespace

std::size_t rows_of_tiles(const Grid& grid) {
  return grid.down * grid.across * ((grid.side + tile - 1) / tile);
}

void transpose_squares(const Grid& grid, std::size_t element, Queue& queue) {
  const std::size_t tiles = (grid.side + tile - 1) / tile;
  queue.serve([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const std::size_t square = i / tiles, row = i % tiles * tile;
      std::byte* const at =
          grid.data +
          (square / grid.across * grid.side * grid.stride + square % grid.across * grid.side) * element;
      const Opposites blocks{at, grid.stride, at, grid.stride, grid.side, grid.side};
      for (std::size_t column = row; column < grid.side; column += tile)
        exchange(blocks, element, row, column);
    }
  });
}

void transpose_square(std::byte* data, std::size_t side, std::size_t stride, std::size_t element,
                      Team& team) {
  if (!is_element(element)) return;
  const Grid grid{data, stride, side};
  // The first rows of tiles are the longest, so that who is free takes what is short.
  Queue rows(rows_of_tiles(grid), 1);
  team.run([&](int) { transpose_squares(grid, element, rows); });
}

void exchange_part(const Opposites& blocks, std::size_t element, int part, int parts) {
  if (!is_element(element)) return;
  const IndexRange mine =
      share(blocks.rows, tile, static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
  for (std::size_t row = mine.first; row < mine.end; row += tile)
    for (std::size_t column = 0; column < blocks.columns; column += tile)
      exchange(blocks, element, row, column);
}

}  // namespace nigh::transpose
