// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The description of a Fourier transform, of the layout of its arrays, and of each rank's part. Pure. Every
// transform is seen as a matrix of complex numbers: n[0] rows of all else, or, for one dimension, the factor
// next to its root by the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "fft/rows.hpp"
#include "transpose/slabs.hpp"

namespace nigh::fft {

// The same on all ranks. Plain, so that it can be sent.
struct Demand {
  std::int64_t dimensions = 0;
  std::uint64_t n[8] = {};
  std::int64_t sign = 0;
  std::uint64_t flags = 0;
  friend bool operator==(const Demand&, const Demand&) = default;
};
// n may be nullptr; then the shape will be found wrong.
Demand demand_of(int dimensions, const std::size_t* n, int sign, unsigned flags);

// The divisor of n next to its square root from below; 1 of 0.
std::size_t factor(std::size_t n);

// The part of a rank: rows [first, first + rows), each of `row` elements.
struct RankShare {
  std::size_t first = 0, rows = 0, row = 0, bytes = 0;
};

class Shape {
 public:
  // A demand that can't be met is refused with a sentence.
  static Result<Shape> make(const Demand& demand);

  [[nodiscard]] bool has(unsigned flag) const { return (flags_ & flag) != 0; }
  [[nodiscard]] bool forward() const { return sign_ < 0; }
  [[nodiscard]] int sign() const { return sign_; }
  [[nodiscard]] Precision precision() const;
  [[nodiscard]] std::size_t element() const { return bytes_of_complex(precision()); }
  [[nodiscard]] bool one_dimension() const { return one_; }
  [[nodiscard]] bool real() const;
  // The dimensions of the spectrum: the last dimension of a real transform is its half. One dimension: the
  // two factors.
  [[nodiscard]] const std::vector<std::size_t>& dimensions() const { return n_; }
  [[nodiscard]] std::size_t last() const { return last_; }  // the last dimension, of reals if these are
  [[nodiscard]] std::size_t rows() const { return n_[0]; }
  [[nodiscard]] std::size_t columns() const { return columns_; }  // complex elements of a row
  [[nodiscard]] std::size_t row_of_reals(bool in_place) const;    // reals of the last dimension, with padding

  [[nodiscard]] transpose::Deal deal_rows(std::size_t ranks) const { return {rows(), ranks}; }
  [[nodiscard]] transpose::Deal deal_columns(std::size_t ranks) const { return {columns(), ranks}; }
  [[nodiscard]] RankShare in(std::size_t rank, std::size_t ranks, bool in_place) const;
  [[nodiscard]] RankShare out(std::size_t rank, std::size_t ranks, bool in_place) const;
  [[nodiscard]] std::string text() const;  // "2-D complex transform of 4096 x 4096 doubles, forward"

 private:
  [[nodiscard]] RankShare part(std::size_t rank, std::size_t ranks, bool turned, bool reals,
                               bool in_place) const;
  int sign_ = -1;
  unsigned flags_ = 0;
  bool one_ = false;
  std::vector<std::size_t> n_;
  std::size_t last_ = 1, columns_ = 1;
};

}  // namespace nigh::fft
