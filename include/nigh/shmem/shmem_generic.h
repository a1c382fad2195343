/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The type-generic forms of OpenSHMEM 1.5 for C11: shmem_put(dest, ...) picks shmem_int_put and so on by the
 * type of its pointer; a context may come first, and is told from a pointer by the number of arguments. */
#ifndef NIGH_SHMEM_GENERIC_H
#define NIGH_SHMEM_GENERIC_H

/* distinct types only: int32_t and its likes are among them */
#define NIGH_SHMEM_G_RMA(X, ...)          \
  X(float, float, __VA_ARGS__)            \
  X(double, double, __VA_ARGS__)          \
  X(longdouble, long double, __VA_ARGS__) \
  X(char, char, __VA_ARGS__)              \
  X(schar, signed char, __VA_ARGS__)      \
  X(short, short, __VA_ARGS__)            \
  X(uchar, unsigned char, __VA_ARGS__) X(ushort, unsigned short, __VA_ARGS__) NIGH_SHMEM_G_AMO(X, __VA_ARGS__)
#define NIGH_SHMEM_G_AMO(X, ...)      \
  X(int, int, __VA_ARGS__)            \
  X(long, long, __VA_ARGS__)          \
  X(longlong, long long, __VA_ARGS__) \
  X(uint, unsigned int, __VA_ARGS__)  \
  X(ulong, unsigned long, __VA_ARGS__) X(ulonglong, unsigned long long, __VA_ARGS__)
#define NIGH_SHMEM_G_BITS(X, ...)      \
  X(uint, unsigned int, __VA_ARGS__)   \
  X(ulong, unsigned long, __VA_ARGS__) \
  X(ulonglong, unsigned long long, __VA_ARGS__) X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)

struct nigh_shmem_no_such_type; /* a wrong type ends in this name */
#define NIGH_SHMEM_G(N, T, NAME) , T* : shmem_##N##_##NAME, const T* : shmem_##N##_##NAME
#define NIGH_SHMEM_GC(N, T, NAME) , T* : shmem_ctx_##N##_##NAME, const T* : shmem_ctx_##N##_##NAME
#define NIGH_SHMEM_PICK(LIST, FORM, NAME, P) \
  _Generic((P), struct nigh_shmem_no_such_type *: 0 LIST(FORM, NAME))

#define NIGH_SHMEM_NTH6(a, b, c, d, e, f, ...) f
#define NIGH_SHMEM_NTH5(a, b, c, d, e, ...) e
#define NIGH_SHMEM_NTH4(a, b, c, d, ...) d
#define NIGH_SHMEM_NTH8(a, b, c, d, e, f, g, h, ...) h

/* (dest, source, nelems, pe) or (ctx, dest, source, nelems, pe) */
#define NIGH_SHMEM_4(NAME, p, ...) NIGH_SHMEM_PICK(NIGH_SHMEM_G_RMA, NIGH_SHMEM_G, NAME, p)(p, __VA_ARGS__)
#define NIGH_SHMEM_5(NAME, c, p, ...) \
  NIGH_SHMEM_PICK(NIGH_SHMEM_G_RMA, NIGH_SHMEM_GC, NAME, p)(c, p, __VA_ARGS__)
#define NIGH_SHMEM_BULK(NAME, ...) \
  NIGH_SHMEM_NTH6(__VA_ARGS__, NIGH_SHMEM_5, NIGH_SHMEM_4, 0, 0, 0)(NAME, __VA_ARGS__)
#define shmem_put(...) NIGH_SHMEM_BULK(put, __VA_ARGS__)
#define shmem_get(...) NIGH_SHMEM_BULK(get, __VA_ARGS__)
#define shmem_put_nbi(...) NIGH_SHMEM_BULK(put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) NIGH_SHMEM_BULK(get_nbi, __VA_ARGS__)

/* (dest, value, pe) or (ctx, dest, value, pe) */
#define NIGH_SHMEM_P(...) NIGH_SHMEM_NTH5(__VA_ARGS__, NIGH_SHMEM_5, NIGH_SHMEM_4, 0, 0)(p, __VA_ARGS__)
#define shmem_p(...) NIGH_SHMEM_P(__VA_ARGS__)
/* (source, pe) or (ctx, source, pe) */
#define shmem_g(...) NIGH_SHMEM_NTH4(__VA_ARGS__, NIGH_SHMEM_5, NIGH_SHMEM_4, 0)(g, __VA_ARGS__)

/* (dest, source, dst, sst, nelems, pe) with a context or without */
#define NIGH_SHMEM_STRIDED(NAME, ...) \
  NIGH_SHMEM_NTH8(__VA_ARGS__, NIGH_SHMEM_5, NIGH_SHMEM_4, 0, 0, 0, 0)(NAME, __VA_ARGS__)
#define shmem_iput(...) NIGH_SHMEM_STRIDED(iput, __VA_ARGS__)
#define shmem_iget(...) NIGH_SHMEM_STRIDED(iget, __VA_ARGS__)

/* atomics: (word, ..., pe); the forms with a context are called by their typed names */
#define NIGH_SHMEM_A(NAME, p, ...) NIGH_SHMEM_PICK(NIGH_SHMEM_G_AMO, NIGH_SHMEM_G, NAME, p)(p, __VA_ARGS__)
#define NIGH_SHMEM_G_ALL(X, ...) \
  X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__) NIGH_SHMEM_G_AMO(X, __VA_ARGS__)
#define NIGH_SHMEM_F(NAME, p, ...) NIGH_SHMEM_PICK(NIGH_SHMEM_G_ALL, NIGH_SHMEM_G, NAME, p)(p, __VA_ARGS__)
#define NIGH_SHMEM_B(NAME, p, ...) NIGH_SHMEM_PICK(NIGH_SHMEM_G_BITS, NIGH_SHMEM_G, NAME, p)(p, __VA_ARGS__)
#define shmem_atomic_fetch(p, pe) NIGH_SHMEM_F(atomic_fetch, p, pe)
#define shmem_atomic_set(p, v, pe) NIGH_SHMEM_F(atomic_set, p, v, pe)
#define shmem_atomic_swap(p, v, pe) NIGH_SHMEM_F(atomic_swap, p, v, pe)
#define shmem_atomic_compare_swap(p, c, v, pe) NIGH_SHMEM_A(atomic_compare_swap, p, c, v, pe)
#define shmem_atomic_add(p, v, pe) NIGH_SHMEM_A(atomic_add, p, v, pe)
#define shmem_atomic_fetch_add(p, v, pe) NIGH_SHMEM_A(atomic_fetch_add, p, v, pe)
#define shmem_atomic_inc(p, pe) NIGH_SHMEM_A(atomic_inc, p, pe)
#define shmem_atomic_fetch_inc(p, pe) NIGH_SHMEM_A(atomic_fetch_inc, p, pe)
#define shmem_atomic_and(p, v, pe) NIGH_SHMEM_B(atomic_and, p, v, pe)
#define shmem_atomic_or(p, v, pe) NIGH_SHMEM_B(atomic_or, p, v, pe)
#define shmem_atomic_xor(p, v, pe) NIGH_SHMEM_B(atomic_xor, p, v, pe)
#define shmem_atomic_fetch_and(p, v, pe) NIGH_SHMEM_B(atomic_fetch_and, p, v, pe)
#define shmem_atomic_fetch_or(p, v, pe) NIGH_SHMEM_B(atomic_fetch_or, p, v, pe)
#define shmem_atomic_fetch_xor(p, v, pe) NIGH_SHMEM_B(atomic_fetch_xor, p, v, pe)

#define shmem_wait_until(p, cmp, v) NIGH_SHMEM_A(wait_until, p, cmp, v)
#define shmem_test(p, cmp, v) NIGH_SHMEM_A(test, p, cmp, v)
#define shmem_wait_until_all(p, n, s, cmp, v) NIGH_SHMEM_A(wait_until_all, p, n, s, cmp, v)
#define shmem_wait_until_any(p, n, s, cmp, v) NIGH_SHMEM_A(wait_until_any, p, n, s, cmp, v)
#define shmem_wait_until_some(p, n, i, s, cmp, v) NIGH_SHMEM_A(wait_until_some, p, n, i, s, cmp, v)
#define shmem_test_all(p, n, s, cmp, v) NIGH_SHMEM_A(test_all, p, n, s, cmp, v)
#define shmem_test_any(p, n, s, cmp, v) NIGH_SHMEM_A(test_any, p, n, s, cmp, v)
#define shmem_test_some(p, n, i, s, cmp, v) NIGH_SHMEM_A(test_some, p, n, i, s, cmp, v)

/* collectives of a team: the type is that of dest */
#define NIGH_SHMEM_T(NAME, t, p, ...) \
  NIGH_SHMEM_PICK(NIGH_SHMEM_G_RMA, NIGH_SHMEM_G, NAME, p)(t, p, __VA_ARGS__)
#define shmem_broadcast(t, d, s, n, root) NIGH_SHMEM_T(broadcast, t, d, s, n, root)
#define shmem_collect(t, d, s, n) NIGH_SHMEM_T(collect, t, d, s, n)
#define shmem_fcollect(t, d, s, n) NIGH_SHMEM_T(fcollect, t, d, s, n)
#define shmem_alltoall(t, d, s, n) NIGH_SHMEM_T(alltoall, t, d, s, n)
#define shmem_alltoalls(t, d, s, dst, sst, n) NIGH_SHMEM_T(alltoalls, t, d, s, dst, sst, n)
#define shmem_max_reduce(t, d, s, n) NIGH_SHMEM_T(max_reduce, t, d, s, n)
#define shmem_min_reduce(t, d, s, n) NIGH_SHMEM_T(min_reduce, t, d, s, n)
#define shmem_sum_reduce(t, d, s, n) NIGH_SHMEM_T(sum_reduce, t, d, s, n)
#define shmem_prod_reduce(t, d, s, n) NIGH_SHMEM_T(prod_reduce, t, d, s, n)
#define NIGH_SHMEM_TB(NAME, t, p, ...) \
  NIGH_SHMEM_PICK(NIGH_SHMEM_G_BITS, NIGH_SHMEM_G, NAME, p)(t, p, __VA_ARGS__)
#define shmem_and_reduce(t, d, s, n) NIGH_SHMEM_TB(and_reduce, t, d, s, n)
#define shmem_or_reduce(t, d, s, n) NIGH_SHMEM_TB(or_reduce, t, d, s, n)
#define shmem_xor_reduce(t, d, s, n) NIGH_SHMEM_TB(xor_reduce, t, d, s, n)

/* shmem_sync(team), or of an active set as in 1.4 */
#define NIGH_SHMEM_SYNC1(t) shmem_team_sync(t)
#define NIGH_SHMEM_SYNC4(a, b, c, d) shmem_active_set_sync(a, b, c, d)
#define shmem_sync(...) NIGH_SHMEM_NTH5(__VA_ARGS__, NIGH_SHMEM_SYNC4, 0, 0, NIGH_SHMEM_SYNC1)(__VA_ARGS__)

#endif
