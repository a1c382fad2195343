// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Passes in the lanes of vectors, by every instruction set that is here, against sums in long double: all
// ways in which lines may lie, panels that are not whole, lines in pieces, factors afterwards.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "fft/pass.hpp"

namespace nigh::fft {
namespace {

using Long = std::complex<long double>;

Long root(std::size_t k, std::size_t n, int sign) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), sign * std::sin(angle)};
}

enum class Lie { columns, rows, apart };

struct Case {
  std::size_t n, lines, matrices;
  Lie from, to;
  bool in_place, backward, twiddled;
  std::size_t pieces;
  std::size_t pad = 3;  // elements behind each line; 0: lines of whole cache lines begin at such
  [[nodiscard]] std::string text() const {
    return "n " + std::to_string(n) + " lines " + std::to_string(lines) + " matrices " +
           std::to_string(matrices) + " from " + std::to_string(int(from)) + " to " +
           std::to_string(int(to)) + (in_place ? " in place" : "") + (backward ? " backward" : "") +
           (twiddled ? " twiddled" : "") + " pieces " + std::to_string(pieces) + " pad " +
           std::to_string(pad);
  }
};

// An array of matrices, and where its lines lie; the pieces are memory of their own.
template <class T>
struct Array {
  Array(const Case& c, Lie lie) {
    const std::size_t element = sizeof(std::complex<T>), pad = c.pad, line = 64;
    view.element = lie == Lie::columns ? (c.lines + pad) * element : element;
    view.line = lie == Lie::columns ? element : (c.n + pad) * element;
    if (lie == Lie::apart) {
      view.element = 2 * element;
      view.line = (2 * c.n + pad) * element;
    }
    view.matrix = (2 * c.n + pad) * (c.lines + pad) * element;
    for (std::size_t p = 0; p < c.pieces; ++p) {
      const std::size_t first = c.n * p / c.pieces, end = c.n * (p + 1) / c.pieces;
      memory.emplace_back(view.matrix / element * c.matrices + line / element, std::complex<T>(77, 77));
      auto* at = reinterpret_cast<std::byte*>(memory.back().data());
      at += (line - reinterpret_cast<std::uintptr_t>(at) % line) % line;
      view.pieces.push_back({at, first, end - first});
    }
  }
  std::complex<T>& at(std::size_t m, std::size_t l, std::size_t e) {
    for (const LinePiece& piece : view.pieces)
      if (e >= piece.first && e < piece.first + piece.count)
        return *reinterpret_cast<std::complex<T>*>(piece.at + m * view.matrix + l * view.line +
                                                   (e - piece.first) * view.element);
    throw std::out_of_range("no piece");
  }
  [[nodiscard]] std::size_t untouched() const {
    std::size_t count = 0;
    for (const auto& piece : memory)
      for (const std::complex<T>& one : piece) count += one == std::complex<T>(77, 77) ? 1 : 0;
    return count;
  }
  View view;
  std::vector<std::vector<std::complex<T>>> memory;
};

template <class T>
void is_right(const LaneSet& set, const Case& c) {
  SCOPED_TRACE(std::string(set.name) + (sizeof(T) == 4 ? " float " : " double ") + c.text());
  const Transform transform{c.n, c.backward ? Kind::backward : Kind::forward,
                            sizeof(T) == 4 ? Precision::single_precision : Precision::double_precision};
  ASSERT_TRUE(LanePlan::suits(transform, set));
  const LanePlan plan(transform, set);
  Array<T> from(c, c.from), other(c, c.to);
  Array<T>& to = c.in_place ? from : other;
  std::mt19937 random(static_cast<unsigned>(c.n));
  std::uniform_real_distribution<double> some(-1, 1);
  for (std::size_t m = 0; m < c.matrices; ++m)
    for (std::size_t l = 0; l < c.lines; ++l)
      for (std::size_t e = 0; e < c.n; ++e)
        from.at(m, l, e) = {static_cast<T>(some(random)), static_cast<T>(some(random))};
  const int sign = c.backward ? 1 : -1;
  const std::size_t first_line = 5, all = c.n * (c.lines + first_line);
  const Twiddles twiddles(all, sign);
  std::vector<Long> roots, wanted;
  for (std::size_t k = 0; k < c.n; ++k) roots.push_back(root(k, c.n, sign));
  for (std::size_t m = 0; m < c.matrices; ++m)
    for (std::size_t l = 0; l < c.lines; ++l)
      for (std::size_t k = 0; k < c.n; ++k) {
        Long sum;
        for (std::size_t j = 0, exponent = 0; j < c.n; ++j, exponent = (exponent + k) % c.n) {
          const std::complex<T> x = from.at(m, l, j);
          sum += Long(x.real(), x.imag()) * roots[exponent];
        }
        wanted.push_back(c.twiddled ? sum * root(k * (l + first_line), all, sign) : sum);
      }
  Pass pass;
  pass.transform = transform;
  pass.matrices = c.matrices;
  pass.lines = c.lines;
  pass.from = from.view;
  pass.to = to.view;
  pass.lanes = &plan;
  if (c.twiddled) {
    pass.twiddles = &twiddles;
    pass.first_line = first_line;
  }
  const std::size_t untouched = to.untouched();
  for (int part = 0; part < 3; ++part) run_part(pass, part, 3);
  EXPECT_EQ(untouched, c.in_place ? to.untouched() : to.untouched() + wanted.size());
  const long double allowed = (sizeof(T) == 4 ? 4e-7L : 1e-15L) * static_cast<long double>(c.n + 8);
  std::size_t i = 0;
  for (std::size_t m = 0; m < c.matrices; ++m)
    for (std::size_t l = 0; l < c.lines; ++l)
      for (std::size_t k = 0; k < c.n; ++k, ++i) {
        const std::complex<T> got = to.at(m, l, k);
        ASSERT_LE(std::abs(Long(got.real(), got.imag()) - wanted[i]), allowed)
            << "matrix " << m << " line " << l << " element " << k;
      }
}

void both_are_right(const LaneSet& set, const Case& c) {
  is_right<double>(set, c);
  is_right<float>(set, c);
}

#ifdef NIGH_SANITIZED  // slower by far
constexpr std::size_t lengths[] = {4, 6, 9, 10, 14, 16, 35, 48, 64};
constexpr std::size_t line_counts[] = {7, 37};
constexpr std::size_t piece_counts[] = {5};
constexpr std::size_t many_lines = 1100;
#else
constexpr std::size_t lengths[] = {4,  6,  8,  9,  10,  12,  14,  15,  16,  20,  21,  24,
                                   25, 27, 30, 32, 35,  36,  40,  48,  49,  56,  60,  63,
                                   64, 72, 81, 96, 105, 112, 125, 128, 210, 256, 343, 512};
constexpr std::size_t line_counts[] = {1, 7, 16, 37};
constexpr std::size_t piece_counts[] = {1, 5};
constexpr std::size_t many_lines = 5000;
#endif

TEST(Lanes, LengthsOfSmallFactorsGiveTheSum) {
  for (const LaneSet* set : lane_sets())
    for (const std::size_t n : lengths)
      both_are_right(
          *set, {n, n < 100 ? 20U : 9U, 1, Lie::columns, Lie::columns, n % 3 == 0, n % 4 == 0, false, 1});
}

TEST(Lanes, LinesMayLieInAnyWay) {
  for (const LaneSet* set : lane_sets())
    for (const std::size_t n : {12, 30})
      for (const std::size_t lines : line_counts)
        for (const Lie from : {Lie::columns, Lie::rows, Lie::apart})
          for (const Lie to : {Lie::columns, Lie::rows, Lie::apart})
            for (const bool backward : {false, true})
              for (const bool twiddled : {false, true})
                for (const std::size_t pieces : piece_counts)
                  both_are_right(*set, {n, lines, lines < 10 ? 3U : 1U, from, to, from == to && lines >= 16,
                                        backward, twiddled, pieces});
}

// Large enough for stores past the caches, to a part of the lines and for several panels at once.
TEST(Lanes, ManyLinesAreRight) {
  for (const LaneSet* set : lane_sets()) {
    is_right<double>(*set, {30, many_lines, 1, Lie::columns, Lie::columns, true, false, false, 1});
    for (const std::size_t pad : {0, 3})
      for (const Lie from : {Lie::columns, Lie::rows, Lie::apart})
        for (const bool twiddled : {false, true}) {
          const Case some{30, many_lines, 1, from, Lie::columns, false, pad == 0, twiddled, pad + 1, pad};
          is_right<double>(*set, some);
          if (twiddled)
            is_right<float>(*set, {15, 2 * many_lines, 1, from, Lie::columns, false, pad == 0, true, 1, pad});
        }
  }
}

TEST(Lanes, WhatTheyCannotDoIsRefused) {
  const LaneSet& widest = *lane_sets().back();
  const auto suits = [&](std::size_t n, Kind kind) {
    return LanePlan::suits({n, kind, Precision::double_precision}, widest);
  };
  EXPECT_TRUE(suits(4096, Kind::forward));
  for (const std::size_t n : {1, 2, 3, 5, 7, 11, 22, 97, 4099}) EXPECT_FALSE(suits(n, Kind::forward)) << n;
  EXPECT_FALSE(suits(std::size_t{1} << 20, Kind::forward));
  EXPECT_FALSE(suits(4096, Kind::real_forward));
  EXPECT_EQ(LanePlan::set_for({97, Kind::forward, Precision::double_precision}), nullptr);
  EXPECT_EQ(LanePlan::set_for({64, Kind::forward, Precision::double_precision}), &widest);
}

}  // namespace
}  // namespace nigh::fft
