// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets. On the node all of them are done when they return, the non-blocking ones too: there is
// nothing that could do a copy in the meantime but this very core. What is left for fence and quiet is the
// order in which other cores see it, which the strided, signalling and large copies (streaming stores) need
// as well. Between nodes the transport does them, and quiet waits for it.
#include <nigh/shmem/shmem.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "message/layout.hpp"
#include "shmem/pe.hpp"

using namespace nigh::shmem;

namespace {

// Below this memcpy's own choice is best; above it the measured thresholds of copy_bytes decide.
constexpr std::size_t small = 1024;

void move(void* to, const void* from, std::size_t bytes) {
  if (bytes <= small)
    std::memcpy(to, from, bytes);
  else
    nigh::message::copy_bytes(to, from, bytes);
}

void put(const char* function, void* dest, const void* source, std::size_t bytes, int to,
         bool blocking = true) {
  if (bytes == 0) return;
  if (std::byte* at = remote(function, dest, to))
    move(at, source, bytes);
  else
    far_put(function, dest, source, bytes, to, blocking);
}

void get(const char* function, void* dest, const void* source, std::size_t bytes, int from,
         bool blocking = true) {
  if (bytes == 0) return;
  if (const std::byte* at = remote(function, source, from))
    move(dest, at, bytes);
  else
    far_get(function, dest, source, bytes, from, blocking);
}

template <class T>
void put_one(const char* function, T* dest, T value, int to) {
  if (std::byte* at = remote(function, dest, to))
    *reinterpret_cast<volatile T*>(at) = value;
  else
    far_put(function, dest, &value, sizeof value, to);
}

template <class T>
T get_one(const char* function, const T* source, int from) {
  if (std::byte* at = remote(function, source, from)) return *reinterpret_cast<volatile T*>(at);
  T value;
  far_get(function, &value, source, sizeof value, from);
  return value;
}

template <std::size_t Bytes>
void strided(std::byte* to, const std::byte* from, std::ptrdiff_t to_step, std::ptrdiff_t from_step,
             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to, from, Bytes);
    to += to_step * static_cast<std::ptrdiff_t>(Bytes);
    from += from_step * static_cast<std::ptrdiff_t>(Bytes);
  }
}

// The transport takes what an int counts at a time.
template <class Some>
void far_strided(const char* function, const void* at, std::ptrdiff_t step, Away::Steps steps, Some&& some) {
  const std::size_t n = steps.count;
  far_check(function, at, steps.element);
  far_check(function, static_cast<const std::byte*>(at) + static_cast<std::ptrdiff_t>(n - 1) * step,
            steps.element);
  for (std::size_t done = 0; done < n; done += steps.count) {
    steps.count = std::min<std::size_t>(n - done, std::size_t{1} << 20);
    some(static_cast<std::ptrdiff_t>(done), steps);
  }
}

template <std::size_t Bytes>
void iput(const char* function, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
          std::size_t n, int to) {
  if (n == 0) return;
  const auto* from = static_cast<const std::byte*>(source);
  if (std::byte* at = remote(function, dest, to)) return strided<Bytes>(at, from, dst, sst, n);
  constexpr auto each = static_cast<std::ptrdiff_t>(Bytes);
  far_strided(function, dest, dst * each, {Bytes, n, dst * each, sst * each},
              [&](std::ptrdiff_t first, const Away::Steps& steps) {
                pe->away->put_strided(to, static_cast<std::byte*>(dest) + first * steps.dest,
                                      from + first * steps.source, steps);
              });
}

template <std::size_t Bytes>
void iget(const char* function, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
          std::size_t n, int from) {
  if (n == 0) return;
  auto* to = static_cast<std::byte*>(dest);
  if (const std::byte* at = remote(function, source, from)) return strided<Bytes>(to, at, dst, sst, n);
  constexpr auto each = static_cast<std::ptrdiff_t>(Bytes);
  far_strided(function, source, sst * each, {Bytes, n, dst * each, sst * each},
              [&](std::ptrdiff_t first, const Away::Steps& steps) {
                pe->away->get_strided(from, to + first * steps.dest,
                                      static_cast<const std::byte*>(source) + first * steps.source, steps);
              });
}

void signal(const char* function, std::uint64_t* address, std::uint64_t value, int op, int to) {
  auto* word = reinterpret_cast<std::uint64_t*>(remote(function, address, to));
  if (!word) {
    pe->away->quiet_of(to);
    return far_post(
        function, {.amo = op == SHMEM_SIGNAL_ADD ? Amo::add : Amo::store, .at = address, .value = value}, to);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // streaming stores first
  if (op == SHMEM_SIGNAL_ADD)
    __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define NIGH_SHMEM_X(N, T)                                                                                   \
  void shmem_##N##_put(T* d, const T* s, size_t n, int to) { put(__func__, d, s, n * sizeof(T), to); }       \
  void shmem_ctx_##N##_put(shmem_ctx_t, T* d, const T* s, size_t n, int to) {                                \
    put(__func__, d, s, n * sizeof(T), to);                                                                  \
  }                                                                                                          \
  void shmem_##N##_put_nbi(T* d, const T* s, size_t n, int to) {                                             \
    put(__func__, d, s, n * sizeof(T), to, false);                                                           \
  }                                                                                                          \
  void shmem_ctx_##N##_put_nbi(shmem_ctx_t, T* d, const T* s, size_t n, int to) {                            \
    put(__func__, d, s, n * sizeof(T), to, false);                                                           \
  }                                                                                                          \
  void shmem_##N##_get(T* d, const T* s, size_t n, int from) { get(__func__, d, s, n * sizeof(T), from); }   \
  void shmem_ctx_##N##_get(shmem_ctx_t, T* d, const T* s, size_t n, int from) {                              \
    get(__func__, d, s, n * sizeof(T), from);                                                                \
  }                                                                                                          \
  void shmem_##N##_get_nbi(T* d, const T* s, size_t n, int from) {                                           \
    get(__func__, d, s, n * sizeof(T), from, false);                                                         \
  }                                                                                                          \
  void shmem_ctx_##N##_get_nbi(shmem_ctx_t, T* d, const T* s, size_t n, int from) {                          \
    get(__func__, d, s, n * sizeof(T), from, false);                                                         \
  }                                                                                                          \
  void shmem_##N##_p(T* d, T value, int to) { put_one(__func__, d, value, to); }                             \
  void shmem_ctx_##N##_p(shmem_ctx_t, T* d, T value, int to) { shmem_##N##_p(d, value, to); }                \
  T shmem_##N##_g(const T* s, int from) { return get_one(__func__, s, from); }                               \
  T shmem_ctx_##N##_g(shmem_ctx_t, const T* s, int from) { return shmem_##N##_g(s, from); }                  \
  void shmem_##N##_iput(T* d, const T* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int to) {                  \
    iput<sizeof(T)>(__func__, d, s, dst, sst, n, to);                                                        \
  }                                                                                                          \
  void shmem_ctx_##N##_iput(shmem_ctx_t, T* d, const T* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int to) { \
    iput<sizeof(T)>(__func__, d, s, dst, sst, n, to);                                                        \
  }                                                                                                          \
  void shmem_##N##_iget(T* d, const T* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int from) {                \
    iget<sizeof(T)>(__func__, d, s, dst, sst, n, from);                                                      \
  }                                                                                                          \
  void shmem_ctx_##N##_iget(shmem_ctx_t, T* d, const T* s, ptrdiff_t dst, ptrdiff_t sst, size_t n,           \
                            int from) {                                                                      \
    iget<sizeof(T)>(__func__, d, s, dst, sst, n, from);                                                      \
  }                                                                                                          \
  void shmem_##N##_put_signal(T* d, const T* s, size_t n, uint64_t* a, uint64_t v, int op, int to) {         \
    put(__func__, d, s, n * sizeof(T), to);                                                                  \
    signal(__func__, a, v, op, to);                                                                          \
  }                                                                                                          \
  void shmem_ctx_##N##_put_signal(shmem_ctx_t, T* d, const T* s, size_t n, uint64_t* a, uint64_t v, int op,  \
                                  int to) {                                                                  \
    shmem_##N##_put_signal(d, s, n, a, v, op, to);                                                           \
  }                                                                                                          \
  void shmem_##N##_put_signal_nbi(T* d, const T* s, size_t n, uint64_t* a, uint64_t v, int op, int to) {     \
    shmem_##N##_put_signal(d, s, n, a, v, op, to);                                                           \
  }                                                                                                          \
  void shmem_ctx_##N##_put_signal_nbi(shmem_ctx_t, T* d, const T* s, size_t n, uint64_t* a, uint64_t v,      \
                                      int op, int to) {                                                      \
    shmem_##N##_put_signal(d, s, n, a, v, op, to);                                                           \
  }
NIGH_SHMEM_RMA_TYPES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_X(BITS, BYTES)                                                                            \
  void shmem_put##BITS(void* d, const void* s, size_t n, int to) { put(__func__, d, s, n* BYTES, to); }      \
  void shmem_ctx_put##BITS(shmem_ctx_t, void* d, const void* s, size_t n, int to) {                          \
    put(__func__, d, s, n* BYTES, to);                                                                       \
  }                                                                                                          \
  void shmem_put##BITS##_nbi(void* d, const void* s, size_t n, int to) {                                     \
    put(__func__, d, s, n* BYTES, to, false);                                                                \
  }                                                                                                          \
  void shmem_ctx_put##BITS##_nbi(shmem_ctx_t, void* d, const void* s, size_t n, int to) {                    \
    put(__func__, d, s, n* BYTES, to, false);                                                                \
  }                                                                                                          \
  void shmem_get##BITS(void* d, const void* s, size_t n, int from) { get(__func__, d, s, n* BYTES, from); }  \
  void shmem_ctx_get##BITS(shmem_ctx_t, void* d, const void* s, size_t n, int from) {                        \
    get(__func__, d, s, n* BYTES, from);                                                                     \
  }                                                                                                          \
  void shmem_get##BITS##_nbi(void* d, const void* s, size_t n, int from) {                                   \
    get(__func__, d, s, n* BYTES, from, false);                                                              \
  }                                                                                                          \
  void shmem_ctx_get##BITS##_nbi(shmem_ctx_t, void* d, const void* s, size_t n, int from) {                  \
    get(__func__, d, s, n* BYTES, from, false);                                                              \
  }                                                                                                          \
  void shmem_iput##BITS(void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int to) {            \
    iput<BYTES>(__func__, d, s, dst, sst, n, to);                                                            \
  }                                                                                                          \
  void shmem_ctx_iput##BITS(shmem_ctx_t, void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n,     \
                            int to) {                                                                        \
    iput<BYTES>(__func__, d, s, dst, sst, n, to);                                                            \
  }                                                                                                          \
  void shmem_iget##BITS(void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int from) {          \
    iget<BYTES>(__func__, d, s, dst, sst, n, from);                                                          \
  }                                                                                                          \
  void shmem_ctx_iget##BITS(shmem_ctx_t, void* d, const void* s, ptrdiff_t dst, ptrdiff_t sst, size_t n,     \
                            int from) {                                                                      \
    iget<BYTES>(__func__, d, s, dst, sst, n, from);                                                          \
  }                                                                                                          \
  void shmem_put##BITS##_signal(void* d, const void* s, size_t n, uint64_t* a, uint64_t v, int op, int to) { \
    put(__func__, d, s, n* BYTES, to);                                                                       \
    signal(__func__, a, v, op, to);                                                                          \
  }                                                                                                          \
  void shmem_put##BITS##_signal_nbi(void* d, const void* s, size_t n, uint64_t* a, uint64_t v, int op,       \
                                    int to) {                                                                \
    shmem_put##BITS##_signal(d, s, n, a, v, op, to);                                                         \
  }
NIGH_SHMEM_SIZES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
// NOLINTEND(bugprone-macro-parentheses)

void shmem_putmem(void* d, const void* s, size_t n, int to) { put(__func__, d, s, n, to); }
void shmem_ctx_putmem(shmem_ctx_t, void* d, const void* s, size_t n, int to) { put(__func__, d, s, n, to); }
void shmem_putmem_nbi(void* d, const void* s, size_t n, int to) { put(__func__, d, s, n, to, false); }
void shmem_ctx_putmem_nbi(shmem_ctx_t, void* d, const void* s, size_t n, int to) {
  put(__func__, d, s, n, to, false);
}
void shmem_getmem(void* d, const void* s, size_t n, int from) { get(__func__, d, s, n, from); }
void shmem_ctx_getmem(shmem_ctx_t, void* d, const void* s, size_t n, int from) {
  get(__func__, d, s, n, from);
}
void shmem_getmem_nbi(void* d, const void* s, size_t n, int from) { get(__func__, d, s, n, from, false); }
void shmem_ctx_getmem_nbi(shmem_ctx_t, void* d, const void* s, size_t n, int from) {
  get(__func__, d, s, n, from, false);
}
void shmem_putmem_signal(void* d, const void* s, size_t n, uint64_t* a, uint64_t v, int op, int to) {
  put(__func__, d, s, n, to);
  signal(__func__, a, v, op, to);
}
void shmem_putmem_signal_nbi(void* d, const void* s, size_t n, uint64_t* a, uint64_t v, int op, int to) {
  shmem_putmem_signal(d, s, n, a, v, op, to);
}
uint64_t shmem_signal_fetch(const uint64_t* address) {
  serve();
  return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}

// The order between two PEs on other nodes is that of completion: fence and quiet are one.
void shmem_quiet(void) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (pe && pe->away && !pe->finalized) pe->away->quiet();
}
void shmem_ctx_quiet(shmem_ctx_t) { shmem_quiet(); }
void shmem_fence(void) { shmem_quiet(); }
void shmem_ctx_fence(shmem_ctx_t) { shmem_quiet(); }
