// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels, to be included by one source file for each instruction set. Everything is in an unnamed
// namespace and uses no inline function of the standard library: a copy compiled for AVX-512 that the linker
// merges with another's would stop an older machine. Elements are read and written by memcpy, since users'
// buffers may have any alignment and type. One pass over memory for two to four operands; more are combined
// in a block that stays in the first-level cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/combine.hpp"

#if defined(__clang__)
#define NIGH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define NIGH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace nigh::message {
namespace {

using std::size_t;

template <class T>
inline T load(const void* data, size_t i) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
  return value;
}
template <class T>
inline void store(void* data, size_t i, T value) {
  __builtin_memcpy(static_cast<char*>(data) + i * sizeof(T), &value, sizeof(T));
}

// --- operations on one element ---

struct Sum {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <class T>
  static T of(T a, T b) {
    if constexpr (sizeof(T) < sizeof(unsigned) &&
                  T(1.5) == T(1))  // small integers promote to int: no overflow
      return static_cast<T>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    else
      return static_cast<T>(a * b);
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct Land {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct Lor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct Lxor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};
struct Band {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

template <class T>
struct Complex {
  T re, im;
};
struct ComplexProd {
  template <class T>
  static Complex<T> of(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// MPI's pairs: the compiler's own layout. Of equal values the lower index wins.
template <class V, class I>
struct Pair {
  V value;
  I index;
};
struct MinLoc {
  template <class P>
  static P of(P a, P b) {
    if (a.value < b.value) return a;
    if (b.value < a.value) return b;
    return b.index < a.index ? b : a;
  }
};
struct MaxLoc {
  template <class P>
  static P of(P a, P b) {
    if (b.value < a.value) return a;
    if (a.value < b.value) return b;
    return b.index < a.index ? b : a;
  }
};

// --- loops ---

template <class T, class O>
void two(void* const* out, int outs, const void* const* in, size_t first, size_t last) {
  const void *a = in[0], *b = in[1];
  void* x = out[0];
  if (outs == 1) {
    NIGH_INDEPENDENT
    for (size_t i = first; i < last; ++i) store<T>(x, i, O::of(load<T>(a, i), load<T>(b, i)));
    return;
  }
  void* y = out[1];
  NIGH_INDEPENDENT
  for (size_t i = first; i < last; ++i) {
    const T value = O::of(load<T>(a, i), load<T>(b, i));
    store<T>(x, i, value);
    store<T>(y, i, value);
  }
}

template <class T, class O>
void three(void* x, const void* const* in, size_t first, size_t last) {
  const void *a = in[0], *b = in[1], *c = in[2];
  NIGH_INDEPENDENT
  for (size_t i = first; i < last; ++i)
    store<T>(x, i, O::of(O::of(load<T>(a, i), load<T>(b, i)), load<T>(c, i)));
}

template <class T, class O>
void four(void* x, const void* const* in, size_t first, size_t last) {
  const void *a = in[0], *b = in[1], *c = in[2], *d = in[3];
  NIGH_INDEPENDENT
  for (size_t i = first; i < last; ++i)
    store<T>(x, i, O::of(O::of(O::of(load<T>(a, i), load<T>(b, i)), load<T>(c, i)), load<T>(d, i)));
}

inline constexpr size_t block_bytes = 4096;

template <class T>
void write_all(void* const* out, int outs, const T* block, size_t first, size_t count) {
  for (int o = 0; o < outs; ++o)
    __builtin_memcpy(static_cast<char*>(out[o]) + first * sizeof(T), block, count * sizeof(T));
}

template <class T, class O>
void many(void* const* out, int outs, const void* const* in, int ins, size_t first, size_t last) {
  constexpr size_t width = block_bytes / sizeof(T);
  T block[width];
  for (; first < last; first += width) {
    const size_t count = last - first < width ? last - first : width;
    __builtin_memcpy(block, static_cast<const char*>(in[0]) + first * sizeof(T), count * sizeof(T));
    for (int k = 1; k < ins; ++k) {
      const void* next = in[k];
      NIGH_INDEPENDENT
      for (size_t i = 0; i < count; ++i) block[i] = O::of(block[i], load<T>(next, first + i));
    }
    write_all(out, outs, block, first, count);
  }
}

template <class T, class O>
void combine(void* const* out, int outs, const void* const* in, int ins, size_t first, size_t last, void*) {
  if (ins == 2 && outs <= 2) return two<T, O>(out, outs, in, first, last);
  if (ins == 3 && outs == 1) return three<T, O>(out[0], in, first, last);
  if (ins == 4 && outs == 1) return four<T, O>(out[0], in, first, last);
  many<T, O>(out, outs, in, ins, first, last);
}

// A sum of complex numbers is one of twice as many real ones.
template <class T, CombineKernel kernel>
void by_parts(void* const* out, int outs, const void* const* in, int ins, size_t first, size_t last,
              void* user) {
  kernel(out, outs, in, ins, 2 * first, 2 * last, user);
}

}  // namespace
}  // namespace nigh::message
