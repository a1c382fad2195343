/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The common parts of the communication benchmarks: the patterns (patterns.c) are written once over this
 * table of operations, and each way to communicate (an MPI library, nigh's own messages, CMA, copying in and
 * out, UCX, a plain memcpy as the limit) is one file that fills it. So every subject runs the same loops on
 * the same buffers. */
#ifndef NIGH_BENCH_PATTERNS_H
#define NIGH_BENCH_PATTERNS_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

enum { most_ranks = 64 };

/* A cache line handed to and fro between ranks 0 and 1 tells how far apart their cores are; see
 * docs/bench.md. */
typedef struct meeting {
  alignas(128) volatile uint64_t there;
  alignas(128) volatile uint64_t back;
  alignas(128) volatile uint64_t arrived[most_ranks][16];
  alignas(128) double seconds[most_ranks];
  int cpu[most_ranks];
} meeting;

/* Operations that a way can't do are null: the pattern is then not measured. All are blocking unless they say
 * so. */
typedef struct transport {
  int rank, size;
  meeting* place;               /* memory that all ranks share */
  void* (*alloc)(size_t bytes); /* buffers as a program of this kind would have them */
  void (*send)(const void* data, size_t bytes, int to);
  void (*receive)(void* data, size_t bytes, int from);
  void (*exchange)(const void* out, void* in, size_t bytes, int to, int from); /* both at once */
  /* `count` messages under way at once to (or from) one peer, at data + i * bytes */
  void (*send_many)(const void* data, size_t bytes, int count, int to);
  void (*receive_many)(void* data, size_t bytes, int count, int from);
  /* to and from both neighbours: out[2], in[2] */
  void (*halo)(const void* const* out, void* const* in, size_t bytes, int left, int right);
  /* Memory into which peers put, the same call in all ranks; `at` is an address in one's own, `to`'s is
   * meant. The bytes have arrived when put() returns, for which `to` may have to be in a barrier; see() is
   * called before they are looked at. */
  void* (*window)(size_t bytes);
  void (*put)(void* at, const void* data, size_t bytes, int to);
  void (*see)(void);
  void (*barrier)(void);
  void (*bcast)(void* data, size_t bytes, int root);
  void (*reduce)(const double* in, double* out, size_t count, int root);
  void (*allreduce)(const double* in, double* out, size_t count);
  void (*alltoall)(const void* out, void* in, size_t bytes_each);
  /* the same between neighbours in a ring, the left one first; with two ranks there is one */
  void (*neighbors)(const void* out, void* in, size_t bytes_each);
  void (*end)(void);
} transport;

#ifdef __cplusplus
extern "C" {
#endif

/* Fills the table, in every rank; starts the ranks itself where no launcher did. Prints one sentence and
 * exits with status 2 when it can't. `kind` is the value of --transport. */
void transport_begin(transport* t, const char* kind, int ranks);

/* Waits on plain memory; gives the CPU away now and then. */
void meet(transport* t);
void spin_until(volatile uint64_t* word, uint64_t value);
/* Binds rank `rank` of `ranks`, where no launcher did. */
void sit(int rank, int ranks);

#ifdef __cplusplus
}
#endif

#endif
