// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Fourier transforms of rows, each of which lies together in memory: what a backend does for us. There is one
// of pocketfft for each instruction set, built in, and one of FFTW, which is GPL and so lies in a library of
// its own that is opened only when it is asked for.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.hpp"

namespace nigh::fft {

// Unnormalised; forward has the sign -1. Real: n reals and the first n/2 + 1 elements of their spectrum.
enum class Kind : std::uint8_t { forward, backward, real_forward, real_backward };
enum class Precision : std::uint8_t { single_precision, double_precision };

[[nodiscard]] constexpr bool is_real(Kind kind) {
  return kind == Kind::real_forward || kind == Kind::real_backward;
}
[[nodiscard]] constexpr std::size_t bytes_of_complex(Precision precision) {
  return precision == Precision::single_precision ? 8 : 16;
}
[[nodiscard]] constexpr std::size_t half(std::size_t n) { return n / 2 + 1; }

struct Transform {
  std::size_t n = 1;
  Kind kind = Kind::forward;
  Precision precision = Precision::double_precision;
  // Bytes of a row before and after.
  [[nodiscard]] std::size_t from_bytes() const {
    const std::size_t element = bytes_of_complex(precision);
    return kind == Kind::real_forward    ? n * element / 2
           : kind == Kind::real_backward ? half(n) * element
                                         : n * element;
  }
  [[nodiscard]] std::size_t to_bytes() const {
    const std::size_t element = bytes_of_complex(precision);
    return kind == Kind::real_forward    ? half(n) * element
           : kind == Kind::real_backward ? n * element / 2
                                         : n * element;
  }
};

// Rows of bytes, each at a multiple of a real's size; strides in bytes. In place: to == from, and the strides
// are the same; else they do not overlap.
struct RowsOf {
  const std::byte* from = nullptr;
  std::size_t from_stride = 0;
  std::byte* to = nullptr;
  std::size_t to_stride = 0;
  std::size_t count = 0;
};

class RowPlan {
 public:
  RowPlan() = default;
  RowPlan(const RowPlan&) = delete;
  RowPlan& operator=(const RowPlan&) = delete;
  virtual ~RowPlan() = default;
  // By any number of threads at once. Throws bad_alloc.
  virtual void run(const RowsOf& rows) const = 0;
};

struct Backend {
  const char* name;          // "pocketfft, AVX2"
  std::size_t vector_bytes;  // rows are done as many at a time as reals fill this
  // Throws; nullptr: it can't.
  std::unique_ptr<RowPlan> (*plan)(const Transform& transform);
};

// The backend of a plan's transforms: lanes.hpp where it can, if `lanes`; else rows, nullptr: by pocketfft.
struct Local {
  bool lanes = true;
  const Backend* rows = nullptr;
};

extern const Backend pocketfft_base;
#ifdef NIGH_FFT_VECTORS
extern const Backend pocketfft_avx2, pocketfft_avx512;
#endif

// The one that suits rows of this length on this CPU.
const Backend& pocketfft_for(const Transform& transform);
// Opens the library of FFTW's; the error says how to get it.
Result<const Backend*> fftw();

}  // namespace nigh::fft
