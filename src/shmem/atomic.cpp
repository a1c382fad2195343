// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Atomic memory operations: the processor's own, on the word where it lies in the other PE's memory. The
// specification asks for no order beyond the word itself; the non-blocking forms are done at once. A word on
// another node is changed by the PE that holds it, with the same instructions (away.hpp).
#include <nigh/shmem/shmem.h>

#include <bit>
#include <type_traits>

#include "shmem/pe.hpp"

using namespace nigh::shmem;

namespace {

// Floats are swapped and stored as the integers of their size.
template <class T>
using Word = std::conditional_t<std::is_floating_point_v<T>,
                                std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>, T>;

template <class T>
Word<T>* word(const char* function, const T* data, int at) {
  return reinterpret_cast<Word<T>*>(remote(function, data, at));
}
template <class T>
AmoCall far(Amo amo, const T* data, T value = {}, T condition = {}) {
  using Bits = std::make_unsigned_t<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
  return {amo, sizeof(T), data, std::bit_cast<Bits>(value), std::bit_cast<Bits>(condition)};
}
template <class T>
T of_bits(std::uint64_t bits) {
  using Bits = std::make_unsigned_t<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
  return std::bit_cast<T>(static_cast<Bits>(bits));
}
template <class T>
T load(const char* function, const T* data, int at) {
  if (auto* there = word(function, data, at))
    return std::bit_cast<T>(__atomic_load_n(there, __ATOMIC_RELAXED));
  return of_bits<T>(far_amo(function, far(Amo::load, data), at));
}
template <class T>
void store(const char* function, T* data, T value, int at) {
  if (auto* there = word(function, data, at))
    __atomic_store_n(there, std::bit_cast<Word<T>>(value), __ATOMIC_RELAXED);
  else
    far_post(function, far(Amo::store, data, value), at);
}
template <class T>
T swap(const char* function, T* data, T value, int at) {
  if (auto* there = word(function, data, at))
    return std::bit_cast<T>(__atomic_exchange_n(there, std::bit_cast<Word<T>>(value), __ATOMIC_ACQ_REL));
  return of_bits<T>(far_amo(function, far(Amo::swap, data, value), at));
}
// The old value, equal to `cond` when it was replaced.
template <class T>
T compare_swap(const char* function, T* data, T cond, T value, int at) {
  auto* there = word(function, data, at);
  if (!there) return of_bits<T>(far_amo(function, far(Amo::compare_swap, data, value, cond), at));
  __atomic_compare_exchange_n(there, &cond, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return cond;
}

template <Amo How, class T>
T here(T* there, T value) {
  if constexpr (How == Amo::add) return __atomic_fetch_add(there, value, __ATOMIC_ACQ_REL);
  if constexpr (How == Amo::fetch_and) return __atomic_fetch_and(there, value, __ATOMIC_ACQ_REL);
  if constexpr (How == Amo::fetch_or) return __atomic_fetch_or(there, value, __ATOMIC_ACQ_REL);
  if constexpr (How == Amo::fetch_xor) return __atomic_fetch_xor(there, value, __ATOMIC_ACQ_REL);
}
template <Amo How, class T>
T fetch(const char* function, T* data, T value, int at) {
  if (auto* there = word(function, data, at)) return here<How>(there, value);
  return of_bits<T>(far_amo(function, far(How, data, value), at));
}
// Nobody asks for the old value.
template <Amo How, class T>
void change(const char* function, T* data, T value, int at) {
  if (auto* there = word(function, data, at))
    here<How>(there, value);
  else
    far_post(function, far(How, data, value), at);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define NIGH_SHMEM_X(N, T)                                                                           \
  T shmem_##N##_atomic_fetch(const T* s, int at) { return load(__func__, s, at); }                   \
  T shmem_ctx_##N##_atomic_fetch(shmem_ctx_t, const T* s, int at) { return load(__func__, s, at); }  \
  void shmem_##N##_atomic_fetch_nbi(T* f, const T* s, int at) { *f = load(__func__, s, at); }        \
  void shmem_##N##_atomic_set(T* d, T v, int at) { store(__func__, d, v, at); }                      \
  void shmem_ctx_##N##_atomic_set(shmem_ctx_t, T* d, T v, int at) { store(__func__, d, v, at); }     \
  T shmem_##N##_atomic_swap(T* d, T v, int at) { return swap(__func__, d, v, at); }                  \
  T shmem_ctx_##N##_atomic_swap(shmem_ctx_t, T* d, T v, int at) { return swap(__func__, d, v, at); } \
  void shmem_##N##_atomic_swap_nbi(T* f, T* d, T v, int at) { *f = swap(__func__, d, v, at); }       \
  T shmem_##N##_swap(T* d, T v, int at) { return swap(__func__, d, v, at); }                         \
  T shmem_##N##_fetch(const T* s, int at) { return load(__func__, s, at); }                          \
  void shmem_##N##_set(T* d, T v, int at) { store(__func__, d, v, at); }
NIGH_SHMEM_AMO_TYPES(NIGH_SHMEM_X)
NIGH_SHMEM_AMO_FLOATS(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_X(N, T)                                                                                  \
  T shmem_##N##_atomic_compare_swap(T* d, T c, T v, int at) { return compare_swap(__func__, d, c, v, at); } \
  T shmem_ctx_##N##_atomic_compare_swap(shmem_ctx_t, T* d, T c, T v, int at) {                              \
    return compare_swap(__func__, d, c, v, at);                                                             \
  }                                                                                                         \
  void shmem_##N##_atomic_compare_swap_nbi(T* f, T* d, T c, T v, int at) {                                  \
    *f = compare_swap(__func__, d, c, v, at);                                                               \
  }                                                                                                         \
  void shmem_##N##_atomic_add(T* d, T v, int at) { change<Amo::add>(__func__, d, v, at); }                  \
  void shmem_ctx_##N##_atomic_add(shmem_ctx_t, T* d, T v, int at) { change<Amo::add>(__func__, d, v, at); } \
  T shmem_##N##_atomic_fetch_add(T* d, T v, int at) { return fetch<Amo::add>(__func__, d, v, at); }         \
  T shmem_ctx_##N##_atomic_fetch_add(shmem_ctx_t, T* d, T v, int at) {                                      \
    return fetch<Amo::add>(__func__, d, v, at);                                                             \
  }                                                                                                         \
  void shmem_##N##_atomic_fetch_add_nbi(T* f, T* d, T v, int at) {                                          \
    *f = fetch<Amo::add>(__func__, d, v, at);                                                               \
  }                                                                                                         \
  void shmem_##N##_atomic_inc(T* d, int at) { change<Amo::add>(__func__, d, static_cast<T>(1), at); }       \
  void shmem_ctx_##N##_atomic_inc(shmem_ctx_t, T* d, int at) {                                              \
    change<Amo::add>(__func__, d, static_cast<T>(1), at);                                                   \
  }                                                                                                         \
  T shmem_##N##_atomic_fetch_inc(T* d, int at) {                                                            \
    return fetch<Amo::add>(__func__, d, static_cast<T>(1), at);                                             \
  }                                                                                                         \
  T shmem_ctx_##N##_atomic_fetch_inc(shmem_ctx_t, T* d, int at) {                                           \
    return fetch<Amo::add>(__func__, d, static_cast<T>(1), at);                                             \
  }                                                                                                         \
  void shmem_##N##_atomic_fetch_inc_nbi(T* f, T* d, int at) {                                               \
    *f = fetch<Amo::add>(__func__, d, static_cast<T>(1), at);                                               \
  }                                                                                                         \
  T shmem_##N##_cswap(T* d, T c, T v, int at) { return compare_swap(__func__, d, c, v, at); }               \
  T shmem_##N##_fadd(T* d, T v, int at) { return fetch<Amo::add>(__func__, d, v, at); }                     \
  T shmem_##N##_finc(T* d, int at) { return fetch<Amo::add>(__func__, d, static_cast<T>(1), at); }          \
  void shmem_##N##_add(T* d, T v, int at) { change<Amo::add>(__func__, d, v, at); }                         \
  void shmem_##N##_inc(T* d, int at) { change<Amo::add>(__func__, d, static_cast<T>(1), at); }
NIGH_SHMEM_AMO_TYPES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_OP(N, T, OP)                                                                             \
  void shmem_##N##_atomic_##OP(T* d, T v, int at) { change<Amo::fetch_##OP>(__func__, d, v, at); }          \
  void shmem_ctx_##N##_atomic_##OP(shmem_ctx_t, T* d, T v, int at) {                                        \
    change<Amo::fetch_##OP>(__func__, d, v, at);                                                            \
  }                                                                                                         \
  T shmem_##N##_atomic_fetch_##OP(T* d, T v, int at) { return fetch<Amo::fetch_##OP>(__func__, d, v, at); } \
  T shmem_ctx_##N##_atomic_fetch_##OP(shmem_ctx_t, T* d, T v, int at) {                                     \
    return fetch<Amo::fetch_##OP>(__func__, d, v, at);                                                      \
  }                                                                                                         \
  void shmem_##N##_atomic_fetch_##OP##_nbi(T* f, T* d, T v, int at) {                                       \
    *f = fetch<Amo::fetch_##OP>(__func__, d, v, at);                                                        \
  }
// `and`, `or` and `xor` are also words of C++ itself: the names must be pasted, never expanded.
#define NIGH_SHMEM_X(N, T) NIGH_SHMEM_OP(N, T, and) NIGH_SHMEM_OP(N, T, or) NIGH_SHMEM_OP(N, T, xor)
NIGH_SHMEM_AMO_BITS(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#undef NIGH_SHMEM_OP
// NOLINTEND(bugprone-macro-parentheses)
