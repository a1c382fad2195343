// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels of one instruction set, included by kernels.cpp once for each (Highway's scheme). Everything
// rests on a square that fits the registers: as many rows as a vector has elements, transposed without
// leaving them.
//
// `streamed` is for what no cache holds. It never writes a part of a line. Where a square is as wide as a
// line, lines go past the caches from the registers; else a tile is gathered in a scratch that stays in L1,
// and they go from there. Where rows of the result do not begin at a line, the last line of every row is
// carried to the next panel, so that still only whole lines are streamed:
//
//      a panel of rows, read along       scratch, a row for each column    row j of the result
//      ┌──────┬──────┬─────────►         ┌───────┬──────────────────┐      ..│ line │ line │ line │..
//      │ tile │ next │                   │ carry │ of this panel    │ ───►   ▲ `phase` bytes before
//      └──────┴──────┴─────────►         └───────┴──────────────────┘          the panel's first element
//
// The panel goes along the rows of `from`, so that hardware sees a few dozen streams; it goes over a strip of
// columns at a time, so that the pages written stay in the TLB from one panel to the next.

// A file that is compiled again for every instruction set has a guard that is switched, not set.
#if defined(NIGH_TRANSPOSE_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NIGH_TRANSPOSE_KERNELS_INL
#undef NIGH_TRANSPOSE_KERNELS_INL
#else
#define NIGH_TRANSPOSE_KERNELS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "transpose/kernels.hpp"
#include "transpose/squares-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace nigh::transpose {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The cut of the matrix for elements of one size. Elements from memory are read a few rows at a time, so that
// hardware follows them, and the lines of two tiles fit L2 where rows are a power of two apart; but each turn
// at a row of the result should write some lines, and where one is carried, more. A matrix that is `near`, in
// the last cache, pays for turns alone.
template <std::size_t element, bool carries, bool near>
struct Cut {
  static constexpr std::size_t rows() {
    if (near) return 64;
    if (of_lines<element>) return carries == (element == 4) ? 16 : 32;
    const std::size_t without_carry = element == 4 ? 32 : 16;
    return carries ? 2 * without_carry : without_carry;
  }
  static constexpr std::size_t lines() {
    return !near && !of_lines<element> && (carries || element == 4) ? 4 : 2;
  }
  static constexpr std::size_t per_line = line / element;
  static constexpr std::size_t panel = rows();             // rows
  static constexpr std::size_t tile = lines() * per_line;  // columns
  static constexpr std::size_t ahead = 2;                  // tiles that are prefetched
  static constexpr std::size_t strip = 1024;               // columns; a line is carried for each
  static constexpr std::size_t scratch_row = line + panel * element;
};

template <std::size_t element>
void cached(const Block& block) {
  constexpr std::size_t panel = 64;  // rows
  const std::size_t from_stride = block.from_stride * element, to_stride = block.to_stride * element;
  for (std::size_t i = 0; i < block.rows; i += panel) {
    any<element>(block.from + i * from_stride, from_stride, block.to + i * element, to_stride,
                 std::min(panel, block.rows - i), block.columns);
  }
}

// The last rows first, which are fewer than a square has: what their squares write too much is written over.
template <std::size_t element>
void woven(const Block& block) {
  using S = SquareShape<element>;
  const std::size_t from_stride = block.from_stride * element, to_stride = block.rows * element;
  const std::size_t whole = block.rows / S::side * S::side, left = block.rows - whole;
  const std::byte* const last = block.from + whole * from_stride;
  std::size_t j = 0;
  for (; j + S::side <= block.columns; j += S::side) {
    const std::byte* const from = block.from + j * element;
    std::byte* const to = block.to + j * to_stride;
    low<element>(last + j * element, from_stride, to + whole * element, to_stride, left);
    for (std::size_t i = 0; i < whole; i += S::side)
      square<element>(from + i * from_stride, from_stride, to + i * element, to_stride);
  }
  singly<element>(block.from + j * element, from_stride, block.to + j * to_stride, to_stride, block.rows,
                  block.columns - j);
}

// carries: rows of the result do not all begin at a line.
template <std::size_t element, bool carries, bool near>
class Strip {
  using S = Cut<element, carries, near>;

 public:
  explicit Strip(const Block& block)
      : block_(block),
        from_stride_(block.from_stride * element),
        to_stride_(block.to_stride * element),
        whole_(block.rows / S::per_line * S::per_line) {}

  void columns(std::size_t first, std::size_t end) {
    first_ = first;
    end_ = end;
    for (std::size_t row = 0; row < whole_; row += S::panel) {
      const std::size_t rows = std::min(S::panel, whole_ - row);
      for (std::size_t column = first; column < end; column += S::tile) {
        const std::size_t count = std::min(S::tile, end - column);
        if constexpr (of_lines<element>) {
          if (count == S::tile) {
            directly(row, column, rows);
            continue;
          }
        }
        gather(row, column, rows, count);
        std::byte* scratch = scratch_;
        std::byte* to = target(row, column);
        std::byte* carried = carry(column);
        const std::size_t stride = to_stride_;
        if constexpr (carries) {
          for (std::size_t j = 0; j < count; ++j, to += stride, scratch += S::scratch_row, carried += line)
            out_carrying(to, row == 0, rows * element, scratch, carried);
        } else {
          for (std::size_t j = 0; j < count; ++j, to += stride, scratch += S::scratch_row)
            out(to, rows * element, scratch + line);
        }
      }
    }
    rest();
  }

 private:
  [[nodiscard]] HWY_INLINE const std::byte* source(std::size_t row, std::size_t column) const {
    return block_.from + row * from_stride_ + column * element;
  }
  [[nodiscard]] HWY_INLINE std::byte* target(std::size_t row, std::size_t column) const {
    return block_.to + column * to_stride_ + row * element;
  }
  [[nodiscard]] HWY_INLINE std::byte* carry(std::size_t column) { return carry_ + (column - first_) * line; }

  // The start of the tile that is read `ahead` tiles after this one; at the end this one.
  [[nodiscard]] HWY_INLINE const std::byte* later(std::size_t row, std::size_t column) const {
    const std::size_t then = column + S::ahead * S::tile;
    if (then < end_) return source(row, then);
    if (row + S::panel >= whole_) return source(row, column);
    return source(row + S::panel, first_ + (then - end_) / S::tile * S::tile);
  }

  // A tile into the scratch; what is read later is prefetched, a few lines at a time: more at once would wait
  // for each other. It goes to L2, since where rows are a multiple of a page apart L1 has few places for it.
  HWY_INLINE void gather(std::size_t row, std::size_t column, std::size_t rows, std::size_t count) {
    constexpr std::size_t side = SquareShape<element>::side;
    const std::size_t stride = from_stride_;  // a store of bytes might change what is not local
    const std::byte* from = source(row, column);
    if (count < S::tile) return any<element>(from, stride, scratch_ + line, S::scratch_row, rows, count);
    const std::byte* next = later(row, column);
    for (std::size_t i = 0; i < rows; i += side) {
      for (std::size_t j = 0; j < S::tile; j += side) {
        if (j * element % line == 0) {
          for (std::size_t k = 0; k < side; ++k) prefetch(next + (i + k) * stride + j * element);
        }
        square<element>(from + i * stride + j * element, stride,
                        scratch_ + line + j * S::scratch_row + i * element, S::scratch_row);
      }
    }
  }

  // A tile by squares that are streamed from the registers: no load has to wait for a store.
  HWY_INLINE void directly(std::size_t row, std::size_t column, std::size_t rows) {
    constexpr std::size_t side = SquareShape<element>::side;
    const std::size_t stride = from_stride_, to_stride = to_stride_;
    const std::byte* from = source(row, column);
    const std::byte* next = later(row, column);
    std::byte* to = target(row, column);
    for (std::size_t j = 0; j < S::tile; j += side) {
      for (std::size_t i = 0; i < rows; i += side) {
        for (std::size_t k = 0; k < side; ++k) prefetch(next + (i + k) * stride + j * element);
        if constexpr (carries) {
          stream_square_carrying<element>(from + i * stride + j * element, stride,
                                          to + j * to_stride + i * element, to_stride, carry(column + j),
                                          row + i == 0);
        } else {
          stream_square<element>(from + i * stride + j * element, stride, to + j * to_stride + i * element,
                                 to_stride);
        }
      }
    }
  }

  HWY_INLINE static void out(std::byte* to, std::size_t bytes, const std::byte* scratch) {
    for (std::size_t i = 0; i < bytes; i += line) stream_line(scratch + i, to + i);
  }

  // `scratch` begins with room for the line that is carried.
  HWY_INLINE static void out_carrying(std::byte* to, bool first, std::size_t bytes, std::byte* scratch,
                                      std::byte* carried) {
    const std::size_t phase = phase_of(to);
    const std::byte* from = scratch + line - phase;
    to -= phase;
    if (first) {
      std::memcpy(to + phase, scratch + line, line - phase);
    } else {
      copy_line(carried, scratch);
      stream_line(from, to);
    }
    for (std::size_t i = line; i < bytes; i += line) stream_line(from + i, to + i);
    copy_line(scratch + bytes, carried);
  }

  // The rows that fill no line, after what is still carried.
  void rest() {
    for (std::size_t column = first_; column < end_; ++column) {
      std::byte* to = target(whole_, column);
      if (carries && whole_ > 0) {
        const std::size_t phase = phase_of(to);
        const bool direct = of_lines<element> && column < first_ + (end_ - first_) / S::tile * S::tile;
        std::memcpy(to - phase, carry(column) + (direct ? 0 : line - phase), phase);
      }
      singly<element>(source(whole_, column), from_stride_, to, to_stride_, block_.rows - whole_, 1);
    }
  }

  const Block& block_;
  const std::size_t from_stride_, to_stride_;  // bytes
  const std::size_t whole_;                    // rows that fill lines
  std::size_t first_ = 0, end_ = 0;
  alignas(line) std::byte scratch_[S::tile * S::scratch_row];
  alignas(line) std::byte carry_[S::strip * line];
};

template <std::size_t element, bool carries, bool near>
void strips(const Block& block) {
  constexpr std::size_t width = Cut<element, carries, near>::strip;
  Strip<element, carries, near> strip(block);
  for (std::size_t first = 0; first < block.columns; first += width)
    strip.columns(first, std::min(first + width, block.columns));
  hwy::FlushStream();
}

template <std::size_t element>
void streamed(const Block& block) {
  constexpr std::size_t near_bytes = std::size_t{4} << 20;  // what others have beside it fits, too
  const std::size_t apart = block.columns > 1 ? block.to_stride * element : 0;
  const bool carries = phase_of(block.to) != 0 || apart % line != 0;
  const bool near = block.rows * block.columns * element <= near_bytes;
  (carries ? (near ? strips<element, true, true> : strips<element, true, false>)
           : (near ? strips<element, false, true> : strips<element, false, false>))(block);
}

// Rows of bytes: whole lines past the caches, the ends by the way of them. What comes `ahead` bytes later, in
// this row or in the next, is prefetched: rows are too short for hardware to find their way.
inline void copy_rows(const Rows& rows) {
  constexpr std::size_t ahead = 1024;
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::byte* from = rows.from + i * rows.from_stride;
    std::byte* to = rows.to + i * rows.to_stride;
    const std::byte* next =
        rows.bytes >= ahead ? from + rows.from_stride - rows.bytes : from + rows.from_stride;
    const std::size_t head = std::min(rows.bytes, (line - phase_of(to)) % line);
    std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + line <= rows.bytes; at += line) {
      const std::byte* later =
          at + ahead < rows.bytes ? from + at + ahead : next + (rows.bytes >= ahead ? at + ahead : at);
      hwy::Prefetch(reinterpret_cast<const char*>(later));
      stream_line(from + at, to + at);
    }
    std::memcpy(to + at, from + at, rows.bytes - at);
  }
}

// A long row is copied at sixteen places by turns: more of memory works at once, and a page of each fits the
// TLB.
inline void copy_streamed(const Rows& rows) {
  constexpr std::size_t places = 16, at_once = 4 * line, ahead = 8 * line;
  if (rows.count != 1 || rows.bytes < 4 * places * at_once) {
    copy_rows(rows);
    return hwy::FlushStream();
  }
  const std::size_t head = (line - phase_of(rows.to)) % line;
  const std::size_t apart = (rows.bytes - head) / places / at_once * at_once;
  std::memcpy(rows.to, rows.from, head);
  for (std::size_t i = 0; i < apart; i += at_once) {
    for (std::size_t place = 0; place < places; ++place) {
      const std::byte* from = rows.from + head + place * apart + i;
      std::byte* to = rows.to + head + place * apart + i;
      for (std::size_t k = 0; k < at_once; k += line) {
        hwy::Prefetch(reinterpret_cast<const char*>(from) + k + ahead);
        stream_line(from + k, to + k);
      }
    }
  }
  const std::size_t done = head + places * apart;
  std::memcpy(rows.to + done, rows.from + done, rows.bytes - done);
  hwy::FlushStream();
}

inline void copy_cached(const Rows& rows) {
  for (std::size_t i = 0; i < rows.count; ++i)
    std::memcpy(rows.to + i * rows.to_stride, rows.from + i * rows.from_stride, rows.bytes);
}

constexpr const char* name() {
  switch (HWY_TARGET) {
    case HWY_AVX2: return "AVX2";
    case HWY_AVX3: return "AVX-512";
    case HWY_NEON: return "NEON";
    default: return "scalar";
  }
}

constexpr Kernels table{
    name(),        {cached<4>, cached<8>, cached<16>}, {streamed<4>, streamed<8>, streamed<16>}, copy_cached,
    copy_streamed, {woven<4>, woven<8>, woven<16>}};

}  // namespace HWY_NAMESPACE
}  // namespace nigh::transpose
HWY_AFTER_NAMESPACE();

#endif
