// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/twiddles.hpp"

#include <cmath>
#include <numbers>

namespace nigh::fft {

Twiddles::Twiddles(std::size_t n, int sign) : n_(n) {
  while ((std::size_t{1} << (2 * shift_)) < n) ++shift_;
  const std::size_t low = std::size_t{1} << shift_;
  mask_ = low - 1;
  const auto value = [&](std::size_t exponent) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(exponent % n) /
                              static_cast<long double>(n);
    return std::complex<double>(static_cast<double>(std::cos(angle)),
                                static_cast<double>(sign * std::sin(angle)));
  };
  for (std::size_t i = 0; i < low; ++i) low_.push_back(value(i));
  for (std::size_t i = 0; i * low < n; ++i) high_.push_back(value(i * low));
}

}  // namespace nigh::fft
