// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/call_size.hpp"

#include <algorithm>

namespace nigh::watch {

namespace {
constexpr double keep = 0.8;  // weight of what was known, at each call
constexpr double fewest = 64, most = 16384;
constexpr double fixed_share = 1.0 / 8;  // of a call, at most
}  // namespace

double CallSize::each() const {
  double spread = n_ * xx_ - x_ * x_;
  // Calls of about one size tell nothing of the fixed part: all is put on the pages, which changes the size.
  if (n_ <= 0) return 0;
  if (spread < 0.05 * x_ * x_) return t_ / std::max(x_, 1.0);
  return std::max((n_ * xt_ - x_ * t_) / spread, 0.0);
}

double CallSize::fixed() const { return n_ > 0 ? std::max((t_ - each() * x_) / n_, 0.0) : 0; }

std::size_t CallSize::pages(std::size_t page_units) const {
  return std::max<std::size_t>(static_cast<std::size_t>(units_) / page_units, 1);
}

void CallSize::took(std::size_t units, double seconds) {
  auto x = static_cast<double>(units);
  n_ = n_ * keep + 1, x_ = x_ * keep + x, xx_ = xx_ * keep + x * x;
  t_ = t_ * keep + seconds, xt_ = xt_ * keep + x * seconds;
  if (!begun_) {
    begun_ = true;
    units_ = seconds > aim_ ? 2048 : 4096;
    return;
  }
  double a = fixed(), b = each();
  double wanted = b > 0 ? std::max(aim_ - a, a * (1 / fixed_share - 1)) / b : most;
  // In steps, so that one odd call does no harm.
  units_ = std::clamp(std::clamp(wanted, units_ / 2, units_ * 4), fewest, most);
}

}  // namespace nigh::watch
