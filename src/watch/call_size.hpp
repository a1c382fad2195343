// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The number of pages for a live move_pages call. A call costs `a + b * pages`: a is the kernel's first step
// on every CPU (lru_add_drain_all), b the copying. Both are learned from the calls as they go (least squares,
// the older the less). Aim: the wanted time for a whole call, but never so few pages that the fixed part is
// more than half.
#pragma once

#include <cstddef>

namespace nigh::watch {

class CallSize {
 public:
  explicit CallSize(double aim_seconds) : aim_(aim_seconds) {}
  // Pages for the next call, 64 to 16384; `page_units`: size of one in base pages (512: a huge page), at
  // least 1.
  [[nodiscard]] std::size_t pages(std::size_t page_units) const;
  void took(std::size_t units, double seconds);  // units: pages * page_units
  // The present estimate: seconds of every call, and for each base page.
  [[nodiscard]] double fixed() const;
  [[nodiscard]] double each() const;

 private:
  double aim_;
  double units_ =
      1024;  // a millisecond or two on today's machines; then a larger one, so that both parts are told
  bool begun_ = false;
  double n_ = 0, x_ = 0, xx_ = 0, t_ = 0, xt_ = 0;
};

}  // namespace nigh::watch
