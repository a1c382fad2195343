// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for a variable that another PE writes, and locks. Whoever puts a value does not know that somebody
// waits for it, so nobody rings: the waiter spins, yields, and then sleeps for short times. A lock is one
// word on PE 0: 0, or the holder's number plus one; a waiter that finds the holder dead takes the lock over,
// so that a killed PE stops nobody for good.
#include <nigh/shmem/shmem.h>

#include <cstdio>
#include <limits>

#include "shmem/pe.hpp"

using namespace nigh::shmem;

namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();  // SIZE_MAX, as the specification says

template <class T>
bool holds(const T* variable, int cmp, T value) {
  T now = __atomic_load_n(variable, __ATOMIC_ACQUIRE);
  switch (cmp) {
    case SHMEM_CMP_EQ: return now == value;
    case SHMEM_CMP_NE: return now != value;
    case SHMEM_CMP_GT: return now > value;
    case SHMEM_CMP_LE: return now <= value;
    case SHMEM_CMP_LT: return now < value;
    case SHMEM_CMP_GE: return now >= value;
    default: stop("shmem_wait_until", "the comparison is none of SHMEM_CMP_*");
  }
}

// `values`: one each, or `value` for all when null. Entries whose status is not 0 are left out.
template <class T>
struct Set {
  const T* variables;
  std::size_t count;
  const int* status;
  int cmp;
  const T* values;
  T value;
  [[nodiscard]] bool counts(std::size_t i) const { return !status || status[i] == 0; }
  [[nodiscard]] bool is(std::size_t i) const { return holds(variables + i, cmp, values ? values[i] : value); }
  [[nodiscard]] bool empty() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i)) return false;
    return true;
  }
  [[nodiscard]] bool all() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && !is(i)) return false;
    return true;
  }
  [[nodiscard]] std::size_t any() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && is(i)) return i;
    return none;
  }
  std::size_t some(std::size_t* indices) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && is(i)) indices[found++] = i;
    return found;
  }
};

template <class Ready>
void until(const char* function, Ready&& ready) {
  self(function).waiter->until(ready);
}

// Once, for the forms that do not wait: a program that calls them in a loop waits all the same.
template <class T>
Set<T> look(const Set<T>& set) {
  serve();
  return set;
}

template <class T>
std::size_t wait_any(const char* function, const Set<T>& set) {
  if (set.empty()) return none;
  std::size_t found = none;
  until(function, [&] { return (found = set.any()) != none; });
  return found;
}

template <class T>
std::size_t wait_some(const char* function, const Set<T>& set, std::size_t* indices) {
  if (set.empty()) return 0;
  std::size_t found = 0;
  until(function, [&] { return (found = set.some(indices)) != 0; });
  return found;
}

}  // namespace

uint64_t shmem_signal_wait_until(uint64_t* address, int cmp, uint64_t value) {
  until(__func__, [&] { return holds(address, cmp, value); });
  return shmem_signal_fetch(address);
}

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define NIGH_SHMEM_X(N, T)                                                                                   \
  void shmem_##N##_wait_until(T* v, int cmp, T value) {                                                      \
    until(__func__, [&] { return holds(v, cmp, value); });                                                   \
  }                                                                                                          \
  int shmem_##N##_test(T* v, int cmp, T value) {                                                             \
    serve();                                                                                                 \
    return holds(v, cmp, value);                                                                             \
  }                                                                                                          \
  void shmem_##N##_wait_until_all(T* v, size_t n, const int* status, int cmp, T value) {                     \
    Set<T> set = {v, n, status, cmp, nullptr, value};                                                        \
    until(__func__, [&] { return set.all(); });                                                              \
  }                                                                                                          \
  size_t shmem_##N##_wait_until_any(T* v, size_t n, const int* status, int cmp, T value) {                   \
    return wait_any<T>(__func__, {v, n, status, cmp, nullptr, value});                                       \
  }                                                                                                          \
  size_t shmem_##N##_wait_until_some(T* v, size_t n, size_t* indices, const int* status, int cmp, T value) { \
    return wait_some<T>(__func__, {v, n, status, cmp, nullptr, value}, indices);                             \
  }                                                                                                          \
  void shmem_##N##_wait_until_all_vector(T* v, size_t n, const int* status, int cmp, T* values) {            \
    Set<T> set = {v, n, status, cmp, values, static_cast<T>(0)};                                             \
    until(__func__, [&] { return set.all(); });                                                              \
  }                                                                                                          \
  size_t shmem_##N##_wait_until_any_vector(T* v, size_t n, const int* status, int cmp, T* values) {          \
    return wait_any<T>(__func__, {v, n, status, cmp, values, static_cast<T>(0)});                            \
  }                                                                                                          \
  size_t shmem_##N##_wait_until_some_vector(T* v, size_t n, size_t* indices, const int* status, int cmp,     \
                                            T* values) {                                                     \
    return wait_some<T>(__func__, {v, n, status, cmp, values, static_cast<T>(0)}, indices);                  \
  }                                                                                                          \
  int shmem_##N##_test_all(T* v, size_t n, const int* status, int cmp, T value) {                            \
    return look(Set<T>{v, n, status, cmp, nullptr, value}).all();                                            \
  }                                                                                                          \
  size_t shmem_##N##_test_any(T* v, size_t n, const int* status, int cmp, T value) {                         \
    return look(Set<T>{v, n, status, cmp, nullptr, value}).any();                                            \
  }                                                                                                          \
  size_t shmem_##N##_test_some(T* v, size_t n, size_t* indices, const int* status, int cmp, T value) {       \
    return look(Set<T>{v, n, status, cmp, nullptr, value}).some(indices);                                    \
  }                                                                                                          \
  int shmem_##N##_test_all_vector(T* v, size_t n, const int* status, int cmp, T* values) {                   \
    return look(Set<T>{v, n, status, cmp, values, static_cast<T>(0)}).all();                                 \
  }                                                                                                          \
  size_t shmem_##N##_test_any_vector(T* v, size_t n, const int* status, int cmp, T* values) {                \
    return look(Set<T>{v, n, status, cmp, values, static_cast<T>(0)}).any();                                 \
  }                                                                                                          \
  size_t shmem_##N##_test_some_vector(T* v, size_t n, size_t* indices, const int* status, int cmp,           \
                                      T* values) {                                                           \
    return look(Set<T>{v, n, status, cmp, values, static_cast<T>(0)}).some(indices);                         \
  }
NIGH_SHMEM_AMO_TYPES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
// NOLINTEND(bugprone-macro-parentheses)

namespace {
AmoCall on_lock(Amo amo, const long* lock, long value = 0, long condition = 0) {
  return {amo, sizeof(long), lock, static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(condition)};
}

// The word on PE 0; what it held before.
long exchange(const char* function, long* lock, long expected, long value) {
  auto* word = reinterpret_cast<long*>(remote(function, lock, 0));
  if (!word)
    return static_cast<long>(far_amo(function, on_lock(Amo::compare_swap, lock, value, expected), 0));
  __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  return expected;
}

long holder_of(const char* function, long* lock) {
  auto* word = reinterpret_cast<long*>(remote(function, lock, 0));
  if (!word) return static_cast<long>(far_amo(function, on_lock(Amo::load, lock), 0));
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

bool try_lock(const char* function, long* lock) {
  return exchange(function, lock, 0, self(function).rank + 1) == 0;
}

// Frees the lock of a holder that has ended; one of the PEs that notice is the one that frees it. Only those
// on its node can; a job that spans nodes ends with any of its PEs.
void free_if_dead(const char* function, long* lock) {
  Pe& me = self(function);
  const long holder = holder_of(function, lock);
  if (holder < 1 || holder > me.size) return;
  const int rank = me.near[static_cast<std::size_t>(holder) - 1];
  if (rank < 0 || me.space->alive(rank)) return;
  if (exchange(function, lock, holder, 0) == holder)
    std::fprintf(stderr, "nigh: PE %ld ended while it held a lock; the lock is free again\n", holder - 1);
}
}  // namespace

void shmem_set_lock(long* lock) {
  Pe& me = self(__func__);
  for (unsigned looks = 0; !try_lock(__func__, lock); ++looks) {
    unsigned tries = 0;
    // The word is only looked at while it is taken: no line is fought over.
    me.waiter->until([&] { return holder_of("shmem_set_lock", lock) == 0 || ++tries > 4000; });
    if (looks % 16 == 15) free_if_dead(__func__, lock);
  }
}

void shmem_clear_lock(long* lock) {
  shmem_quiet();
  const long ours = self(__func__).rank + 1;
  if (exchange(__func__, lock, ours, 0) != ours) stop(__func__, "this PE does not hold the lock");
}

int shmem_test_lock(long* lock) { return try_lock(__func__, lock) ? 0 : 1; }
