// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Complex transforms of lines that lie next to each other, one in each lane of a vector: nothing is shuffled,
// and every factor is the same for all lanes. A line of n = n1 * n2 elements goes through memory twice: short
// transforms of n1, which L1 holds, fetch from the array and leave their result, times the factors, in a
// scratch that L2 holds; short ones of n2 fetch from there and put it where it belongs. (The four-step
// algorithm of Gentleman and Sande; the short ones are Stockham's, in radices 2 to 8.)
//
//      n2 short ones down          scratch, L2          n1 short ones along its rows
//      x[j1 * n2 + j2]     ──►     [k1][j2]     ──►     X[k1 + n1 * k2]
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fft/rows.hpp"
#include "fft/twiddles.hpp"

namespace nigh::fft {

constexpr std::size_t own_cache = std::size_t{1} << 20;  // bytes; a core's L2

// A short transform: which radices, and the factors of all passes but the last.
template <class Real>
struct Short {
  std::size_t n = 1;
  std::vector<std::uint8_t> radices;
  std::vector<Real> factors;
};

template <class Real>
struct LaneTables {
  Short<Real> first, second;  // n1, n2
  std::size_t row = 0;        // elements from a row of the scratch to the next: one more than n2
  std::vector<Real> between;  // [j2][k1]: what elements are multiplied by between the two
};

// Elements of one line each: element e lies at at[e] + offset, and those of the other lines behind it.
struct Spots {
  std::byte* const* at = nullptr;
  std::ptrdiff_t offset = 0;
};

// Rows of n elements that are wanted next: fetched from memory while others are transformed.
struct NextRows {
  const std::byte* at = nullptr;
  std::size_t count = 0, apart = 0;  // bytes from each to the next
};

struct LaneRun {
  Spots from, to;  // they may be the same
  NextRows next;
  bool backward = false;
  bool streamed = false;         // past the caches; all of `to` begins at a line
  std::byte* scratch = nullptr;  // of scratch_bytes(), at a line
  // The factors that elements are multiplied by at the end, those of each lane by others: element k1 + n1 *
  // k2 by turns[k1] * turns[n1 + k2], which lie as elements of an array do. nullptr: no factor.
  const std::byte* turns = nullptr;
};

// The values of each element for several panels, next to each other in an array.
struct LanesOut {
  Spots from, to;
  std::size_t elements = 0, panels = 0;
  std::size_t spot = 0, apart = 0;  // bytes: of a panel's part; from it to the next panel's in `from`
  bool streamed = false;            // past the caches; all of `to` begins at a line
};

// One instruction set's.
struct LaneSet {
  const char* name;
  std::size_t doubles, floats;  // of a vector; without vectors one of each
  void (*in_doubles)(const LaneTables<double>& tables, const LaneRun& run);
  void (*in_floats)(const LaneTables<float>& tables, const LaneRun& run);
  void (*put_out)(const LanesOut& out);
};
// Those that this CPU has, the widest last.
const std::vector<const LaneSet*>& lane_sets();

constexpr std::size_t lanes_of(const LaneSet& set, Precision precision) {
  return precision == Precision::single_precision ? set.floats : set.doubles;
}

class LanePlan {
 public:
  LanePlan(const Transform& transform, const LaneSet& set);
  // Complex, of small factors, and short enough.
  static bool suits(const Transform& transform, const LaneSet& set);
  // The set that suits best; nullptr: none does.
  static const LaneSet* set_for(const Transform& transform);

  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  [[nodiscard]] const LaneSet& set() const { return set_; }
  [[nodiscard]] std::size_t n() const { return n1_ * n2_; }
  [[nodiscard]] std::size_t n1() const { return n1_; }
  [[nodiscard]] std::size_t n2() const { return n2_; }
  // Bytes of an element of all lanes, and from a row of the scratch to the next.
  [[nodiscard]] std::size_t spot_bytes() const { return spot_bytes_; }
  [[nodiscard]] std::size_t row_bytes() const { return (n2_ + 1) * spot_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const;
  [[nodiscard]] std::size_t turns_bytes() const { return (n1_ + n2_) * spot_bytes(); }
  // LaneRun::turns by which element k of line l is multiplied by w^(k * l), where lane 0 has line `first`.
  void make_turns(const Twiddles& w, std::size_t first, std::byte* turns) const;
  void run(const LaneRun& run) const;

 private:
  const LaneSet& set_;
  std::size_t n1_, n2_, lanes_, spot_bytes_;
  LaneTables<double> doubles_;
  LaneTables<float> floats_;
};

}  // namespace nigh::fft
