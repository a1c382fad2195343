// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The square that all kernels rest on, with as many rows as a vector has elements, transposed in the
// registers; and what is narrower than a square. Compiled once for each instruction set.

#if defined(NIGH_TRANSPOSE_SQUARES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NIGH_TRANSPOSE_SQUARES_INL
#undef NIGH_TRANSPOSE_SQUARES_INL
#else
#define NIGH_TRANSPOSE_SQUARES_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "transpose/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace nigh::transpose {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
template <std::size_t element, std::size_t = line>
struct SquareShape {
  static constexpr std::size_t side = 1;
};

template <std::size_t element>
HWY_INLINE void square(const std::byte* from, std::size_t, std::byte* to, std::size_t) {
  std::memcpy(to, from, element);
}
HWY_INLINE void copy_line(const std::byte* from, std::byte* to) { std::memcpy(to, from, line); }
HWY_INLINE void stream_line(const std::byte* from, std::byte* to) { std::memcpy(to, from, line); }
template <std::size_t element>
inline constexpr bool of_lines = false;
#else
// The elements of vectors of at most that many bytes. Those of 16 bytes are pairs of words.
template <std::size_t element, std::size_t most = line>
struct SquareShape {
  using Word = std::conditional_t<element == 4, std::uint32_t, std::uint64_t>;
  static constexpr hn::CappedTag<Word, most / sizeof(Word)> tag{};
  using Tag = std::remove_cv_t<decltype(tag)>;
  using Vector = hn::Vec<Tag>;
  static constexpr std::size_t vector = hn::MaxLanes(tag) * sizeof(Word);  // bytes
  static constexpr std::size_t side = vector / element;                    // of the square
  static constexpr std::size_t words = element / sizeof(Word);
  static constexpr std::size_t per_block = 16 / element;
  static constexpr std::size_t blocks = vector / 16;
};

template <class S>
HWY_INLINE auto load(const std::byte* at) {
  return hn::LoadU(S::tag, reinterpret_cast<const typename S::Word*>(at));
}
template <class S>
HWY_INLINE void store(typename S::Vector value, std::byte* at) {
  hn::StoreU(value, S::tag, reinterpret_cast<typename S::Word*>(at));
}

// Within each 16 bytes of as many vectors as these hold elements.
template <class S>
HWY_INLINE void turn_blocks(typename S::Vector* v) {
  constexpr auto words = S::tag;
  if constexpr (S::per_block == 4) {
    const hn::Repartition<std::uint64_t, typename S::Tag> pairs;
    const auto a = hn::BitCast(pairs, hn::InterleaveLower(words, v[0], v[1]));
    const auto b = hn::BitCast(pairs, hn::InterleaveUpper(words, v[0], v[1]));
    const auto c = hn::BitCast(pairs, hn::InterleaveLower(words, v[2], v[3]));
    const auto d = hn::BitCast(pairs, hn::InterleaveUpper(words, v[2], v[3]));
    v[0] = hn::BitCast(words, hn::InterleaveLower(pairs, a, c));
    v[1] = hn::BitCast(words, hn::InterleaveUpper(pairs, a, c));
    v[2] = hn::BitCast(words, hn::InterleaveLower(pairs, b, d));
    v[3] = hn::BitCast(words, hn::InterleaveUpper(pairs, b, d));
  } else {
    const auto low = hn::InterleaveLower(words, v[0], v[1]);
    v[1] = hn::InterleaveUpper(words, v[0], v[1]);
    v[0] = low;
  }
}

// Whole blocks of 16 bytes among two or four vectors, `apart` from each other.
template <std::size_t blocks, class Tag, class Vector>
HWY_INLINE void exchange_blocks([[maybe_unused]] Tag tag, [[maybe_unused]] Vector* v,
                                [[maybe_unused]] std::size_t apart) {
  if constexpr (blocks == 2) {
    const auto low = hn::ConcatLowerLower(tag, v[apart], v[0]);
    v[apart] = hn::ConcatUpperUpper(tag, v[apart], v[0]);
    v[0] = low;
  } else if constexpr (blocks == 4) {
    const auto a = hn::ConcatLowerLower(tag, v[2 * apart], v[0]);
    const auto b = hn::ConcatLowerLower(tag, v[3 * apart], v[apart]);
    const auto c = hn::ConcatUpperUpper(tag, v[2 * apart], v[0]);
    const auto d = hn::ConcatUpperUpper(tag, v[3 * apart], v[apart]);
    v[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    v[apart] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    v[2 * apart] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(d), c);
    v[3 * apart] = hn::OddEvenBlocks(d, hn::SwapAdjacentBlocks(c));
  }
}

template <class S>
HWY_INLINE void turn(typename S::Vector* v) {
  if constexpr (S::per_block > 1) {
    for (std::size_t i = 0; i < S::side; i += S::per_block) turn_blocks<S>(v + i);
  }
  for (std::size_t i = 0; i < S::per_block; ++i) exchange_blocks<S::blocks>(S::tag, v + i, S::per_block);
}

// One square; strides in bytes.
template <std::size_t element>
HWY_INLINE void square(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride) {
  using S = SquareShape<element>;
  typename S::Vector v[S::side];
  for (std::size_t i = 0; i < S::side; ++i) v[i] = load<S>(from + i * from_stride);
  turn<S>(v);
  for (std::size_t i = 0; i < S::side; ++i) store<S>(v[i], to + i * to_stride);
}

// A square of whole lines stays in the registers until it is streamed.
template <std::size_t element>
inline constexpr bool of_lines = SquareShape<element>::side * element == line;

template <std::size_t element>
HWY_INLINE void stream_square(const std::byte* from, std::size_t from_stride, std::byte* to,
                              std::size_t to_stride) {
  using S = SquareShape<element>;
  typename S::Vector v[S::side];
  for (std::size_t i = 0; i < S::side; ++i) v[i] = load<S>(from + i * from_stride);
  turn<S>(v);
  for (std::size_t i = 0; i < S::side; ++i)
    hn::Stream(v[i], S::tag, reinterpret_cast<typename S::Word*>(to + i * to_stride));
}

// The same where rows of the result begin within lines. Turned by as much, what is carried of each row and
// what comes are the parts of a line; `carried` keeps the part of the next one. first: nothing is there yet.
template <std::size_t element>
HWY_INLINE void stream_square_carrying(const std::byte* from, std::size_t from_stride, std::byte* to,
                                       std::size_t to_stride, std::byte* carried, bool first) {
  using S = SquareShape<element>;
  using Word = typename S::Word;
  constexpr std::size_t words = line / sizeof(Word);
  typename S::Vector v[S::side];
  for (std::size_t i = 0; i < S::side; ++i) v[i] = load<S>(from + i * from_stride);
  turn<S>(v);
  for (std::size_t i = 0; i < S::side; ++i, to += to_stride, carried += line) {
    const std::size_t phase = reinterpret_cast<std::uintptr_t>(to) % line / sizeof(Word);
    const auto place = hn::Iota(S::tag, static_cast<Word>(words - phase));
    const auto indices = hn::IndicesFromVec(S::tag, hn::And(place, hn::Set(S::tag, Word{words - 1})));
    const auto turned = hn::TableLookupLanes(v[i], indices);
    const auto before = hn::FirstN(S::tag, phase);
    Word* const at = reinterpret_cast<Word*>(to) - phase;
    if (first) {
      hn::BlendedStore(turned, hn::Not(before), S::tag, at);
    } else {
      hn::Stream(hn::IfThenElse(before, load<S>(carried), turned), S::tag, at);
    }
    store<S>(turned, carried);
  }
}

// The first `columns` of a square. What lies behind them is not read.
template <class S>
HWY_INLINE void narrow_square(const std::byte* from, std::size_t from_stride, std::byte* to,
                              std::size_t to_stride, std::size_t columns) {
  typename S::Vector v[S::side];
  const auto some = hn::FirstN(S::tag, columns * S::words);
  for (std::size_t i = 0; i < S::side; ++i)
    v[i] = hn::MaskedLoad(some, S::tag, reinterpret_cast<const typename S::Word*>(from + i * from_stride));
  turn<S>(v);
  for (std::size_t i = 0; i < S::side; ++i)
    if (i < columns) store<S>(v[i], to + i * to_stride);
}

// The first `rows` of a square. Behind them zeros are written, as far as the square goes.
template <class S>
HWY_INLINE void low_square(const std::byte* from, std::size_t from_stride, std::byte* to,
                           std::size_t to_stride, std::size_t rows) {
  typename S::Vector v[S::side];
  for (std::size_t i = 0; i < S::side; ++i)
    v[i] = i < rows ? load<S>(from + i * from_stride) : hn::Zero(S::tag);
  turn<S>(v);
  for (std::size_t i = 0; i < S::side; ++i) store<S>(v[i], to + i * to_stride);
}

HWY_INLINE void stream_line(const std::byte* from, std::byte* to) {
  using S = SquareShape<8>;
  for (std::size_t i = 0; i < line; i += S::vector)
    hn::Stream(load<S>(from + i), S::tag, reinterpret_cast<std::uint64_t*>(to + i));
}
HWY_INLINE void copy_line(const std::byte* from, std::byte* to) {
  for (std::size_t i = 0; i < line; i += SquareShape<8>::vector)
    store<SquareShape<8> >(load<SquareShape<8> >(from + i), to + i);
}
#endif

// Matrices that are too small for a square.
template <std::size_t element>
HWY_INLINE void singly(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride,
                       std::size_t rows, std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(to + j * to_stride + i * element, from + i * from_stride + j * element, element);
  }
}

// Fewer columns than a square has: by squares of vectors that just hold them.
template <std::size_t element, std::size_t most>
HWY_INLINE void narrow(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride,
                       std::size_t rows, std::size_t columns) {
  if constexpr (most > 16) {
    if (columns * element <= most / 2)
      return narrow<element, most / 2>(from, from_stride, to, to_stride, rows, columns);
  }
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using S = SquareShape<element, most>;
  for (; columns > 1 && i + S::side <= rows; i += S::side)
    narrow_square<S>(from + i * from_stride, from_stride, to + i * element, to_stride, columns);
#endif
  singly<element>(from + i * from_stride, from_stride, to + i * element, to_stride, rows - i, columns);
}

// Fewer rows than a square has, and as many columns; what is written too much, see low_square().
template <std::size_t element, std::size_t most = line>
HWY_INLINE void low([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::size_t from_stride,
                    [[maybe_unused]] std::byte* to, [[maybe_unused]] std::size_t to_stride,
                    [[maybe_unused]] std::size_t rows) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (most > 16) {
    if (rows * element <= most / 2) return low<element, most / 2>(from, from_stride, to, to_stride, rows);
  }
  using S = SquareShape<element, most>;
  for (std::size_t j = 0; rows > 0 && j < SquareShape<element>::side; j += S::side)
    low_square<S>(from + j * element, from_stride, to + j * to_stride, to_stride, rows);
#endif
}

template <std::size_t element>
HWY_INLINE void any(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride,
                    std::size_t rows, std::size_t columns) {
  using S = SquareShape<element>;
  std::size_t j = 0;
  for (; j + S::side <= columns; j += S::side) {
    std::size_t i = 0;
    for (; i + S::side <= rows; i += S::side)
      square<element>(from + i * from_stride + j * element, from_stride, to + j * to_stride + i * element,
                      to_stride);
    if (i < rows)
      singly<element>(from + i * from_stride + j * element, from_stride, to + j * to_stride + i * element,
                      to_stride, rows - i, S::side);
  }
  if (j < columns)
    narrow<element, line>(from + j * element, from_stride, to + j * to_stride, to_stride, rows, columns - j);
}

// Bytes behind the beginning of a line.
HWY_INLINE std::size_t phase_of(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % line; }
// Into L2; Highway knows L1 alone.
HWY_INLINE void prefetch(const std::byte* at) { __builtin_prefetch(at, 0, 2); }

}  // namespace HWY_NAMESPACE
}  // namespace nigh::transpose
HWY_AFTER_NAMESPACE();

#endif
