// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Random numbers that are the same on every machine and compiler, so that a seed printed anywhere
// reproduces everywhere (SplitMix64; the standard's distributions promise no such thing).
#pragma once

#include <cstdint>

namespace nigh::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // From `low` to `high`, both included.
  int between(int low, int high) {
    return low + static_cast<int>(next() % (static_cast<std::uint64_t>(high - low) + 1));
  }
  bool one_in(int n) { return next() % static_cast<std::uint64_t>(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace nigh::fuzz
