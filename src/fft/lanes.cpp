// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Compiles the transforms of lanes.hpp for each instruction set, picks one, and makes their tables.
#include "fft/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/vectors.hpp"

// Targets that are not worth a set of their own, or have no vectors of a size that the compiler knows.
// Sanitizers see one set of vectors: compiling each takes them half a minute.
#ifdef NIGH_SANITIZED
#define NIGH_FFT_NOT_SANITIZED HWY_AVX3
#else
#define NIGH_FFT_NOT_SANITIZED 0
#endif
#define HWY_DISABLED_TARGETS                                                                        \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | \
   NIGH_FFT_NOT_SANITIZED)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fft/lanes-inl.hpp"
#include <hwy/foreach_target.h>

#include "fft/lanes-inl.hpp"

namespace nigh::fft {

namespace {
constexpr std::size_t most_of_short = 256;

std::vector<const LaneSet*> find() {
  std::vector<const LaneSet*> found{&HWY_STATIC_DISPATCH(table)};
#if HWY_TARGETS & HWY_AVX2 & ~HWY_STATIC_TARGET
  if (has_avx2()) found.push_back(&N_AVX2::table);
#endif
#if HWY_TARGETS & HWY_AVX3 & ~HWY_STATIC_TARGET
  if (has_avx512()) found.push_back(&N_AVX3::table);
#endif
  return found;
}

// Empty: it has other factors. Eights are the cheapest, two fours are better than an eight and a two.
std::vector<std::uint8_t> radices_of(std::size_t n) {
  std::vector<std::uint8_t> out;
  std::size_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (; twos >= 3 && twos != 4; twos -= 3) out.push_back(8);
  for (; twos >= 2; twos -= 2) out.push_back(4);
  if (twos == 1) out.push_back(2);
  for (const std::uint8_t prime : {7, 5, 3})
    for (; n % prime == 0; n /= prime) out.push_back(prime);
  return n == 1 ? out : std::vector<std::uint8_t>();
}

// n1: the divisor with which passes are fewest, and the two lengths nearest; 0: there is none.
std::size_t split(std::size_t n) {
  std::size_t best = 0, fewest = 0, longest = 0;
  for (std::size_t n1 = 2; n1 <= most_of_short && n1 < n; ++n1) {
    const std::size_t n2 = n / n1;
    if (n1 * n2 != n || n2 > most_of_short) continue;
    const std::size_t one = radices_of(n1).size(), two = radices_of(n2).size();
    if (one == 0 || two == 0) return 0;
    if (best != 0 && (one + two > fewest || (one + two == fewest && std::max(n1, n2) >= longest))) continue;
    best = n1;
    fewest = one + two;
    longest = std::max(n1, n2);
  }
  return best;
}

template <class Real>
void push_root(std::vector<Real>& to, std::size_t exponent, std::size_t n) {
  const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(exponent % n) /
                            static_cast<long double>(n);
  to.push_back(static_cast<Real>(std::cos(angle)));
  to.push_back(static_cast<Real>(std::sin(angle)));
}

template <class Real>
Short<Real> short_of(std::size_t n) {
  Short<Real> out{n, radices_of(n), {}};
  std::size_t length = n;
  for (std::size_t i = 0; i + 1 < out.radices.size(); ++i) {
    const std::size_t radix = out.radices[i];
    for (std::size_t p = 0; p < length / radix; ++p)
      for (std::size_t k = 1; k < radix; ++k) push_root(out.factors, p * k, length);
    length /= radix;
  }
  return out;
}

template <class Real>
LaneTables<Real> tables_of(std::size_t n1, std::size_t n2) {
  LaneTables<Real> out{short_of<Real>(n1), short_of<Real>(n2), n2 + 1, {}};
  for (std::size_t j2 = 0; j2 < n2; ++j2)
    for (std::size_t k1 = 0; k1 < n1; ++k1) push_root(out.between, j2 * k1, n1 * n2);
  return out;
}

template <class Real>
void turns_of(const Twiddles& w, std::size_t n1, std::size_t n2, std::size_t lanes, std::size_t first,
              Real* turns) {
  for (std::size_t i = 0; i < n1 + n2; ++i) {
    const std::size_t k = (i < n1 ? i : n1 * (i - n1)) % w.size();
    std::size_t exponent = k * (first % w.size()) % w.size();
    for (std::size_t l = 0; l < lanes; ++l) {
      const std::complex<double> factor = w.at(exponent);
      *turns++ = static_cast<Real>(factor.real());
      *turns++ = static_cast<Real>(factor.imag());
      exponent += k;
      if (exponent >= w.size()) exponent -= w.size();
    }
  }
}
}  // namespace

const std::vector<const LaneSet*>& lane_sets() {
  static const std::vector<const LaneSet*> all = find();
  return all;
}

bool LanePlan::suits(const Transform& transform, const LaneSet& set) {
  return !is_real(transform.kind) &&
         transform.n * lanes_of(set, transform.precision) * bytes_of_complex(transform.precision) <=
             own_cache &&
         split(transform.n) != 0;
}

const LaneSet* LanePlan::set_for(const Transform& transform) {
  const std::vector<const LaneSet*>& all = lane_sets();
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const LaneSet* set) {
    return set->doubles > 1 && suits(transform, *set);
  });
  return found == all.rend() ? nullptr : *found;
}

LanePlan::LanePlan(const Transform& transform, const LaneSet& set)
    : set_(set),
      n1_(split(transform.n)),
      n2_(transform.n / std::max<std::size_t>(1, n1_)),
      lanes_(lanes_of(set, transform.precision)),
      spot_bytes_(lanes_ * bytes_of_complex(transform.precision)) {
  if (transform.precision == Precision::double_precision) {
    doubles_ = tables_of<double>(n1_, n2_);
  } else {
    floats_ = tables_of<float>(n1_, n2_);
  }
}

std::size_t LanePlan::scratch_bytes() const {
  return n1_ * row_bytes() + 2 * std::max(n1_, n2_) * spot_bytes();
}

void LanePlan::make_turns(const Twiddles& w, std::size_t first, std::byte* turns) const {
  if (doubles_.row != 0) {
    turns_of(w, n1_, n2_, lanes_, first, reinterpret_cast<double*>(turns));
  } else {
    turns_of(w, n1_, n2_, lanes_, first, reinterpret_cast<float*>(turns));
  }
}

void LanePlan::run(const LaneRun& run) const {
  if (doubles_.row != 0) {
    set_.in_doubles(doubles_, run);
  } else {
    set_.in_floats(floats_, run);
  }
}

}  // namespace nigh::fft
