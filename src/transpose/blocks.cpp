// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/blocks.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "transpose/reorder.hpp"
#include "transpose/restride.hpp"
#include "transpose/tiles.hpp"

namespace nigh::transpose {

namespace {
constexpr CopyOptions cached{Stores::cached, 0, nullptr};
constexpr std::size_t panel_bytes = std::size_t{96} << 10;  // two of them fit L2
constexpr std::size_t thin_bytes = 512;  // rows, or columns, that are shorter make squares too small

// The rest beyond the blocks, turned: the last rows, and of the rows before them the last columns.
class LeftOver {
 public:
  LeftOver(std::byte* data, const BlockGrid& b, std::size_t element)
      : data_(data),
        element_(element),
        rows_(b.down * b.height),
        columns_(b.across * b.width),
        rows_left_(b.rows_left),
        columns_left_(b.columns_left),
        last_rows_(new std::byte[(columns_ + columns_left_) * rows_left_ * element]),
        last_columns_(new std::byte[rows_ * columns_left_ * element]) {}

  void put_aside(Team& team) const {
    if (rows_left_ + columns_left_ == 0) return;
    const std::size_t all = columns_ + columns_left_;
    const Block below{data_ + rows_ * all * element_, all, last_rows_.get(), rows_left_, rows_left_, all};
    const Block beside{data_ + columns_ * element_, all, last_columns_.get(), rows_, rows_, columns_left_};
    team.run([&](int thread) {
      transpose_part(below, element_, thread, team.threads(), cached);
      transpose_part(beside, element_, thread, team.threads(), cached);
    });
  }

  // To the ends of the rows, and behind them.
  void put_back(Team& team) const {
    if (rows_left_ + columns_left_ == 0) return;
    const std::size_t all = (rows_ + rows_left_) * element_, head = rows_ * element_, tail = all - head;
    const Rows tails{last_rows_.get(), tail, data_ + head, all, columns_ + columns_left_, tail};
    const Rows heads{last_columns_.get(), head, data_ + columns_ * all, all, columns_left_, head};
    team.run([&](int thread) {
      copy_part(tails, thread, team.threads(), cached);
      copy_part(heads, thread, team.threads(), cached);
    });
  }

 private:
  std::byte* data_;
  std::size_t element_, rows_, columns_, rows_left_, columns_left_;
  std::unique_ptr<std::byte[]> last_rows_, last_columns_;
};

// Panels one after the other in memory, through a scratch for each thread.
class Panels {
 public:
  Panels(const BlockGrid& b, std::size_t element, int threads)
      : height_(b.height),
        width_(b.width),
        count_(b.down * b.across),
        element_(element),
        turn_((b.kind == BlockGrid::Kind::columns ? kernels().woven
                                                  : kernels().cached)[Kernels::index(element)]),
        scratch_(b.kind == BlockGrid::Kind::squares
                     ? nullptr
                     : new std::byte[room() * static_cast<std::size_t>(threads)]) {}
  [[nodiscard]] std::size_t count() const { return count_; }
  void turn(std::byte* data, Queue& queue, int thread) const {
    std::byte* const scratch = scratch_.get() + room() * static_cast<std::size_t>(thread);
    queue.serve([&](std::size_t first, std::size_t) {
      std::byte* const at = data + first * bytes();
      turn_({at, width_, scratch, height_, height_, width_});
      std::memcpy(at, scratch, bytes());
    });
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return height_ * width_ * element_; }
  [[nodiscard]] std::size_t room() const { return (bytes() / line + 2) * line; }  // and a line to spoil
  std::size_t height_, width_, count_, element_;
  void (*turn_)(const Block&);
  std::unique_ptr<std::byte[]> scratch_;
};

// The part of the longer side, `length`, that a panel has: a divisor, so that nothing is left over, if there
// is one that is not too small.
std::size_t panel_length(std::size_t length, std::size_t other, std::size_t element) {
  const std::size_t most = std::min(length, std::max<std::size_t>(1, panel_bytes / (other * element)));
  for (std::size_t some = most; some > most / 4; --some)
    if (length % some == 0) return some;
  return most;
}

// The best of all sides that leave little over. A pass over memory in whole runs is 1; the other figures are
// fitted to the times of such passes (docs/decisions/0022-transpose.md).
BlockGrid cut_squares(std::size_t rows, std::size_t columns, std::size_t element) {
  const std::size_t shorter = std::min(rows, columns), both = rows + columns;
  // The most that may be left over, and a bit for each run. There is a side that keeps to both: 32, or more
  // of a matrix that is larger than any memory today.
  const std::size_t least_side = 32 * (1 + shorter / 16384), most_left = least_side * both,
                    most_runs = 512 * both;
  BlockGrid best;
  double least = 1e9;
  for (std::size_t side = shorter; side > 0; --side) {
    const BlockGrid b{BlockGrid::Kind::squares, side,        side,          rows / side,
                      columns / side,           rows % side, columns % side};
    const std::size_t left = b.rows_left * columns + b.columns_left * rows;
    if (left > most_left || b.down * side * b.across > most_runs) continue;
    const auto length = static_cast<double>(side);
    const double turned = 2.2 + 40 / length, reordered = 1 + 500 / (length * static_cast<double>(element)),
                 together = b.columns_left > 0 ? 1.1 : 0, apart = b.rows_left > 0 ? 1.3 : 0,
                 aside = 5 * static_cast<double>(left) /
                         (static_cast<double>(rows) * static_cast<double>(columns));
    const double cost = turned + reordered + together + apart + aside;
    if (cost >= least) continue;
    least = cost;
    best = b;
  }
  return best;
}

Order order_of(const BlockGrid& b) {
  switch (b.kind) {
    case BlockGrid::Kind::squares: return {b.down, b.width, b.across};
    case BlockGrid::Kind::rows: return {b.down, b.width, 1};
    default: return {1, b.height, b.across};
  }
}
}  // namespace

BlockGrid cut_blocks(std::size_t rows, std::size_t columns, std::size_t element) {
  if (columns * element <= thin_bytes || rows * columns * element <= panel_bytes) {
    const std::size_t height = panel_length(rows, columns, element);
    return {BlockGrid::Kind::rows, height, columns, rows / height, 1, rows % height, 0};
  }
  if (rows * element <= thin_bytes) {
    const std::size_t width = panel_length(columns, rows, element);
    return {BlockGrid::Kind::columns, rows, width, 1, columns / width, 0, columns % width};
  }
  return cut_squares(rows, columns, element);
}

void transpose_blocks(std::byte* data, const BlockGrid& b, std::size_t element, Team& team) {
  const int threads = team.threads();
  const std::size_t rows = b.down * b.height, columns = b.across * b.width;
  const LeftOver left(data, b, element);
  const Restride together(rows, columns * element, (columns + b.columns_left) * element, columns * element,
                          threads);
  const Restride apart(columns, rows * element, rows * element, (rows + b.rows_left) * element, threads);
  const Panels panels(b, element, threads);
  const bool turned_last = b.kind == BlockGrid::Kind::columns;
  Reorder reorder(order_of(b), (turned_last ? b.width : b.height) * element, threads);
  const Grid grid{data, columns, b.height, b.down, b.across};
  const bool squares = b.kind == BlockGrid::Kind::squares;
  Queue queue(squares ? rows_of_tiles(grid) : panels.count(), 1);

  left.put_aside(team);
  together.run(data, team);
  if (turned_last) {
    reorder.list();
    reorder.run(data, team);
  }
  team.run([&](int thread) {
    if (thread == 0 && !turned_last) reorder.list();
    if (squares) {
      transpose_squares(grid, element, queue);
    } else {
      panels.turn(data, queue, thread);
    }
  });
  if (!turned_last) reorder.run(data, team);
  apart.run(data, team);
  left.put_back(team);
}

}  // namespace nigh::transpose
