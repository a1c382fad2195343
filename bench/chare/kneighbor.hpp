// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// kNeighbor (seed 001, and Charm++'s benchmark of that name): 8 elements in a circle; each sends a message to
// its 3 neighbours on either side, and each of these is answered by one of the same size; when an element has
// all of its answers, its next iteration begins. 96 messages an iteration, half of them to the other PE where
// there are two. Two forms:
//
//     bounced   the payload is never looked at and goes back as it came: what Charm++ measures
//     touched   all of it is written before it is sent and read when it has come, both ways
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/batches.hpp"

namespace bench::kneighbor {

inline constexpr int elements = 8, neighbours = 3;

struct Load {
  const char* name = "";
  std::size_t bytes = 0;
  bool touched = false;
};
inline const std::vector<Load> loads = {{"64 B bounced", 64, false},      {"1 KiB bounced", 1024, false},
                                        {"16 KiB bounced", 16384, false}, {"64 B touched", 64, true},
                                        {"1 KiB touched", 1024, true},    {"16 KiB touched", 16384, true}};

struct Options {
  int pes = 2;
  bool quick = false;
  std::string subject = "nigh-threads";
};

// Times of batches, near and far apart, until there are enough.
class Series {
 public:
  explicit Series(bool quick) : wanted_(quick ? 7 : 21), patience_(quick ? 0.4 : 1.5), begun_(now()) {}
  // `line`: seconds that a line took before and after.
  void add(double before, double after, double seconds) {
    ++tried_;
    if ((before < near_below) == (after < near_below)) times_[before < near_below ? 1 : 0].push_back(seconds);
  }
  [[nodiscard]] bool done() const {
    return times_[0].size() >= wanted_ || times_[1].size() >= wanted_ ||
           (tried_ > 0 && now() - begun_ > patience_);
  }
  [[nodiscard]] Measured result(const std::string& name) const {
    const bool near = times_[1].size() >= times_[0].size();
    std::vector<double> most = times_[near ? 1 : 0];
    if (most.empty()) return {name, 0, false};
    const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
    std::nth_element(most.begin(), middle, most.end());
    return {name, 1e9 * *middle, near};
  }

 private:
  std::size_t wanted_;
  double patience_, begun_;
  int tried_ = 0;
  std::vector<double> times_[2];  // far, near
};

}  // namespace bench::kneighbor
