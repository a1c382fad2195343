// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Disjoint sets of 0 to n - 1 (union-find). A set is named by its smallest member.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace nigh {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : of_(n), count_(n) {
    std::iota(of_.begin(), of_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  void join(std::size_t i, std::size_t j) {
    const std::size_t a = find(i), b = find(j);
    if (a == b) return;
    of_[std::max(a, b)] = std::min(a, b);
    --count_;
  }
  [[nodiscard]] std::size_t members() const { return of_.size(); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::vector<std::size_t> of_;
  std::size_t count_;
};

}  // namespace nigh
