// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/demand.hpp"

#include <string>

#pragma GCC visibility push(default)
#include <nigh/fft.h>
#pragma GCC visibility pop

namespace nigh::fft {

namespace {
constexpr unsigned known = 63;
constexpr std::int64_t most_dimensions = 8;

Result<void> check(const Demand& d) {
  if (d.dimensions < 1 || d.dimensions > most_dimensions)
    return fail(Errc::invalid, "dimensions is not a number from 1 to 8, or n is NULL");
  if (d.sign != -1 && d.sign != 1)
    return fail(Errc::invalid, "sign is neither NIGH_FFT_FORWARD (-1) nor NIGH_FFT_BACKWARD (1)");
  const auto flags = static_cast<unsigned>(d.flags);
  if ((flags & ~known) != 0) return fail(Errc::invalid, "flags has a bit that means nothing");
  std::uint64_t bytes = 32;  // a complex double, and padding
  for (std::int64_t i = 0; i < d.dimensions; ++i) {
    if (d.n[i] == 0) return fail(Errc::invalid, "n[" + std::to_string(i) + "] is 0");
    std::uint64_t padding = 0;  // of the last dimension of reals in place
    if (__builtin_add_overflow(d.n[i], 1, &padding) || __builtin_mul_overflow(bytes, padding, &bytes) ||
        bytes > (std::uint64_t{1} << 62))
      return fail(Errc::invalid, "no address space holds an array of these dimensions");
  }
  const bool in = (flags & NIGH_FFT_TRANSPOSED_IN) != 0, out = (flags & NIGH_FFT_TRANSPOSED_OUT) != 0;
  if (in && out)
    return fail(Errc::invalid,
                "NIGH_FFT_TRANSPOSED_IN and _OUT are not for one transform: transform the array [rest][n[0]] "
                "as it is");
  if ((flags & NIGH_FFT_REAL) != 0) {
    if (d.dimensions == 1 && d.n[0] % 2 != 0)
      return fail(
          Errc::unsupported,
          "a real transform of one dimension has an even n: give 1 x n, which one rank does alone, or use a "
          "complex one");
    if (d.dimensions == 1 && (in || out))
      return fail(Errc::unsupported, "a real transform of one dimension has its spectrum in order only");
    if (d.sign < 0 ? in : out)
      return fail(Errc::invalid, "the array of reals is not transposed: use the flag of the other side");
  }
  return {};
}
}  // namespace

Demand demand_of(int dimensions, const std::size_t* n, int sign, unsigned flags) {
  Demand d;
  d.dimensions = n == nullptr ? 0 : dimensions;
  for (int i = 0; n != nullptr && i < dimensions && i < most_dimensions; ++i) d.n[i] = n[i];
  d.sign = sign;
  d.flags = flags;
  return d;
}

Result<Shape> Shape::make(const Demand& demand) {
  if (auto fine = check(demand); !fine) return tl::unexpected(fine.error());
  Shape s;
  s.sign_ = static_cast<int>(demand.sign);
  s.flags_ = static_cast<unsigned>(demand.flags);
  s.one_ = demand.dimensions == 1;
  s.n_.assign(demand.n, demand.n + demand.dimensions);
  if (s.one_) {
    // Neighbours among reals are taken as one complex number. What goes back begins as what goes forward
    // ends.
    const std::size_t n = s.real() ? s.n_[0] / 2 : s.n_[0], n1 = factor(n);
    s.n_ = {n1, n / n1};
    if (s.sign_ > 0 && !s.has(NIGH_FFT_TRANSPOSED_IN | NIGH_FFT_TRANSPOSED_OUT)) std::swap(s.n_[0], s.n_[1]);
  }
  s.last_ = s.n_.back();
  if (s.real() && !s.one_) s.n_.back() = half(s.last_);
  for (std::size_t i = 1; i < s.n_.size(); ++i) s.columns_ *= s.n_[i];
  return s;
}

Precision Shape::precision() const {
  return has(NIGH_FFT_FLOAT) ? Precision::single_precision : Precision::double_precision;
}
bool Shape::real() const { return has(NIGH_FFT_REAL); }
std::size_t Shape::row_of_reals(bool in_place) const { return in_place ? 2 * n_.back() : last_; }

RankShare Shape::part(std::size_t rank, std::size_t ranks, bool turned, bool reals, bool in_place) const {
  const transpose::Deal deal = turned ? deal_columns(ranks) : deal_rows(ranks);
  RankShare p{deal.first(rank), deal.count(rank), turned ? rows() : columns(), 0};
  if (reals) p.row = one_ ? 2 * p.row : columns() / n_.back() * row_of_reals(in_place);
  p.bytes = p.rows * p.row * (reals ? element() / 2 : element());
  if (one_ && real() && !reals && rank + 1 == ranks) p.bytes += element();  // n / 2
  return p;
}
RankShare Shape::in(std::size_t rank, std::size_t ranks, bool in_place) const {
  return part(rank, ranks, has(NIGH_FFT_TRANSPOSED_IN) && !one_, real() && forward(), in_place);
}
// The spectrum of one dimension in its own order is the transpose of what the steps give.
RankShare Shape::out(std::size_t rank, std::size_t ranks, bool in_place) const {
  const bool turned = has(NIGH_FFT_TRANSPOSED_OUT) != one_ && !(one_ && has(NIGH_FFT_TRANSPOSED_IN));
  return part(rank, ranks, turned, real() && !forward(), in_place);
}

std::string Shape::text() const {
  std::string out = one_ ? "1" : std::to_string(n_.size());
  out += std::string("-D ") + (real() ? "real" : "complex") + " transform of ";
  if (one_)
    out += std::to_string(rows() * columns() * (real() ? 2 : 1)) + " as " + std::to_string(rows()) + " x " +
           std::to_string(columns());
  for (std::size_t i = 0; i < n_.size() && !one_; ++i)
    out += (i == 0 ? "" : " x ") + std::to_string(i + 1 == n_.size() ? last_ : n_[i]);
  return out + (has(NIGH_FFT_FLOAT) ? " floats, " : " doubles, ") + (forward() ? "forward" : "backward") +
         (has(NIGH_FFT_TRANSPOSED_OUT)  ? ", transposed result"
          : has(NIGH_FFT_TRANSPOSED_IN) ? ", of a transposed array"
                                        : "");
}

}  // namespace nigh::fft
