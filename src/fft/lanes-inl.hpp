// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transforms of lanes.hpp for one instruction set, included by lanes.cpp once for each (Highway's
// scheme). Forward is computed; backward changes real and imaginary parts when it fetches and when it stores.

// A file that is compiled again for every instruction set has a guard that is switched, not set.
#if defined(NIGH_FFT_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NIGH_FFT_LANES_INL
#undef NIGH_FFT_LANES_INL
#else
#define NIGH_FFT_LANES_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <utility>

#include "fft/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace nigh::fft {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
struct Lane {
  static constexpr hn::ScalableTag<Real> tag{};
  using V = hn::Vec<decltype(tag)>;
  static constexpr std::size_t count = hn::MaxLanes(tag);
  static constexpr std::size_t spot = 2 * count;  // reals
};

template <class V>
struct Pair {
  V re, im;
};
template <class V>
HWY_INLINE Pair<V> operator+(const Pair<V>& a, const Pair<V>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class V>
HWY_INLINE Pair<V> operator-(const Pair<V>& a, const Pair<V>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
// a - i b and a + i b
template <class V>
HWY_INLINE Pair<V> minus_i(const Pair<V>& a, const Pair<V>& b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class V>
HWY_INLINE Pair<V> plus_i(const Pair<V>& a, const Pair<V>& b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
// x + w y and x - w y for a real w
template <class V>
HWY_INLINE Pair<V> plus(const Pair<V>& x, const V& w, const Pair<V>& y) {
  return {hn::MulAdd(w, y.re, x.re), hn::MulAdd(w, y.im, x.im)};
}
template <class V>
HWY_INLINE Pair<V> minus(const Pair<V>& x, const V& w, const Pair<V>& y) {
  return {hn::NegMulAdd(w, y.re, x.re), hn::NegMulAdd(w, y.im, x.im)};
}
template <class Real, class V>
HWY_INLINE Pair<V> times(const Pair<V>& a, const Real* w) {
  const V re = hn::Set(Lane<Real>::tag, w[0]), im = hn::Set(Lane<Real>::tag, w[1]);
  return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.re, im, hn::Mul(a.im, re))};
}

// Transforms of a few elements within the registers.
template <class Real, std::size_t radix>
struct Few {
  using V = typename Lane<Real>::V;
  // cos and sin of 2 pi m / radix for m = 1 to (radix - 1) / 2
  static constexpr double cosine[4][3] = {
      {-0.5, 0, 0},
      {0.309016994374947424102293417183, -0.809016994374947424102293417183, 0},
      {0.623489801858733530525004884004, -0.222520933956314404288902564497,
       -0.900968867902419126236102319507}};
  static constexpr double sine[4][3] = {
      {0.866025403784438646763723170753, 0, 0},
      {0.951056516295153572116439333379, 0.587785252292473129168705954639, 0},
      {0.781831482468029808708444526674, 0.974927912181823607018131682994, 0.433883739117558120475768332848}};
  static constexpr std::size_t half = (radix - 1) / 2;

  static HWY_INLINE V cos(std::size_t m) {
    m %= radix;
    return hn::Set(Lane<Real>::tag, static_cast<Real>(cosine[half - 1][(m <= half ? m : radix - m) - 1]));
  }
  static HWY_INLINE V sin(std::size_t m) {
    m %= radix;
    return hn::Set(Lane<Real>::tag,
                   static_cast<Real>(m <= half ? sine[half - 1][m - 1] : -sine[half - 1][radix - m - 1]));
  }

  // An odd prime: sums and differences of what stands opposite.
  static HWY_INLINE void run(Pair<V>* a) {
    Pair<V> sums[half], differences[half], first = a[0];
    for (std::size_t j = 0; j < half; ++j) {
      sums[j] = a[j + 1] + a[radix - 1 - j];
      differences[j] = a[j + 1] - a[radix - 1 - j];
    }
    for (std::size_t j = 0; j < half; ++j) a[0] = a[0] + sums[j];
    for (std::size_t k = 1; k <= half; ++k) {
      Pair<V> even = first;
      Pair<V> odd = {hn::Mul(sin(k), differences[0].re), hn::Mul(sin(k), differences[0].im)};
      for (std::size_t j = 0; j < half; ++j) even = plus(even, cos((j + 1) * k), sums[j]);
      for (std::size_t j = 1; j < half; ++j) odd = plus(odd, sin((j + 1) * k), differences[j]);
      a[k] = minus_i(even, odd);
      a[radix - k] = plus_i(even, odd);
    }
  }
};
template <class Real>
struct Few<Real, 2> {
  static HWY_INLINE void run(Pair<typename Lane<Real>::V>* a) {
    const auto first = a[0];
    a[0] = first + a[1];
    a[1] = first - a[1];
  }
};
template <class Real>
struct Few<Real, 4> {
  static HWY_INLINE void run(Pair<typename Lane<Real>::V>* a) {
    const auto t0 = a[0] + a[2], t1 = a[0] - a[2], t2 = a[1] + a[3], t3 = a[1] - a[3];
    a[0] = t0 + t2;
    a[1] = minus_i(t1, t3);
    a[2] = t0 - t2;
    a[3] = plus_i(t1, t3);
  }
};
template <class Real>
struct Few<Real, 8> {
  static HWY_INLINE void run(Pair<typename Lane<Real>::V>* a) {
    using V = typename Lane<Real>::V;
    const V root = hn::Set(Lane<Real>::tag, static_cast<Real>(0.707106781186547524400844362105));
    Pair<V> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    Few<Real, 4>::run(even);
    Few<Real, 4>::run(odd);
    // times the square root of 1/2, which is left for later
    const Pair<V> one = {hn::Add(odd[1].re, odd[1].im), hn::Sub(odd[1].im, odd[1].re)};
    const Pair<V> three = {hn::Sub(odd[3].im, odd[3].re), hn::Add(odd[3].im, odd[3].re)};
    a[0] = even[0] + odd[0];
    a[4] = even[0] - odd[0];
    a[1] = plus(even[1], root, one);
    a[5] = minus(even[1], root, one);
    a[2] = minus_i(even[2], odd[2]);
    a[6] = plus_i(even[2], odd[2]);
    // i times it, but for the sign of the imaginary part
    a[3] = {hn::MulAdd(root, three.re, even[3].re), hn::NegMulAdd(root, three.im, even[3].im)};
    a[7] = {hn::NegMulAdd(root, three.re, even[3].re), hn::MulAdd(root, three.im, even[3].im)};
  }
};

// The source and the target of a pass. Real and imaginary parts lie apart in our own memory, and alternate in
// arrays; the order of the lanes does not matter as long as it is undone.
template <class Real>
struct Buffer {
  using V = typename Lane<Real>::V;
  Real* at;
  HWY_INLINE Pair<V> get(std::size_t i) const {
    const Real* spot = at + i * Lane<Real>::spot;
    return {hn::Load(Lane<Real>::tag, spot), hn::Load(Lane<Real>::tag, spot + Lane<Real>::count)};
  }
  HWY_INLINE void put(std::size_t i, const Pair<V>& value) const {
    Real* spot = at + i * Lane<Real>::spot;
    hn::Store(value.re, Lane<Real>::tag, spot);
    hn::Store(value.im, Lane<Real>::tag, spot + Lane<Real>::count);
  }
};

// A column of the scratch.
template <class Real>
struct Between {
  using V = typename Lane<Real>::V;
  Real* at;
  std::size_t row;  // reals
  const Real* factors;
  HWY_INLINE void put(std::size_t i, const Pair<V>& value) const {
    Buffer<Real>{at + i * row}.put(0, times(value, factors + 2 * i));
  }
};

// Elements of all lanes as arrays have them.
template <class Real>
HWY_INLINE Pair<typename Lane<Real>::V> apart(const Real* at) {
  constexpr auto tag = Lane<Real>::tag;
  const auto a = hn::LoadU(tag, at), b = hn::LoadU(tag, at + Lane<Real>::count);
#if HWY_TARGET == HWY_SCALAR
  return {a, b};
#else
  if constexpr (sizeof(Real) == 8) {
    return {hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)};
  } else {
    return {hn::OddEven(hn::DupEven(b), a), hn::OddEven(b, hn::DupOdd(a))};
  }
#endif
}
// And back: both vectors of them.
template <class Real>
HWY_INLINE Pair<typename Lane<Real>::V> together(const Pair<typename Lane<Real>::V>& value) {
#if HWY_TARGET == HWY_SCALAR
  return value;
#else
  if constexpr (sizeof(Real) == 8) {
    constexpr auto tag = Lane<Real>::tag;
    return {hn::InterleaveLower(tag, value.re, value.im), hn::InterleaveUpper(tag, value.re, value.im)};
  } else {
    return {hn::OddEven(hn::DupEven(value.im), value.re), hn::OddEven(value.im, hn::DupOdd(value.re))};
  }
#endif
}

template <class V>
HWY_INLINE Pair<V> operator*(const Pair<V>& a, const Pair<V>& b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

template <class Real>
struct Outside {
  using V = typename Lane<Real>::V;
  std::byte* const* at;
  std::ptrdiff_t offset;
  std::size_t step;  // from an element to the next
  bool backward, streamed;
  const Real *turn, *turns;  // of the short transform, and of each element; nullptr: none

  HWY_INLINE Real* spot(std::size_t i) const { return reinterpret_cast<Real*>(at[i * step] + offset); }
  HWY_INLINE Pair<V> get(std::size_t i) const {
    Pair<V> value = apart(spot(i));
    if (backward) std::swap(value.re, value.im);
    return value;
  }
  HWY_INLINE void put(std::size_t i, Pair<V> value) const {
    if (backward) std::swap(value.re, value.im);
    if (turns != nullptr) value = value * (apart(turn) * apart(turns + i * Lane<Real>::spot));
    value = together<Real>(value);
    Real* to = spot(i);
    if (streamed) {
      hn::Stream(value.re, Lane<Real>::tag, to);
      hn::Stream(value.im, Lane<Real>::tag, to + Lane<Real>::count);
    } else {
      hn::StoreU(value.re, Lane<Real>::tag, to);
      hn::StoreU(value.im, Lane<Real>::tag, to + Lane<Real>::count);
    }
  }
};

// The position of a pass among those of a short transform; alone: it is the only one.
enum class Stand { first, between, last, alone };

// One pass of Stockham's: `length` elements are left to transform, at a distance of `apart`.
template <class Real, std::size_t radix, Stand stand, class In, class Out>
HWY_NOINLINE void pass(const In in, const Out out, std::size_t length, std::size_t apart,
                       const Real* factors) {
  constexpr bool whole = stand == Stand::last || stand == Stand::alone;  // nothing is left afterwards
  if constexpr (whole) length = radix;
  if constexpr (stand == Stand::first || stand == Stand::alone) apart = 1;
  const std::size_t parts = length / radix, distance = apart * parts;
  for (std::size_t p = 0; p < parts; ++p) {
    for (std::size_t q = 0; q < apart; ++q) {
      Pair<typename Lane<Real>::V> a[radix];
      const std::size_t from = q + apart * p, to = q + apart * radix * p;
      for (std::size_t j = 0; j < radix; ++j) a[j] = in.get(from + distance * j);
      Few<Real, radix>::run(a);
      out.put(to, a[0]);
      for (std::size_t k = 1; k < radix; ++k)
        out.put(to + apart * k, whole ? a[k] : times(a[k], factors + 2 * (k - 1)));
    }
    if constexpr (!whole) factors += 2 * (radix - 1);
  }
}

template <Stand stand, class Real, class In, class Out>
HWY_INLINE void pass_of(std::size_t radix, const In& in, const Out& out, std::size_t length,
                        std::size_t apart, const Real* factors) {
  switch (radix) {
    case 2: return pass<Real, 2, stand>(in, out, length, apart, factors);
    case 3: return pass<Real, 3, stand>(in, out, length, apart, factors);
    case 4: return pass<Real, 4, stand>(in, out, length, apart, factors);
    case 5: return pass<Real, 5, stand>(in, out, length, apart, factors);
    case 7: return pass<Real, 7, stand>(in, out, length, apart, factors);
    default: return pass<Real, 8, stand>(in, out, length, apart, factors);
  }
}

template <class Real, class In, class Out>
HWY_INLINE void transform(const Short<Real>& one, const In& in, const Out& out, Real* buffer) {
  const std::size_t count = one.radices.size();
  if (count == 1) return pass_of<Stand::alone>(one.radices[0], in, out, one.n, 1, one.factors.data());
  const Real* factors = one.factors.data();
  std::size_t length = one.n, apart = 1, radix = one.radices[0];
  Buffer<Real> now{buffer}, then{buffer + one.n * Lane<Real>::spot};
  pass_of<Stand::first>(radix, in, now, length, apart, factors);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    factors += 2 * (length / radix) * (radix - 1);
    length /= radix;
    apart *= radix;
    radix = one.radices[i];
    pass_of<Stand::between>(radix, now, then, length, apart, factors);
    std::swap(now, then);
  }
  length /= radix;
  apart *= radix;
  pass_of<Stand::last>(one.radices[count - 1], now, out, length, apart, factors);
}

// The part of each row that is due in step `step` of `steps`. Into L2.
inline void prefetch(const NextRows& rows, std::size_t bytes, std::size_t step, std::size_t steps) {
  constexpr std::size_t line = 64;
  const std::size_t lines = bytes / line, end = lines * (step + 1) / steps;
  for (std::size_t row = 0; row < rows.count; ++row)
    for (std::size_t i = lines * step / steps; i < end; ++i)
      __builtin_prefetch(rows.at + row * rows.apart + i * line, 0, 2);
}

template <class Real>
void run_lanes(const LaneTables<Real>& tables, const LaneRun& run) {
  constexpr std::size_t spot = Lane<Real>::spot;
  const std::size_t n1 = tables.first.n, n2 = tables.second.n, row = tables.row * spot;
  auto* scratch = reinterpret_cast<Real*>(run.scratch);
  Real* buffer = scratch + n1 * row;
  const std::size_t bytes = n1 * n2 * 2 * sizeof(Real);
  for (std::size_t j2 = 0; j2 < n2; ++j2) {
    prefetch(run.next, bytes, j2, n1 + n2);
    transform(tables.first,
              Outside<Real>{run.from.at + j2, run.from.offset, n2, run.backward, false, nullptr, nullptr},
              Between<Real>{scratch + j2 * spot, row, tables.between.data() + 2 * j2 * n1}, buffer);
  }
  const auto* turns = reinterpret_cast<const Real*>(run.turns);
  Outside<Real> to{run.to.at, run.to.offset, n1, run.backward, run.streamed, turns, nullptr};
  if (turns != nullptr) to.turns = turns + n1 * spot;
  for (std::size_t k1 = 0; k1 < n1; ++k1, ++to.at, to.turn += turns != nullptr ? spot : 0) {
    prefetch(run.next, bytes, n2 + k1, n1 + n2);
    transform(tables.second, Buffer<Real>{scratch + k1 * row}, to, buffer);
  }
  if (run.streamed) hwy::FlushStream();
}

template <bool streamed>
HWY_INLINE void put_each(const LanesOut& out) {
  constexpr auto tag = Lane<double>::tag;
  constexpr std::size_t vector = Lane<double>::count;
  const std::size_t spot = out.spot / sizeof(double);
  for (std::size_t e = 0; e < out.elements; ++e) {
    const std::byte* panel = out.from.at[e] + out.from.offset;
    auto* to = reinterpret_cast<double*>(out.to.at[e] + out.to.offset);
    for (std::size_t i = 0; i < out.panels; ++i, panel += out.apart, to += spot) {
      const auto* from = reinterpret_cast<const double*>(panel);
      for (std::size_t k = 0; k < spot; k += vector) {
        if constexpr (streamed) {
          hn::Stream(hn::Load(tag, from + k), tag, to + k);
        } else {
          hn::StoreU(hn::Load(tag, from + k), tag, to + k);
        }
      }
    }
  }
}
inline void put_out(const LanesOut& out) {
  if (!out.streamed) return put_each<false>(out);
  put_each<true>(out);
  hwy::FlushStream();
}

constexpr const char* name() {
  switch (HWY_TARGET) {
    case HWY_AVX2: return "AVX2";
    case HWY_AVX3: return "AVX-512";
    case HWY_NEON: return "NEON";
    default: return "scalar";
  }
}

constexpr LaneSet table{name(), Lane<double>::count, Lane<float>::count, run_lanes<double>, run_lanes<float>,
                        put_out};

}  // namespace HWY_NAMESPACE
}  // namespace nigh::fft
HWY_AFTER_NAMESPACE();

#endif
