// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/ratio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nigh::tune {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t half = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

namespace {
// The number of the n sorted values that are left out at each end: the true median lies between the rest
// unless at most that many of n values, each above it or below it as a coin falls, are on one side.
std::size_t left_out(std::size_t n) {
  // The distribution of many is normal, and 0.5^n is no number any more.
  if (n > 1000)
    return static_cast<std::size_t>((static_cast<double>(n) - 1.96 * std::sqrt(static_cast<double>(n))) / 2 -
                                    1);
  double term = std::pow(0.5, static_cast<double>(n)), below = 0;  // of C(n, k) / 2^n
  std::size_t k = 0;
  while (2 * (below + term) <= 0.05) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k > 0 ? k - 1 : 0;
}
}  // namespace

Ratio ratio_of(std::vector<double> ratios) {
  Ratio out;
  if (ratios.empty()) return out;
  std::sort(ratios.begin(), ratios.end());
  out.median = median_of(ratios);
  out.known = ratios.size() >= fewest_pairs;
  const std::size_t out_of_range = left_out(ratios.size());
  out.low = ratios[out_of_range];
  out.high = ratios[ratios.size() - 1 - out_of_range];
  return out;
}

std::string ratio_text(const Ratio& ratio) {
  return ratio.known ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.median, ratio.low, ratio.high)
                     : fmt::format("{:.3f}", ratio.median);
}

std::string verdict_of(const Ratio& time, const std::string& second) {
  if (!time.known)
    return fmt::format("fewer than {} pairs say nothing for sure: give more --time", fewest_pairs);
  if (time.high < 1 || time.low > 1)
    return fmt::format("{}: {} takes {:.3g} of the time", time.high < 1 ? "faster" : "slower", second,
                       time.median);
  return fmt::format("no difference that is larger than {:.1f} %",
                     100 * std::max(time.high - 1, 1 - time.low));
}

}  // namespace nigh::tune
