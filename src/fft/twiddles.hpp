// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The factors between the two steps of a long transform, exp(2 pi i sign j k / n). A table of all would be as
// long as the data; two tables of about sqrt(n), computed in long double, give each by one multiplication.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace nigh::fft {

class Twiddles {
 public:
  Twiddles(std::size_t n, int sign);
  [[nodiscard]] std::size_t size() const { return n_; }
  // exp(2 pi i sign exponent / n), exponent < n
  [[nodiscard]] std::complex<double> at(std::size_t exponent) const {
    const std::complex<double>&low = low_[exponent & mask_], &high = high_[exponent >> shift_];
    return {low.real() * high.real() - low.imag() * high.imag(),
            low.real() * high.imag() + low.imag() * high.real()};
  }

 private:
  std::size_t n_;
  unsigned shift_ = 0;
  std::size_t mask_ = 0;
  std::vector<std::complex<double>> low_, high_;
};

}  // namespace nigh::fft
