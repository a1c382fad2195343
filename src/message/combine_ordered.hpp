// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels of the reproducible mode. Floating addition commutes but does not associate, so the operands of
// each element are sorted before they are folded: by magnitude, then sign, which is the order of their bits
// as integers after one rotation. Then it can't matter which member held which operand. Batcher's merge
// exchange (Knuth 5.2.2 M) sorts a block of elements at a time with the same comparisons for all, which the
// compiler turns into vector minima and maxima. A result that is not a number gets one fixed pattern, because
// which operand's payload survives depends on their order.
#pragma once

#include "message/combine_kernels.hpp"

namespace nigh::message {
namespace {

template <class Key>
inline Key rotate_left(Key bits) {
  return static_cast<Key>((bits << 1) | (bits >> (sizeof(Key) * 8 - 1)));
}
template <class Key>
inline Key rotate_right(Key bits) {
  return static_cast<Key>((bits >> 1) | (bits << (sizeof(Key) * 8 - 1)));
}

template <class To, class From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

template <class Exchange>
void merge_exchange(int n, Exchange exchange) {
  int top = 1;
  while (top * 2 < n) top *= 2;
  for (int p = top; p > 0; p /= 2) {
    int q = top, r = 0, d = p;
    for (;;) {
      for (int i = 0; i < n - d; ++i)
        if ((i & p) == r) exchange(i, i + d);
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

template <class T>
inline T settled(T value, T not_a_number) {
  return value != value ? not_a_number : value;  // NOLINT(misc-redundant-expression): NaN alone differs
}

template <class T, class Key, class O>
void ordered(void* const* out, int outs, const void* const* in, int ins, size_t first, size_t last, void*) {
  constexpr int most = 512;  // members; beyond the number of ranks that a space can have on one node
  constexpr size_t room = 8192;
  Key keys[room];
  const T nan = same_bits<T>(static_cast<Key>(sizeof(T) == 4 ? 0x7fc00000u : 0x7ff8000000000000u));
  if (ins > most) ins = most;
  const size_t width = room / static_cast<size_t>(ins) < 64 ? room / static_cast<size_t>(ins) : 64;
  for (; first < last; first += width) {
    const size_t count = last - first < width ? last - first : width;
    for (int k = 0; k < ins; ++k)
      for (size_t i = 0; i < count; ++i)
        keys[static_cast<size_t>(k) * width + i] = rotate_left(load<Key>(in[k], first + i));
    merge_exchange(ins, [&](int low, int high) {
      Key *a = keys + static_cast<size_t>(low) * width, *b = keys + static_cast<size_t>(high) * width;
      NIGH_INDEPENDENT
      for (size_t i = 0; i < count; ++i) {
        const Key x = a[i], y = b[i];
        a[i] = x < y ? x : y;
        b[i] = x < y ? y : x;
      }
    });
    T block[64];
    for (size_t i = 0; i < count; ++i) block[i] = same_bits<T>(rotate_right(keys[i]));
    for (int k = 1; k < ins; ++k)
      for (size_t i = 0; i < count; ++i)
        block[i] = O::of(block[i], same_bits<T>(rotate_right(keys[static_cast<size_t>(k) * width + i])));
    for (size_t i = 0; i < count; ++i) block[i] = settled(block[i], nan);
    write_all(out, outs, block, first, count);
  }
}

// --- elements that are no machine word: one at a time ---

inline unsigned __int128 key_of(long double value) {
  unsigned __int128 bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(value) < 16 ? sizeof(value) : size_t{10});
  const unsigned __int128 sign = bits >> 79 & 1;
  return (bits << 1 & ((static_cast<unsigned __int128>(1) << 80) - 1)) | sign;
}
inline std::uint64_t key_of(double value) { return rotate_left(same_bits<std::uint64_t>(value)); }
inline std::uint32_t key_of(float value) { return rotate_left(same_bits<std::uint32_t>(value)); }

template <class T>
inline bool before(const T& a, const T& b) {
  return key_of(a) < key_of(b);
}
template <class T>
inline bool before(const Complex<T>& a, const Complex<T>& b) {
  return key_of(a.re) != key_of(b.re) ? key_of(a.re) < key_of(b.re) : key_of(a.im) < key_of(b.im);
}
template <class V, class I>
inline bool before(const Pair<V, I>& a, const Pair<V, I>& b) {
  return a.index != b.index ? a.index < b.index : key_of(a.value) < key_of(b.value);
}

inline long double settled(long double value) { return settled(value, __builtin_nanl("")); }
inline double settled(double value) { return settled(value, __builtin_nan("")); }
inline float settled(float value) { return settled(value, __builtin_nanf("")); }
template <class T>
inline Complex<T> settled(Complex<T> value) {
  return {settled(value.re), settled(value.im)};
}
template <class V, class I>
inline Pair<V, I> settled(Pair<V, I> pair) {
  return {settled(pair.value), pair.index};
}

template <class T, class O>
void ordered_singly(void* const* out, int outs, const void* const* in, int ins, size_t first, size_t last,
                    void*) {
  constexpr int most = 512;
  T sorted[most];
  if (ins > most) ins = most;
  for (; first < last; ++first) {
    for (int k = 0; k < ins; ++k) {
      const T value = load<T>(in[k], first);
      int place = k;
      for (; place > 0 && before(value, sorted[place - 1]); --place) sorted[place] = sorted[place - 1];
      sorted[place] = value;
    }
    T result = sorted[0];
    for (int k = 1; k < ins; ++k) result = O::of(result, sorted[k]);
    result = settled(result);
    write_all(out, outs, &result, first, 1);
  }
}

}  // namespace
}  // namespace nigh::message
