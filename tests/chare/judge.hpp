// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The faults that elements find, added up by a reduction: there is no memory that all PEs write.
#pragma once

#include <array>
#include <cstdio>
#include <nigh/chare.hpp>

namespace cases {

using namespace nigh::chare;

// Counts what is wrong; the sum of all elements is told at the end.
template <class T>
struct Judge : Element<T> {
  void find(bool right) { wrong += right ? 0 : 1; }
  void tell() {
    this->contribute(std::array<int, 2>{wrong, seen}, Add(),
                     this->array()[0].template callback<&T::verdict>());
  }
  void verdict(std::array<int, 2> sums) {
    if (sums[0] != 0 || sums[1] != expected)
      std::fprintf(stderr, "%d wrong, %d seen of %d\n", sums[0], sums[1], expected);
    finish(sums[0] == 0 && sums[1] == expected ? 0 : 3);
  }
  struct Add {
    void operator()(std::array<int, 2>& into, const std::array<int, 2>& from) const {
      into[0] += from[0], into[1] += from[1];
    }
  };
  int wrong = 0, seen = 0, expected = 0;
};

}  // namespace cases
