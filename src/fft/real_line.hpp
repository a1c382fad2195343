// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A transform of n reals, n even, by one of m = n / 2 complex numbers: neighbours x[2 j], x[2 j + 1] are
// taken as one complex number, whose transform Z holds those of the even ones E and of the odd ones O, mixed:
//
//     E[k] = (Z[k] + conj Z[m - k]) / 2,  O[k] = (Z[k] - conj Z[m - k]) / 2i     X[k] = E[k] + w^k O[k],  w =
//     exp(-2 pi i / n)
//
// and the other way round. Elements k and m - k belong together, which lie on ranks opposite each other: who
// reaches all memory does pairs where they lie; else each rank gets the mirror image of what it has.
#pragma once

#include <vector>

#include "fft/plan.hpp"
#include "fft/twiddles.hpp"
#include "transpose/local.hpp"

namespace nigh::fft {

// The complex numbers 0 to m - 1, in blocks of the ranks. The spectrum's has one more, m, behind the last
// block.
struct RankBlocks {
  std::vector<std::size_t> first;  // of each rank, and m
  std::size_t ranks() const { return first.size() - 1; }
  std::size_t m() const { return first.back(); }
  // The range of the spectrum.
  transpose::IndexRange of(std::size_t rank) const {
    return {first[rank], first[rank + 1] + (rank + 1 == ranks() ? 1 : 0)};
  }
  // The opposite elements: the m - k of these k, without m itself where that is the first one.
  transpose::IndexRange mirror_of(std::size_t rank) const;
};

struct RealLine {
  Precision precision = Precision::double_precision;
  bool forward = true;
  RankBlocks blocks;
  const Twiddles* twiddles = nullptr;  // of n, with the transform's sign
};

// From the arrays of all ranks to those of all: the pairs of these k, of 0 to m / 2. In place, if they are
// the same.
void mix_pairs(const RealLine& line, const std::vector<std::byte*>& from, const std::vector<std::byte*>& to,
               const transpose::IndexRange& range);
// Mixes the elements of rank `me`, in place or not, given the opposite ones.
void mix_own(const RealLine& line, std::size_t me, const std::byte* from, const std::byte* mirror,
             std::byte* to, std::size_t part, std::size_t parts);

}  // namespace nigh::fft
