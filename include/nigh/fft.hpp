// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Fourier transforms for C++20: nigh/fft.h with types, ownership and exceptions, and, if <mpi.h> was included
// before this header, nigh/fft_mpi.h. Headers alone over the C functions, so that any compiler and C++
// library may use them.
//
//     nigh::Fft forward({rows, columns}, NIGH_FFT_FORWARD, a, b);       // spans of std::complex<double>
//     forward();                                                        // as often as you like
//
//     const nigh::FftParts has(comm, {rows, columns}, NIGH_FFT_FORWARD);
//     nigh::RankArray<std::complex<double>> a(has.in.rows * has.in.row, comm), b(has.out.rows * has.out.row,
//     comm); nigh::Fft forward(comm, {rows, columns}, NIGH_FFT_FORWARD, a, b);  // of what all ranks have
#ifndef NIGH_FFT_HPP
#define NIGH_FFT_HPP

#include <nigh/fft.h>
#ifdef MPI_VERSION
#include <nigh/fft_mpi.h>
#include <nigh/transpose.hpp>
#endif

#include <complex>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace nigh {

// Its sentence is nigh_fft_why().
class FftError : public std::runtime_error {
 public:
  FftError() : std::runtime_error(nigh_fft_why()) {}
};

namespace fft_detail {
template <class T>
struct Real {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "elements are float, double, or std::complex of these");
  using type = T;
  static constexpr bool is_complex = false;
};
template <class T>
struct Real<std::complex<T>> : Real<T> {
  static constexpr bool is_complex = true;
};
template <class Array>
using Element = std::remove_cv_t<std::ranges::range_value_t<Array>>;

// The properties of the types of both arrays: float or double, real or complex.
template <class In, class Out>
constexpr unsigned flags_of(int sign) {
  using I = Real<Element<In>>;
  using O = Real<Element<Out>>;
  static_assert(std::is_same_v<typename I::type, typename O::type>, "in and out have the same precision");
  static_assert(I::is_complex || O::is_complex, "one of in and out is complex");
  if (I::is_complex != O::is_complex && (sign < 0) == I::is_complex)
    throw std::invalid_argument("a forward transform is from reals, a backward one to them");
  return (std::is_same_v<typename I::type, float> ? unsigned(NIGH_FFT_FLOAT) : 0U) |
         (I::is_complex && O::is_complex ? 0U : unsigned(NIGH_FFT_REAL));
}
}  // namespace fft_detail

using FftShape = std::vector<std::size_t>;

#ifdef MPI_VERSION
// The part of an array that this rank has.
struct FftParts {
  FftParts(MPI_Comm comm, const FftShape& n, int sign, unsigned flags = 0, bool in_place = false) {
    if (nigh_fft_mpi_share(static_cast<int>(n.size()), n.data(), sign, flags, in_place ? 1 : 0, comm, &in,
                           &out) != 0)
      throw FftError();
  }
  nigh_fft_part in{}, out{};
};
#endif

// A plan. In and Out: contiguous ranges of float, double or complex numbers, such as std::span, std::vector,
// RankArray; they must outlive it. flags beyond what their types say. Errors: FftError.
class Fft {
 public:
  template <class In, class Out>
  Fft(const FftShape& n, int sign, In& in, Out& out, unsigned flags = 0, int threads = 0) {
    own(nigh_fft_plan(static_cast<int>(n.size()), n.data(), sign, flags | fft_detail::flags_of<In, Out>(sign),
                      address(in), bytes(in), address(out), bytes(out), threads));
  }
#ifdef MPI_VERSION
  // Collective; in and out: this rank's parts.
  template <class In, class Out>
  Fft(MPI_Comm comm, const FftShape& n, int sign, In& in, Out& out, unsigned flags = 0, int threads = 0) {
    own(nigh_fft_mpi(static_cast<int>(n.size()), n.data(), sign, flags | fft_detail::flags_of<In, Out>(sign),
                     address(in), bytes(in), address(out), bytes(out), comm, threads));
  }
#endif

  void operator()() {
    if (nigh_fft_execute(plan_.get()) != 0) throw FftError();
  }
  [[nodiscard]] std::string explain() const {
    const int length = nigh_fft_explain(plan_.get(), nullptr, 0);
    if (length < 0) throw FftError();
    std::string text(static_cast<std::size_t>(length), 0);
    nigh_fft_explain(plan_.get(), text.data(), text.size() + 1);
    return text;
  }

 private:
  template <class Array>
  static void* address(Array& array) {
    return const_cast<void*>(static_cast<const void*>(array.data()));
  }
  template <class Array>
  static std::size_t bytes(const Array& array) {
    return array.size() * sizeof(*array.data());
  }
  void own(nigh_fft* plan) {
    if (plan == nullptr) throw FftError();
    plan_.reset(plan);
  }
  std::unique_ptr<nigh_fft, void (*)(nigh_fft*)> plan_{nullptr, nigh_fft_destroy};
};

}  // namespace nigh
#endif
