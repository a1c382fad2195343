// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows against sums in long double, and plans of one process against those, axis by axis.
#include <gtest/gtest.h>
#include <nigh/fft.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "fft/builder.hpp"
#include "fft/rows.hpp"
#include "fft/twiddles.hpp"

namespace nigh::fft {
namespace {

using Long = std::complex<long double>;
using Complex = std::complex<double>;

std::vector<Long> sum(const std::vector<Long>& x, int sign) {
  const std::size_t n = x.size();
  std::vector<Long> out(n), w(n);
  for (std::size_t i = 0; i < n; ++i) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(i) / static_cast<long double>(n);
    w[i] = {std::cos(angle), sign * std::sin(angle)};
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j) out[k] += x[j] * w[j * k % n];
  return out;
}

std::vector<Long> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> some(-1, 1);
  std::vector<Long> out(n);
  for (Long& value : out) value = {some(random), some(random)};
  return out;
}

std::vector<const Backend*> backends() {
  std::vector<const Backend*> all = {&pocketfft_base};
  for (const std::size_t n : {std::size_t{16}, std::size_t{1} << 18})
    if (const Backend* one = &pocketfft_for({n, Kind::forward, Precision::double_precision});
        one != all.back())
      all.push_back(one);
  if (const auto found = fftw()) all.push_back(*found);
  return all;
}

// Rows of `count` at a distance of their own, each with other numbers.
template <class T>
void rows_are_right(const Backend& backend, std::size_t n, std::size_t count, Kind kind, bool in_place) {
  const Transform transform{n, kind,
                            sizeof(T) == 4 ? Precision::single_precision : Precision::double_precision};
  const std::size_t stride = 2 * half(n) + 2 * n + 5;  // reals
  std::vector<T> from(stride * count, 77), to(stride * count, 77);
  std::vector<std::vector<Long>> wanted;
  for (std::size_t r = 0; r < count; ++r) {
    std::vector<Long> x = noise(n, static_cast<unsigned>(n * 31 + r));
    if (is_real(kind))
      for (Long& value : x) value = value.real();
    std::vector<Long> spectrum = sum(x, kind == Kind::backward ? 1 : -1);
    T* row = from.data() + r * stride;
    if (kind == Kind::real_backward) {
      for (std::size_t k = 0; k < half(n); ++k) {
        row[2 * k] = static_cast<T>(spectrum[k].real());
        row[2 * k + 1] = static_cast<T>(spectrum[k].imag());
      }
      for (Long& value : x) value *= static_cast<long double>(n);
      wanted.push_back(x);
    } else {
      for (std::size_t k = 0; k < n; ++k) {
        if (kind == Kind::real_forward) {
          row[k] = static_cast<T>(x[k].real());
        } else {
          row[2 * k] = static_cast<T>(x[k].real());
          row[2 * k + 1] = static_cast<T>(x[k].imag());
        }
      }
      wanted.push_back(spectrum);
    }
  }
  T* out = in_place ? from.data() : to.data();
  backend.plan(transform)->run({reinterpret_cast<const std::byte*>(from.data()), stride * sizeof(T),
                                reinterpret_cast<std::byte*>(out), stride * sizeof(T), count});
  const long double allowed = (sizeof(T) == 4 ? 1e-6L : 1e-15L) * static_cast<long double>(n + 8);
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t k = 0; k < (kind == Kind::real_forward ? half(n) : n); ++k) {
      const T* at = out + r * stride;
      const Long got = kind == Kind::real_backward ? Long(at[k]) : Long(at[2 * k], at[2 * k + 1]);
      ASSERT_LE(std::abs(got - wanted[r][k]),
                allowed * (kind == Kind::real_backward ? static_cast<long double>(n) : 1))
          << backend.name << " n " << n << " row " << r << " of " << count << " element " << k;
    }
}

TEST(Rows, AllBackendsGiveTheSum) {
  for (const Backend* backend : backends())
    for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 30, 61, 97, 128}) {
      const bool measures = backend->vector_bytes == 0;  // FFTW plans each for a moment
      if (measures && n > 1 && n % 4 != 0) continue;
      for (const std::size_t count :
           measures ? std::vector<std::size_t>{3} : std::vector<std::size_t>{1, 8, 17})
        for (const Kind kind : {Kind::forward, Kind::backward, Kind::real_forward, Kind::real_backward})
          for (const bool in_place : {false, true}) {
            rows_are_right<double>(*backend, n, count, kind, in_place);
            rows_are_right<float>(*backend, n, count, kind, in_place);
          }
    }
}

TEST(Rows, WiderVectorsAreTakenForShortRowsOnly) {
  const std::size_t wide = pocketfft_for({64, Kind::forward, Precision::double_precision}).vector_bytes;
  const std::size_t narrow =
      pocketfft_for({1 << 20, Kind::forward, Precision::double_precision}).vector_bytes;
  EXPECT_GE(wide, narrow);
  EXPECT_LE(narrow, 32U);
}

TEST(Twiddles, AreAccurate) {
  for (const std::size_t n : {1U, 2U, 3U, 97U, 4096U, 1000003U}) {
    const Twiddles factors(n, -1);
    for (std::size_t i = 0; i < n; i += 1 + n / 1000) {
      const long double angle =
          -2 * std::numbers::pi_v<long double> * static_cast<long double>(i) / static_cast<long double>(n);
      const Complex w = factors.at(i);
      EXPECT_LE(std::abs(Long(w.real(), w.imag()) - Long(std::cos(angle), std::sin(angle))), 4e-16L);
    }
  }
}

// A whole array by sums along each axis.
std::vector<Long> by_sums(std::vector<Long> x, const std::vector<std::size_t>& n, int sign) {
  std::size_t inner = 1;
  for (std::size_t axis = n.size(); axis-- > 0;) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / inner % n[axis] != 0) continue;
      std::vector<Long> line(n[axis]);
      for (std::size_t k = 0; k < n[axis]; ++k) line[k] = x[i + k * inner];
      line = sum(line, sign);
      for (std::size_t k = 0; k < n[axis]; ++k) x[i + k * inner] = line[k];
    }
    inner *= n[axis];
  }
  return x;
}

void array_is_right(const std::vector<std::size_t>& n, int sign, unsigned flags, int threads) {
  std::size_t all = 1;
  for (const std::size_t one : n) all *= one;
  const std::vector<Long> x = noise(all, static_cast<unsigned>(all));
  std::vector<Complex> in(all), out(all);
  for (std::size_t i = 0; i < all; ++i)
    in[i] = Complex(static_cast<double>(x[i].real()), static_cast<double>(x[i].imag()));
  const std::size_t bytes = all * sizeof(Complex);
  nigh_fft* plan = nigh_fft_plan(static_cast<int>(n.size()), n.data(), sign, flags, in.data(), bytes,
                                 out.data(), bytes, threads);
  ASSERT_NE(plan, nullptr) << nigh_fft_why();
  ASSERT_EQ(nigh_fft_execute(plan), 0) << nigh_fft_why();
  nigh_fft_destroy(plan);
  const std::vector<Long> wanted = by_sums(x, n, sign);
  const bool turned = (flags & NIGH_FFT_TRANSPOSED_OUT) != 0;
  const std::size_t n1 = n.size() == 1 ? nigh_fft_factor(n[0]) : n[0], n2 = all / n1;
  for (std::size_t i = 0; i < all; ++i) {
    std::size_t from = i;
    if (turned) from = n.size() == 1 ? i / n2 + n1 * (i % n2) : i % n1 * n2 + i / n1;
    const Long got(out[i].real(), out[i].imag());
    ASSERT_LE(std::abs(got - wanted[from]), 1e-14L * static_cast<long double>(all + 10)) << "element " << i;
  }
}

TEST(Plans, OfOneProcessGiveTheSum) {
  for (const std::vector<std::size_t>& n : std::vector<std::vector<std::size_t>>{
           {1}, {13}, {36}, {60}, {128}, {1, 1}, {6, 5}, {17, 3}, {32, 40}, {4, 3, 5}, {2, 3, 2, 5}})
    for (const int sign : {-1, 1})
      for (const unsigned flags : {0U, unsigned(NIGH_FFT_TRANSPOSED_OUT), unsigned(NIGH_FFT_DESTROY_INPUT)})
        for (const int threads : {1, 3}) array_is_right(n, sign, flags, threads);
}

TEST(Plans, ForwardAndBackIsTheArrayTimesItsSize) {
  const std::size_t n[3] = {18, 10, 15}, all = 18 * 10 * 15, half_all = 18 * 10 * 8;
  std::vector<float> reals(all), back(all);
  std::vector<std::complex<float>> spectrum(half_all);
  for (std::size_t i = 0; i < all; ++i) reals[i] = static_cast<float>(i % 37) - 11;
  const unsigned flags = NIGH_FFT_REAL | NIGH_FFT_FLOAT;
  nigh_fft* forward = nigh_fft_plan(3, n, -1, flags | NIGH_FFT_TRANSPOSED_OUT, reals.data(), all * 4,
                                    spectrum.data(), half_all * 8, 2);
  nigh_fft* backward = nigh_fft_plan(3, n, 1, flags | NIGH_FFT_TRANSPOSED_IN, spectrum.data(), half_all * 8,
                                     back.data(), all * 4, 2);
  ASSERT_NE(forward, nullptr) << nigh_fft_why();
  ASSERT_NE(backward, nullptr) << nigh_fft_why();
  EXPECT_EQ(nigh_fft_execute(forward), 0);
  EXPECT_EQ(nigh_fft_execute(backward), 0);
  for (std::size_t i = 0; i < all; ++i) EXPECT_NEAR(back[i] / float(all), reals[i], 1e-4);
  char text[1000];
  nigh_fft_explain(forward, text, sizeof text);
  EXPECT_NE(std::string(text).find("18 x 10 x 15"), std::string::npos) << text;
  nigh_fft_destroy(forward);
  nigh_fft_destroy(backward);
}

// One of two ranks, which counts what it does with the other.
class Counting final : public World {
 public:
  explicit Counting(int& together) : together_(together) {}
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t ranks() const override { return 2; }
  Result<void> agree(const Result<void>& mine) override {
    ++together_;
    return mine;
  }
  void wait() override { ++together_; }
  Memory memory(std::size_t bytes) override {
    ++together_;
    return plain(bytes);
  }
  std::vector<std::byte*> reach(std::byte*, std::size_t) override {
    ++together_;
    return {};
  }
  Result<Action> turn(std::size_t, std::size_t, std::size_t, std::byte*, std::size_t, std::byte*, std::size_t,
                      int) override {
    ++together_;
    return Action([] { return Result<void>(); });
  }
  Action fetch(std::size_t, const std::vector<transpose::IndexRange>&,
               const std::vector<transpose::IndexRange>&, const std::byte*, std::byte*) override {
    return [] { return Result<void>(); };
  }
  [[nodiscard]] transpose::Sharing sharing(int threads) const override { return {0, threads}; }
  [[nodiscard]] std::string text() const override { return "one of two"; }

 private:
  static Memory plain(std::size_t bytes) {
    return {static_cast<std::byte*>(std::malloc(bytes + 1)), [](std::byte* at) { std::free(at); }};
  }
  int& together_;
};

TEST(Plans, RankWithoutMemoryForItsRowsLeavesNoOtherWaiting) {
  const Backend broken{"broken", 0,
                       [](const Transform&) -> std::unique_ptr<RowPlan> { throw std::bad_alloc(); }};
  for (const unsigned flags :
       {0U, unsigned(NIGH_FFT_TRANSPOSED_OUT), unsigned(NIGH_FFT_TRANSPOSED_IN), unsigned(NIGH_FFT_REAL)})
    for (const int dimensions : {1, 2, 3}) {
      if (dimensions == 1 && flags == NIGH_FFT_REAL) continue;
      const std::size_t n[3] = {12, 12, 12};
      const auto shape = Shape::make(demand_of(dimensions, n, -1, flags));
      ASSERT_TRUE(shape) << shape.error().message;
      std::vector<std::byte> a(1 << 16), b(1 << 16);
      int counts[2] = {0, 0};
      for (const bool fails : {false, true}) {
        nigh_fft plan(std::make_unique<Counting>(counts[fails ? 1 : 0]), "", 1);
        const auto built = Builder(plan, *shape, {a.data(), a.size(), b.data(), b.size()},
                                   fails ? Local{false, &broken} : Local{})
                               .build();
        ASSERT_EQ(bool(built), !fails);
        if (fails) { EXPECT_NE(built.error().message.find("no memory"), std::string::npos); }
      }
      EXPECT_EQ(counts[0], counts[1]) << dimensions << " dimensions, flags " << flags;
      EXPECT_GT(counts[0], 2);
    }
}

TEST(Plans, FactorIsNextToTheRoot) {
  EXPECT_EQ(nigh_fft_factor(1), 1U);
  EXPECT_EQ(nigh_fft_factor(97), 1U);
  EXPECT_EQ(nigh_fft_factor(36), 6U);
  EXPECT_EQ(nigh_fft_factor(1 << 21), 1024U);
  EXPECT_EQ(nigh_fft_factor(60), 6U);
  EXPECT_EQ(nigh_fft_factor(0), 1U);
  for (std::size_t n = 1; n < 3000; ++n) {
    std::size_t best = 1;
    for (std::size_t i = 1; i * i <= n; ++i)
      if (n % i == 0) best = i;
    EXPECT_EQ(nigh_fft_factor(n), best) << n;
  }
}

// Each takes milliseconds where trying all divisors takes minutes.
TEST(Fft, FactorsOfTheLargestNumbers) {
  constexpr std::size_t p = 4294967291U, q = 4294967279U;  // the largest primes of 32 bits
  EXPECT_EQ(nigh_fft_factor(p * p), p);
  EXPECT_EQ(nigh_fft_factor(p * q), q);
  EXPECT_EQ(nigh_fft_factor((std::size_t{1} << 61) - 1), 1U);  // a prime of Mersenne's
  EXPECT_EQ(nigh_fft_factor(18446744073709551557U), 1U);       // the largest of 64 bits
  EXPECT_EQ(nigh_fft_factor(std::size_t{1} << 63), std::size_t{1} << 31);
  EXPECT_EQ(nigh_fft_factor(SIZE_MAX), 4294967295U);
  EXPECT_EQ(nigh_fft_factor(std::size_t{2} * 9223372036854775783U), 2U);
}

// The value of a negative number in a size_t.
TEST(Fft, RefusesWhatNothingHolds) {
  double a[64] = {}, b[64] = {};
  for (const std::size_t h : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1, std::size_t{1} << 61})
    for (const unsigned flags : {0U, unsigned{NIGH_FFT_REAL}, unsigned{NIGH_FFT_FLOAT}}) {
      const std::size_t shapes[][3] = {{h, 1, 1}, {1, h, 1}, {1, 1, h}, {h, h, h}, {2, 2, h}, {h, 2, 2}};
      for (const auto& n : shapes)
        for (int dimensions = 1; dimensions <= 3; ++dimensions) {
          if (std::find(n, n + dimensions, h) == n + dimensions) continue;
          EXPECT_EQ(nigh_fft_plan(dimensions, n, -1, flags, a, sizeof a, b, SIZE_MAX, 1), nullptr);
          EXPECT_STREQ(nigh_fft_why(), "no address space holds an array of these dimensions");
        }
    }
}

}  // namespace
}  // namespace nigh::fft
