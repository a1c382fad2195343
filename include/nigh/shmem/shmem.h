/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSHMEM 1.5 for the processing elements (PEs) of one node, over the space (nigh/space.h): a put is a
 * store, a get is a load, an atomic is an instruction, at the address that nigh_remote_address() gives (seed
 * 003, p. 14). Compile with nigh-oshcc, start with `nigh run -n 8 -- ./app`. Functions, types and constants
 * are those of the specification; docs/shmem.md lists what is left out. */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <complex>
#define NIGH_SHMEM_COMPLEX_FLOAT std::complex<float>
#define NIGH_SHMEM_COMPLEX_DOUBLE std::complex<double>
extern "C" {
#else
#define NIGH_SHMEM_COMPLEX_FLOAT float _Complex
#define NIGH_SHMEM_COMPLEX_DOUBLE double _Complex
#endif

#include "shmem_types.inc"

#pragma GCC visibility push(default)

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "nigh"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_GE 5

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

#define SHMEM_CTX_SERIALIZED 1L
#define SHMEM_CTX_PRIVATE 2L
#define SHMEM_CTX_NOSTORE 4L

/* Active sets need no work arrays here; programs allocate them all the same. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_ALLTOALLS_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

typedef struct nigh_shmem_team* shmem_team_t;
typedef struct nigh_shmem_context* shmem_ctx_t;
typedef struct shmem_team_config_t {
  int num_contexts;
} shmem_team_config_t;
#define SHMEM_TEAM_NUM_CONTEXTS 1L
/* NOLINTBEGIN(misc-misplaced-const): handles that are constant */
extern shmem_team_t const SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED;
extern shmem_ctx_t const SHMEM_CTX_DEFAULT;
/* NOLINTEND(misc-misplaced-const) */
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)

/* --- set-up and queries --- */
void shmem_init(void);
int shmem_init_thread(int requested, int* provided);
void shmem_query_thread(int* provided);
void shmem_finalize(void);
void shmem_global_exit(int status);
int shmem_my_pe(void);
int shmem_n_pes(void);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void* addr, int pe);
void* shmem_ptr(const void* dest, int pe);
void shmem_info_get_version(int* major, int* minor);
void shmem_info_get_name(char* name);
/* deprecated names */
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);

/* --- symmetric memory: collective, the same arguments on all PEs --- */
void* shmem_malloc(size_t size);
void* shmem_calloc(size_t count, size_t size);
void* shmem_align(size_t alignment, size_t size);
void* shmem_malloc_with_hints(size_t size, long hints);
void* shmem_realloc(void* ptr, size_t size);
void shmem_free(void* ptr);

/* --- teams and contexts --- */
int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t* config);
int shmem_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to);
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size,
                             const shmem_team_config_t* config, long mask, shmem_team_t* team);
int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t* xconfig, long xmask,
                        shmem_team_t* xteam, const shmem_team_config_t* yconfig, long ymask,
                        shmem_team_t* yteam);
void shmem_team_destroy(shmem_team_t team);
int shmem_ctx_create(long options, shmem_ctx_t* ctx);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t* ctx);
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team);
void shmem_ctx_destroy(shmem_ctx_t ctx);

/* --- remote memory access --- */
/* NOLINTBEGIN(bugprone-macro-parentheses): types and names */
#define NIGH_SHMEM_X(N, T)                                                                                  \
  void shmem_##N##_put(T* dest, const T* source, size_t nelems, int pe);                                    \
  void shmem_ctx_##N##_put(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe);               \
  void shmem_##N##_put_nbi(T* dest, const T* source, size_t nelems, int pe);                                \
  void shmem_ctx_##N##_put_nbi(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe);           \
  void shmem_##N##_get(T* dest, const T* source, size_t nelems, int pe);                                    \
  void shmem_ctx_##N##_get(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe);               \
  void shmem_##N##_get_nbi(T* dest, const T* source, size_t nelems, int pe);                                \
  void shmem_ctx_##N##_get_nbi(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe);           \
  void shmem_##N##_p(T* dest, T value, int pe);                                                             \
  void shmem_ctx_##N##_p(shmem_ctx_t ctx, T* dest, T value, int pe);                                        \
  T shmem_##N##_g(const T* source, int pe);                                                                 \
  T shmem_ctx_##N##_g(shmem_ctx_t ctx, const T* source, int pe);                                            \
  void shmem_##N##_iput(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);     \
  void shmem_ctx_##N##_iput(shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,        \
                            size_t nelems, int pe);                                                         \
  void shmem_##N##_iget(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);     \
  void shmem_ctx_##N##_iget(shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,        \
                            size_t nelems, int pe);                                                         \
  void shmem_##N##_put_signal(T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, \
                              int sig_op, int pe);                                                          \
  void shmem_ctx_##N##_put_signal(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems,                 \
                                  uint64_t* sig_addr, uint64_t signal, int sig_op, int pe);                 \
  void shmem_##N##_put_signal_nbi(T* dest, const T* source, size_t nelems, uint64_t* sig_addr,              \
                                  uint64_t signal, int sig_op, int pe);                                     \
  void shmem_ctx_##N##_put_signal_nbi(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems,             \
                                      uint64_t* sig_addr, uint64_t signal, int sig_op, int pe);             \
  int shmem_##N##_broadcast(shmem_team_t team, T* dest, const T* source, size_t nelems, int root);          \
  int shmem_##N##_collect(shmem_team_t team, T* dest, const T* source, size_t nelems);                      \
  int shmem_##N##_fcollect(shmem_team_t team, T* dest, const T* source, size_t nelems);                     \
  int shmem_##N##_alltoall(shmem_team_t team, T* dest, const T* source, size_t nelems);                     \
  int shmem_##N##_alltoalls(shmem_team_t team, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,      \
                            size_t nelems);
NIGH_SHMEM_RMA_TYPES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_X(BITS, BYTES)                                                                          \
  void shmem_put##BITS(void* dest, const void* source, size_t nelems, int pe);                             \
  void shmem_ctx_put##BITS(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);        \
  void shmem_put##BITS##_nbi(void* dest, const void* source, size_t nelems, int pe);                       \
  void shmem_ctx_put##BITS##_nbi(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);  \
  void shmem_get##BITS(void* dest, const void* source, size_t nelems, int pe);                             \
  void shmem_ctx_get##BITS(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);        \
  void shmem_get##BITS##_nbi(void* dest, const void* source, size_t nelems, int pe);                       \
  void shmem_ctx_get##BITS##_nbi(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);  \
  void shmem_iput##BITS(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,       \
                        int pe);                                                                           \
  void shmem_ctx_iput##BITS(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, \
                            size_t nelems, int pe);                                                        \
  void shmem_iget##BITS(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,       \
                        int pe);                                                                           \
  void shmem_ctx_iget##BITS(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, \
                            size_t nelems, int pe);                                                        \
  void shmem_put##BITS##_signal(void* dest, const void* source, size_t nelems, uint64_t* sig_addr,         \
                                uint64_t signal, int sig_op, int pe);                                      \
  void shmem_put##BITS##_signal_nbi(void* dest, const void* source, size_t nelems, uint64_t* sig_addr,     \
                                    uint64_t signal, int sig_op, int pe);
NIGH_SHMEM_SIZES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

void shmem_putmem(void* dest, const void* source, size_t bytes, int pe);
void shmem_ctx_putmem(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe);
void shmem_putmem_nbi(void* dest, const void* source, size_t bytes, int pe);
void shmem_ctx_putmem_nbi(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe);
void shmem_getmem(void* dest, const void* source, size_t bytes, int pe);
void shmem_ctx_getmem(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe);
void shmem_getmem_nbi(void* dest, const void* source, size_t bytes, int pe);
void shmem_ctx_getmem_nbi(shmem_ctx_t ctx, void* dest, const void* source, size_t bytes, int pe);
void shmem_putmem_signal(void* dest, const void* source, size_t bytes, uint64_t* sig_addr, uint64_t signal,
                         int sig_op, int pe);
void shmem_putmem_signal_nbi(void* dest, const void* source, size_t bytes, uint64_t* sig_addr,
                             uint64_t signal, int sig_op, int pe);
uint64_t shmem_signal_fetch(const uint64_t* sig_addr);
uint64_t shmem_signal_wait_until(uint64_t* sig_addr, int cmp, uint64_t value);

/* --- atomics --- */
#define NIGH_SHMEM_X(N, T)                                                    \
  T shmem_##N##_atomic_fetch(const T* source, int pe);                        \
  T shmem_ctx_##N##_atomic_fetch(shmem_ctx_t ctx, const T* source, int pe);   \
  void shmem_##N##_atomic_fetch_nbi(T* fetch, const T* source, int pe);       \
  void shmem_##N##_atomic_set(T* dest, T value, int pe);                      \
  void shmem_ctx_##N##_atomic_set(shmem_ctx_t ctx, T* dest, T value, int pe); \
  T shmem_##N##_atomic_swap(T* dest, T value, int pe);                        \
  T shmem_ctx_##N##_atomic_swap(shmem_ctx_t ctx, T* dest, T value, int pe);   \
  void shmem_##N##_atomic_swap_nbi(T* fetch, T* dest, T value, int pe);       \
  T shmem_##N##_swap(T* dest, T value, int pe);                               \
  T shmem_##N##_fetch(const T* source, int pe);                               \
  void shmem_##N##_set(T* dest, T value, int pe);
NIGH_SHMEM_AMO_TYPES(NIGH_SHMEM_X)
NIGH_SHMEM_AMO_FLOATS(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_X(N, T)                                                                                  \
  T shmem_##N##_atomic_compare_swap(T* dest, T cond, T value, int pe);                                      \
  T shmem_ctx_##N##_atomic_compare_swap(shmem_ctx_t ctx, T* dest, T cond, T value, int pe);                 \
  void shmem_##N##_atomic_compare_swap_nbi(T* fetch, T* dest, T cond, T value, int pe);                     \
  void shmem_##N##_atomic_add(T* dest, T value, int pe);                                                    \
  void shmem_ctx_##N##_atomic_add(shmem_ctx_t ctx, T* dest, T value, int pe);                               \
  T shmem_##N##_atomic_fetch_add(T* dest, T value, int pe);                                                 \
  T shmem_ctx_##N##_atomic_fetch_add(shmem_ctx_t ctx, T* dest, T value, int pe);                            \
  void shmem_##N##_atomic_fetch_add_nbi(T* fetch, T* dest, T value, int pe);                                \
  void shmem_##N##_atomic_inc(T* dest, int pe);                                                             \
  void shmem_ctx_##N##_atomic_inc(shmem_ctx_t ctx, T* dest, int pe);                                        \
  T shmem_##N##_atomic_fetch_inc(T* dest, int pe);                                                          \
  T shmem_ctx_##N##_atomic_fetch_inc(shmem_ctx_t ctx, T* dest, int pe);                                     \
  void shmem_##N##_atomic_fetch_inc_nbi(T* fetch, T* dest, int pe);                                         \
  T shmem_##N##_cswap(T* dest, T cond, T value, int pe);                                                    \
  T shmem_##N##_fadd(T* dest, T value, int pe);                                                             \
  T shmem_##N##_finc(T* dest, int pe);                                                                      \
  void shmem_##N##_add(T* dest, T value, int pe);                                                           \
  void shmem_##N##_inc(T* dest, int pe);                                                                    \
  void shmem_##N##_wait_until(T* ivar, int cmp, T value);                                                   \
  int shmem_##N##_test(T* ivar, int cmp, T value);                                                          \
  void shmem_##N##_wait_until_all(T* ivars, size_t nelems, const int* status, int cmp, T value);            \
  size_t shmem_##N##_wait_until_any(T* ivars, size_t nelems, const int* status, int cmp, T value);          \
  size_t shmem_##N##_wait_until_some(T* ivars, size_t nelems, size_t* indices, const int* status, int cmp,  \
                                     T value);                                                              \
  void shmem_##N##_wait_until_all_vector(T* ivars, size_t nelems, const int* status, int cmp, T* values);   \
  size_t shmem_##N##_wait_until_any_vector(T* ivars, size_t nelems, const int* status, int cmp, T* values); \
  size_t shmem_##N##_wait_until_some_vector(T* ivars, size_t nelems, size_t* indices, const int* status,    \
                                            int cmp, T* values);                                            \
  int shmem_##N##_test_all(T* ivars, size_t nelems, const int* status, int cmp, T value);                   \
  size_t shmem_##N##_test_any(T* ivars, size_t nelems, const int* status, int cmp, T value);                \
  size_t shmem_##N##_test_some(T* ivars, size_t nelems, size_t* indices, const int* status, int cmp,        \
                               T value);                                                                    \
  int shmem_##N##_test_all_vector(T* ivars, size_t nelems, const int* status, int cmp, T* values);          \
  size_t shmem_##N##_test_any_vector(T* ivars, size_t nelems, const int* status, int cmp, T* values);       \
  size_t shmem_##N##_test_some_vector(T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, \
                                      T* values);
NIGH_SHMEM_AMO_TYPES(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X

#define NIGH_SHMEM_OP(N, T, OP)                                                   \
  void shmem_##N##_atomic_##OP(T* dest, T value, int pe);                         \
  void shmem_ctx_##N##_atomic_##OP(shmem_ctx_t ctx, T* dest, T value, int pe);    \
  T shmem_##N##_atomic_fetch_##OP(T* dest, T value, int pe);                      \
  T shmem_ctx_##N##_atomic_fetch_##OP(shmem_ctx_t ctx, T* dest, T value, int pe); \
  void shmem_##N##_atomic_fetch_##OP##_nbi(T* fetch, T* dest, T value, int pe);
#define NIGH_SHMEM_X(N, T) NIGH_SHMEM_OP(N, T, and) NIGH_SHMEM_OP(N, T, or) NIGH_SHMEM_OP(N, T, xor)
NIGH_SHMEM_AMO_BITS(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#undef NIGH_SHMEM_OP

/* --- collectives --- */
void shmem_barrier_all(void);
void shmem_sync_all(void);
int shmem_team_sync(shmem_team_t team);
void shmem_barrier(int start, int log_stride, int size, long* psync);
void shmem_active_set_sync(int start, int log_stride, int size, long* psync);
int shmem_broadcastmem(shmem_team_t team, void* dest, const void* source, size_t bytes, int root);
int shmem_collectmem(shmem_team_t team, void* dest, const void* source, size_t bytes);
int shmem_fcollectmem(shmem_team_t team, void* dest, const void* source, size_t bytes);
int shmem_alltoallmem(shmem_team_t team, void* dest, const void* source, size_t bytes);
int shmem_alltoallsmem(shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,
                       size_t nelems);

#define NIGH_SHMEM_OP(N, T, OP)                                                                              \
  int shmem_##N##_##OP##_reduce(shmem_team_t team, T* dest, const T* source, size_t nreduce);                \
  void shmem_##N##_##OP##_to_all(T* dest, const T* source, int nreduce, int start, int log_stride, int size, \
                                 T* pwrk, long* psync);
#define NIGH_SHMEM_X(N, T, E) NIGH_SHMEM_OP(N, T, and) NIGH_SHMEM_OP(N, T, or) NIGH_SHMEM_OP(N, T, xor)
NIGH_SHMEM_REDUCE_BITS(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#define NIGH_SHMEM_X(N, T, E) \
  NIGH_SHMEM_OP(N, T, max) NIGH_SHMEM_OP(N, T, min) NIGH_SHMEM_OP(N, T, sum) NIGH_SHMEM_OP(N, T, prod)
NIGH_SHMEM_REDUCE_ORDER(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#define NIGH_SHMEM_X(N, T, E) NIGH_SHMEM_OP(N, T, sum) NIGH_SHMEM_OP(N, T, prod)
NIGH_SHMEM_REDUCE_COMPLEX(NIGH_SHMEM_X)
#undef NIGH_SHMEM_X
#undef NIGH_SHMEM_OP

#define NIGH_SHMEM_X(BITS)                                                                                \
  void shmem_broadcast##BITS(void* dest, const void* source, size_t nelems, int root, int start,          \
                             int log_stride, int size, long* psync);                                      \
  void shmem_collect##BITS(void* dest, const void* source, size_t nelems, int start, int log_stride,      \
                           int size, long* psync);                                                        \
  void shmem_fcollect##BITS(void* dest, const void* source, size_t nelems, int start, int log_stride,     \
                            int size, long* psync);                                                       \
  void shmem_alltoall##BITS(void* dest, const void* source, size_t nelems, int start, int log_stride,     \
                            int size, long* psync);                                                       \
  void shmem_alltoalls##BITS(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                             int start, int log_stride, int size, long* psync);
NIGH_SHMEM_X(32)
NIGH_SHMEM_X(64)
#undef NIGH_SHMEM_X
/* NOLINTEND(bugprone-macro-parentheses) */

/* --- order and locks --- */
void shmem_fence(void);
void shmem_ctx_fence(shmem_ctx_t ctx);
void shmem_quiet(void);
void shmem_ctx_quiet(shmem_ctx_t ctx);
void shmem_set_lock(long* lock);
void shmem_clear_lock(long* lock);
int shmem_test_lock(long* lock);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif
#endif
