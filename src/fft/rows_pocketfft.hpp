// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// pocketfft's transforms of several rows at once, one in each lane of a vector; what is left is done row by
// row. Included once for each instruction set, by a file that has named pocketfft's namespace and this one
// (NIGH_FFT_SET) after it: the same templates compiled for several sets must not be taken for each other by
// the linker.
#pragma once

#ifndef NIGH_FFT_SET
#define NIGH_FFT_SET base
#endif

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "fft/rows.hpp"
#include "fft/workspace.hpp"
// Its scratch is taken for each group of rows.
#define malloc(bytes) ::nigh::fft::get_workspace(bytes)
#define free(memory) ::nigh::fft::give_workspace(memory)
#include <pocketfft/pocketfft_hdronly.h>
#undef malloc
#undef free

namespace nigh::fft::NIGH_FFT_SET {

namespace pocket = pocketfft::detail;

template <class T>
class Plan final : public RowPlan {
  static constexpr std::size_t lanes = pocket::VLEN<T>::val;
  using Vector = pocket::vtype_t<T>;
  template <class V>
  using Complex = pocket::cmplx<V>;

 public:
  explicit Plan(const Transform& transform) : transform_(transform) {
    if (is_real(transform.kind)) {
      real_ = std::make_unique<pocket::pocketfft_r<T>>(transform.n);
    } else {
      complex_ = std::make_unique<pocket::pocketfft_c<T>>(transform.n);
    }
  }

  void run(const RowsOf& rows) const override {
    const std::size_t n = transform_.n;
    // Two reals more than rows have: the imaginary parts of the first and, if n is even, the last.
    pocket::arr<Vector> buffer(2 * n + 2);
    std::size_t i = 0;
    if constexpr (lanes > 1) {
      for (; i + lanes <= rows.count; i += lanes) together<Vector, lanes>(rows, i, buffer.data());
    }
    for (; i < rows.count; ++i) together<T, 1>(rows, i, reinterpret_cast<T*>(buffer.data()));
  }

 private:
  static const T* row(const RowsOf& rows, std::size_t i) {
    return reinterpret_cast<const T*>(rows.from + i * rows.from_stride);
  }
  static T* out(const RowsOf& rows, std::size_t i) {
    return reinterpret_cast<T*>(rows.to + i * rows.to_stride);
  }
  template <class V>
  static T& lane(V& value, [[maybe_unused]] std::size_t k) {
    if constexpr (std::is_same_v<V, T>) {
      return value;
    } else {
      return reinterpret_cast<T*>(&value)[k];
    }
  }

  template <class V, std::size_t count>
  void together(const RowsOf& rows, std::size_t i, V* buffer) const {
    if (transform_.kind == Kind::real_forward) {
      real_forward<V, count>(rows, i, buffer);
    } else if (transform_.kind == Kind::real_backward) {
      real_backward<V, count>(rows, i, buffer);
    } else {
      complex<V, count>(rows, i, buffer);
    }
  }

  // A square of as many rows as a vector has lanes, turned within the registers: with each step blocks twice
  // as large change places.
  template <std::size_t apart, std::size_t... k>
  static Vector low(Vector a, Vector b, std::index_sequence<k...>) {
    return __builtin_shufflevector(a, b, ((k & apart) == 0 ? int(k) : int(lanes + k - apart))...);
  }
  template <std::size_t apart, std::size_t... k>
  static Vector high(Vector a, Vector b, std::index_sequence<k...>) {
    return __builtin_shufflevector(a, b, ((k & apart) == 0 ? int(k + apart) : int(lanes + k))...);
  }
  template <std::size_t apart>
  static void turn(Vector* v) {
    if constexpr (apart < lanes) {
      constexpr std::make_index_sequence<lanes> all{};
      for (std::size_t i = 0; i < lanes; ++i) {
        if ((i & apart) != 0) continue;
        const Vector a = v[i], b = v[i + apart];
        v[i] = low<apart>(a, b, all);
        v[i + apart] = high<apart>(a, b, all);
      }
      turn<2 * apart>(v);
    }
  }

  template <class V, std::size_t count>
  static void load(const RowsOf& rows, std::size_t i, std::size_t reals, V* buffer) {
    const T* from[count];
    for (std::size_t k = 0; k < count; ++k) from[k] = row(rows, i + k);
    std::size_t j = 0;
    if constexpr (count > 1) {
      for (; j + count <= reals; j += count) {
        Vector v[count];
        for (std::size_t k = 0; k < count; ++k) std::memcpy(&v[k], from[k] + j, sizeof(Vector));
        turn<1>(v);
        for (std::size_t k = 0; k < count; ++k) buffer[j + k] = v[k];
      }
    }
    for (; j < reals; ++j)
      for (std::size_t k = 0; k < count; ++k) lane(buffer[j], k) = from[k][j];
  }
  template <class V, std::size_t count>
  static void store(const RowsOf& rows, std::size_t i, std::size_t reals, V* buffer) {
    T* to[count];
    for (std::size_t k = 0; k < count; ++k) to[k] = out(rows, i + k);
    std::size_t j = 0;
    if constexpr (count > 1) {
      for (; j + count <= reals; j += count) {
        Vector v[count];
        for (std::size_t k = 0; k < count; ++k) v[k] = buffer[j + k];
        turn<1>(v);
        for (std::size_t k = 0; k < count; ++k) std::memcpy(to[k] + j, &v[k], sizeof(Vector));
      }
    }
    for (; j < reals; ++j)
      for (std::size_t k = 0; k < count; ++k) to[k][j] = lane(buffer[j], k);
  }

  template <class V, std::size_t count>
  void complex(const RowsOf& rows, std::size_t i, V* buffer) const {
    const std::size_t n = transform_.n;
    load<V, count>(rows, i, 2 * n, buffer);
    complex_->exec(reinterpret_cast<Complex<V>*>(buffer), T(1), transform_.kind == Kind::forward);
    store<V, count>(rows, i, 2 * n, buffer);
  }

  // pocketfft has r0 r1 i1 r2 i2 ..., we r0 i0 r1 i1 ...: the same from r1 on.
  template <class V, std::size_t count>
  void real_forward(const RowsOf& rows, std::size_t i, V* buffer) const {
    const std::size_t n = transform_.n;
    load<V, count>(rows, i, n, buffer + 1);
    real_->exec(buffer + 1, T(1), true);
    buffer[0] = buffer[1];
    buffer[1] = V{};
    if (n % 2 == 0) buffer[n + 1] = V{};
    store<V, count>(rows, i, 2 * half(n), buffer);
  }
  template <class V, std::size_t count>
  void real_backward(const RowsOf& rows, std::size_t i, V* buffer) const {
    const std::size_t n = transform_.n;
    load<V, count>(rows, i, 2 * half(n), buffer);
    buffer[1] = buffer[0];
    real_->exec(buffer + 1, T(1), false);
    store<V, count>(rows, i, n, buffer + 1);
  }

  Transform transform_;
  std::unique_ptr<pocket::pocketfft_c<T>> complex_;
  std::unique_ptr<pocket::pocketfft_r<T>> real_;
};

inline std::unique_ptr<RowPlan> plan(const Transform& transform) {
  if (transform.precision == Precision::single_precision) return std::make_unique<Plan<float>>(transform);
  return std::make_unique<Plan<double>>(transform);
}

}  // namespace nigh::fft::NIGH_FFT_SET
