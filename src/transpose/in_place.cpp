// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Transposing without a second matrix. A square is exchanged tile by tile about its diagonal, through two
// scratches that stay in L1. For other shapes (m rows, n columns, c = gcd(m, n), b = n / c, a = m / c) the
// permutation of all elements is the product of three that stay within a column or a row, so that one column
// or row of scratch is enough:
//
//      1. if c > 1, column j is turned by j / b:      row i takes what was in row (i + j / b) mod m
//      2. within row i, what is in column j goes to   ((i + j / b) mod m + j m) mod n
//      3. within column j, row i takes what was in    (j + i n - i / a) mod m
//
// (Catanzaro, Keller, Garland, PPoPP 2014.) Columns are taken as many together as the scratch has room for in
// L2. The first and the last permutation turn each of them by its own number of rows, which differ little
// among neighbours, and then move rows in whole: so rows are read once, in order, each element to its row of
// the scratch, and runs of rows are written back from there.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include "transpose/local.hpp"

namespace nigh::transpose {

namespace {
constexpr std::size_t tile = 32;

// The tile at (row, column) and its mirror image change places. Both scratches are written before the matrix
// is.
void exchange(const Opposites& blocks, std::size_t element, std::size_t row, std::size_t column) {
  alignas(line) std::byte first[tile * tile * 16], second[tile * tile * 16];
  const std::size_t rows = std::min(tile, blocks.rows - row),
                    columns = std::min(tile, blocks.columns - column);
  const std::size_t one_row = blocks.one_stride * element, other_row = blocks.other_stride * element;
  std::byte* const one = blocks.one + row * one_row + column * element;
  std::byte* const other = blocks.other + column * other_row + row * element;
  const auto turn = kernels().cached[Kernels::index(element)];
  turn({one, blocks.one_stride, first, tile, rows, columns});
  if (one != other) turn({other, blocks.other_stride, second, tile, columns, rows});
  for (std::size_t i = 0; i < columns; ++i)
    std::memcpy(other + i * other_row, first + i * tile * element, rows * element);
  if (one == other) return;
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(one + i * one_row, second + i * tile * element, columns * element);
}

// `count` things are taken `grain` at a time by whoever is free.
class Queue {
 public:
  Queue(std::size_t count, std::size_t grain) : count_(count), grain_(grain) {}
  template <class Work>
  void serve(const Work& work) {
    for (;;) {
      const std::size_t first = next_.fetch_add(grain_, std::memory_order_relaxed);
      if (first >= count_) return;
      work(first, std::min(count_, first + grain_));
    }
  }

 private:
  const std::size_t count_, grain_;
  std::atomic<std::size_t> next_{0};
};

// Element is what is moved: a type of its size without a meaning.
template <std::size_t bytes>
struct Element {
  std::byte value[bytes];
};

template <class T>
class Rectangle {
 public:
  Rectangle(std::byte* data, std::size_t rows, std::size_t columns)
      : data_(data),
        m_(rows),
        n_(columns),
        c_(std::gcd(rows, columns)),
        a_(rows / c_),
        b_(columns / c_),
        width_(width()) {}

  [[nodiscard]] std::size_t together() const { return width_; }  // columns
  [[nodiscard]] std::size_t scratch_bytes() const { return std::max(m_ * width_, n_) * sizeof(T); }

  // All remainders are counted along: a division for each element would take longer than its memory.
  void turn_columns(Queue& queue, T* scratch) {
    if (c_ == 1) return;
    queue.serve([&](std::size_t first, std::size_t end) {
      std::size_t turns[most_width] = {};
      for (std::size_t j = first; j < end; ++j) turns[j - first] = (j / b_ - first / b_) % m_;
      gather(first, end - first, turns, scratch);
      std::size_t from = first / b_ % m_;
      for (std::size_t i = 0; i < m_; ++i) {
        put(i, first, end - first, scratch, from);
        if (++from == m_) from = 0;
      }
    });
  }

  void permute_rows(Queue& queue, T* scratch) {
    const std::size_t m = m_, n = n_, b = b_;  // a store of bytes might change what is not local
    // What is added for the next column, where j / b stays, grows, and grows to m.
    const std::size_t step = m % n, next = (step + 1) % n, wrapped = (step + n - (m - 1) % n) % n;
    const auto plus = [n](std::size_t to, std::size_t by) { return to + by < n ? to + by : to + by - n; };
    queue.serve([&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        const std::byte* from = at(i, 0);
        std::size_t row = i, to = i % n;  // (i + j / b) mod m; that + j m, mod n
        for (std::size_t j = 0; j < n; j += b, from += sizeof(T)) {
          for (std::size_t k = 1; k < b; ++k, from += sizeof(T)) {
            std::memcpy(scratch + to, from, sizeof(T));
            to = plus(to, step);
          }
          std::memcpy(scratch + to, from, sizeof(T));
          row = row + 1 < m ? row + 1 : 0;
          to = plus(to, row > 0 ? next : wrapped);
        }
        std::memcpy(at(i, 0), scratch, n * sizeof(T));
      }
    });
  }

  void permute_columns_last(Queue& queue, T* scratch) {
    const std::size_t step = n_ % m_;
    queue.serve([&](std::size_t first, std::size_t end) {
      std::size_t turns[most_width] = {};
      for (std::size_t k = 0; k < end - first; ++k) turns[k] = k % m_;
      gather(first, end - first, turns, scratch);
      std::size_t from = first % m_;  // (first + i n - i / a) mod m
      for (std::size_t i = 0, in_a = 0; i < m_; ++i) {
        put(i, first, end - first, scratch, from);
        from = from + step < m_ ? from + step : from + step - m_;
        if (++in_a < a_) continue;
        in_a = 0;
        from = from == 0 ? m_ - 1 : from - 1;
      }
    });
  }

 private:
  static constexpr std::size_t per_line = line / sizeof(T), most_width = 16 * per_line;
  static constexpr std::size_t scratch_most = std::size_t{512} << 10;  // of L2

  [[nodiscard]] std::byte* at(std::size_t row, std::size_t column) const {
    return data_ + (row * n_ + column) * sizeof(T);
  }
  [[nodiscard]] T get(std::size_t row, std::size_t column) const {
    T value;
    std::memcpy(&value, at(row, column), sizeof(T));
    return value;
  }
  [[nodiscard]] std::size_t width() const {
    const std::size_t lines = scratch_most / (m_ * line);
    return std::min(n_, std::clamp<std::size_t>(lines * per_line, per_line, most_width));
  }

  // Row r of the scratch gets of column k of those what is in row (r + turns[k]) mod m. The turns grow along
  // the columns, by less than m.
  void gather(std::size_t first, std::size_t width, const std::size_t* turns, T* scratch) const {
    constexpr std::size_t ahead = 16;   // rows
    std::ptrdiff_t places[most_width];  // of column k, from row r's
    for (std::size_t k = 0; k < width; ++k)
      places[k] = static_cast<std::ptrdiff_t>(k) - static_cast<std::ptrdiff_t>(turns[k] * width);
    const std::size_t m = m_, stride = n_ * sizeof(T), whole = m * width,
                      most = *std::max_element(turns, turns + width);
    const std::byte* from = at(0, first);
    for (std::size_t i = 0; i < m; ++i, from += stride) {
      if (i + ahead < m)
        for (std::size_t k = 0; k < width * sizeof(T); k += line)
          __builtin_prefetch(from + ahead * stride + k);
      T* const to = scratch + i * width;
      if (i >= most) {
        for (std::size_t k = 0; k < width; ++k) std::memcpy(to + places[k], from + k * sizeof(T), sizeof(T));
      } else {
        for (std::size_t k = 0; k < width; ++k)
          std::memcpy(to + places[k] + (i < turns[k] ? whole : 0), from + k * sizeof(T), sizeof(T));
      }
    }
  }
  void put(std::size_t row, std::size_t first, std::size_t width, const T* scratch, std::size_t from) const {
    std::memcpy(at(row, first), scratch + from * width, width * sizeof(T));
  }

  std::byte* data_;
  std::size_t m_, n_, c_, a_, b_;
  std::size_t width_;
};

template <class T>
bool rectangle(std::byte* data, std::size_t rows, std::size_t columns, Team& team) {
  Rectangle<T> matrix(data, rows, columns);
  const auto threads = static_cast<std::size_t>(team.threads());
  const std::size_t each = (matrix.scratch_bytes() + line - 1) / line * line;
  const std::unique_ptr<std::byte[]> scratch(new (std::nothrow) std::byte[each * threads]);
  if (!scratch) return false;
  const auto own = [&](int thread) {
    return reinterpret_cast<T*>(scratch.get() + each * static_cast<std::size_t>(thread));
  };
  Queue turned(columns, matrix.together()), rowwise(rows, 8), last(columns, matrix.together());
  team.run([&](int thread) { matrix.turn_columns(turned, own(thread)); });
  team.run([&](int thread) { matrix.permute_rows(rowwise, own(thread)); });
  team.run([&](int thread) { matrix.permute_columns_last(last, own(thread)); });
  return true;
}
}  // namespace

void transpose_square(std::byte* data, std::size_t side, std::size_t stride, std::size_t element,
                      Team& team) {
  if (!is_element(element)) return;
  const Opposites square{data, stride, data, stride, side, side};
  const std::size_t tiles = (side + tile - 1) / tile;
  // The first rows of tiles are the longest, so that who is free takes what is short.
  Queue rows(tiles, 1);
  team.run([&](int) {
    rows.serve([&](std::size_t first, std::size_t) {
      for (std::size_t j = first; j < tiles; ++j) exchange(square, element, first * tile, j * tile);
    });
  });
}

void exchange_part(const Opposites& blocks, std::size_t element, int part, int parts) {
  if (!is_element(element)) return;
  const Range mine =
      share(blocks.rows, tile, static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
  for (std::size_t row = mine.first; row < mine.end; row += tile)
    for (std::size_t column = 0; column < blocks.columns; column += tile)
      exchange(blocks, element, row, column);
}

bool transpose_in_place(std::byte* data, std::size_t rows, std::size_t columns, std::size_t element,
                        Team& team) {
  if (rows <= 1 || columns <= 1 || !is_element(element)) return is_element(element);
  if (rows == columns) {
    transpose_square(data, rows, columns, element, team);
    return true;
  }
  switch (element) {
    case 4: return rectangle<Element<4>>(data, rows, columns, team);
    case 8: return rectangle<Element<8>>(data, rows, columns, team);
    default: return rectangle<Element<16>>(data, rows, columns, team);
  }
}

}  // namespace nigh::transpose
