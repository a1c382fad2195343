// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics of pairs of measurements: the median of their ratios, and the interval that holds the true
// median in 95 of 100 cases, by order statistics (no distribution is assumed). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nigh::tune {

struct Ratio {
  double median = 1, low = 0, high = 0;
  bool known = false;  // enough pairs for an interval
};
inline constexpr std::size_t fewest_pairs = 6;

double median_of(std::vector<double> values);
// `ratios`: of each pair, second over first. Without any: 1, unknown.
Ratio ratio_of(std::vector<double> ratios);

// "0.79 [0.78, 0.80]"; without an interval "0.79".
std::string ratio_text(const Ratio& ratio);
// "with nigh it takes 0.79 of the time", "no difference (within 1.2 %)": of `second` against `first`.
std::string verdict_of(const Ratio& time, const std::string& second);

}  // namespace nigh::tune
