/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSHMEM 1.5. Between the processing elements (PEs) of one node, over the space (nigh/space.h), a put is a
 * store, a get is a load, an atomic is an instruction, at the address that nigh_remote_address() gives (seed
 * 003, p. 14); PEs on other nodes are reached by MPI. Compile with nigh-oshcc, start with
 * `nigh run -n 8 -- ./app` or `mpirun -n 8 ./app`. Functions, types and constants are those of the
 * specification; docs/shmem.md lists what is left out. */
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

#define NIGH_SHMEM_(X) shmem_##X
#include "shmem_functions.inc"
#undef NIGH_SHMEM_

/* deprecated names */
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif
#endif
