// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/real_line.hpp"

#include <algorithm>

namespace nigh::fft {

namespace {
using transpose::IndexRange;

template <class T>
struct Pair {
  std::complex<T> low, high;  // of k and of m - k
};

// w: of k, with the transform's sign. Products are written out: those of std::complex look for infinities.
template <class T>
std::complex<T> times(std::complex<T> a, std::complex<double> b) {
  const auto re = static_cast<T>(b.real()), im = static_cast<T>(b.imag());
  return {a.real() * re - a.imag() * im, a.real() * im + a.imag() * re};
}
template <class T>
std::complex<T> times_i(std::complex<T> a) {
  return {-a.imag(), a.real()};
}

template <class T>
Pair<T> mixed(bool forward, Pair<T> z, std::complex<double> w) {
  const std::complex<T> even = z.low + std::conj(z.high), odd = times(z.low - std::conj(z.high), w);
  if (!forward) return {even + times_i(odd), std::conj(even - times_i(odd))};
  const std::complex<T> turned = times_i(odd), half(T(0.5), 0);
  return {{(even.real() - turned.real()) * half.real(), (even.imag() - turned.imag()) * half.real()},
          {(even.real() + turned.real()) * half.real(), -(even.imag() + turned.imag()) * half.real()}};
}

// The place of elements. k only grows, or only shrinks, so the rank that has it is near the one before.
template <class T>
class Walker {
 public:
  Walker(const RankBlocks& blocks, const std::vector<std::byte*>& arrays)
      : blocks_(blocks), arrays_(arrays) {}
  std::complex<T>& at(std::size_t k) {
    const std::size_t last = blocks_.ranks() - 1;
    while (rank_ < last && k >= blocks_.first[rank_ + 1]) ++rank_;
    while (k < blocks_.first[rank_]) --rank_;
    return reinterpret_cast<std::complex<T>*>(arrays_[rank_])[k - blocks_.first[rank_]];
  }

 private:
  const RankBlocks& blocks_;
  const std::vector<std::byte*>& arrays_;
  std::size_t rank_ = 0;
};

template <class T>
void pairs(const RealLine& line, const std::vector<std::byte*>& from, const std::vector<std::byte*>& to,
           IndexRange range) {
  const std::size_t m = line.blocks.m();
  Walker<T> low(line.blocks, from), high(line.blocks, from), low_to(line.blocks, to),
      high_to(line.blocks, to);
  for (std::size_t k = range.first; k < range.end; ++k) {
    Pair<T> z;
    z.low = low.at(k);
    if (k > 0) {
      z.high = high.at(m - k);
    } else if (line.forward) {
      z.high = z.low;
    } else {  // both are reals
      z = {z.low.real(), high.at(m).real()};
    }
    z = mixed(line.forward, z, line.twiddles->at(k));
    low_to.at(k) = z.low;
    if (k > 0 || line.forward) high_to.at(m - k) = z.high;
  }
}

template <class T>
void own(const RealLine& line, std::size_t me, const std::byte* from, const std::byte* mirror, std::byte* to,
         IndexRange range) {
  const std::size_t m = line.blocks.m(), first = line.blocks.first[me];
  const std::size_t mirror_first = line.blocks.mirror_of(me).first;
  const auto* mine = reinterpret_cast<const std::complex<T>*>(from);
  const auto* opposite = reinterpret_cast<const std::complex<T>*>(mirror);
  auto* out = reinterpret_cast<std::complex<T>*>(to);
  for (std::size_t k = range.first; k < range.end; ++k) {
    if (k == m) {  // of the spectrum alone; it stands opposite the first
      const std::complex<T> z = opposite[0];
      out[k - first] = {z.real() - z.imag(), 0};
      continue;
    }
    Pair<T> z{mine[k - first], {}};
    if (k > 0) {
      z.high = opposite[m - k - mirror_first];
    } else if (line.forward) {
      z.high = z.low;
    } else {
      z = {z.low.real(), opposite[m - mirror_first].real()};
    }
    out[k - first] = mixed(line.forward, z, line.twiddles->at(k)).low;
  }
}
}  // namespace

IndexRange RankBlocks::mirror_of(std::size_t rank) const {
  const auto [begin, end] = of(rank);
  return begin == end ? IndexRange{0, 0} : IndexRange{m() - (end - 1), m() - begin + 1};
}

void mix_pairs(const RealLine& line, const std::vector<std::byte*>& from, const std::vector<std::byte*>& to,
               const IndexRange& range) {
  if (line.precision == Precision::single_precision) {
    pairs<float>(line, from, to, range);
  } else {
    pairs<double>(line, from, to, range);
  }
}

void mix_own(const RealLine& line, std::size_t me, const std::byte* from, const std::byte* mirror,
             std::byte* to, std::size_t part, std::size_t parts) {
  IndexRange all = line.blocks.of(me);
  if (!line.forward) all.end = std::min(all.end, line.blocks.m());
  const IndexRange share = transpose::share(all.end - all.first, 1, part, parts);
  const IndexRange range{all.first + share.first, all.first + share.end};
  if (line.precision == Precision::single_precision) {
    own<float>(line, me, from, mirror, to, range);
  } else {
    own<double>(line, me, from, mirror, to, range);
  }
}

}  // namespace nigh::fft
