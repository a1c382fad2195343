/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The common parts of this suite's programs: a check that ends the job, random numbers that all ranks can
 * make alike, and windows of every kind.
 */
#ifndef NIGH_TESTS_MPI_RMA_COMMON_H
#define NIGH_TESTS_MPI_RMA_COMMON_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define CHECK(good, ...)                                             \
  do {                                                               \
    if (!(good)) {                                                   \
      fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, rank); \
      fprintf(stderr, __VA_ARGS__);                                  \
      fprintf(stderr, "\n");                                         \
      MPI_Abort(MPI_COMM_WORLD, 7);                                  \
    }                                                                \
  } while (0)

static inline uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline int below(uint64_t* state, int limit) { return (int)(next_random(state) % (uint64_t)limit); }

enum kind { HEAP, PRIVATE, ALLOCATED, SHARED, MIXED, KINDS };
static const char* const kind_names[KINDS] = {"heap", "private", "allocated", "shared", "mixed"};
#define PRIVATE_BYTES (1 << 20)
static _Alignas(64) char private_memory[PRIVATE_BYTES];

struct window {
  MPI_Win win;
  char* memory;
  size_t bytes;
  enum kind kind;
};

/* Zeroed. In a mixed one the memory of odd ranks is out of reach. */
static inline struct window make_window(enum kind kind, size_t bytes, int unit, MPI_Comm comm) {
  struct window w = {.win = MPI_WIN_NULL, .bytes = bytes, .kind = kind};
  const MPI_Aint size = (MPI_Aint)bytes;
  CHECK(bytes <= PRIVATE_BYTES, "too large");
  if (kind == HEAP || (kind == MIXED && rank % 2 == 0)) {
    if (posix_memalign((void**)&w.memory, 4096, bytes > 65536 ? bytes : 65536)) CHECK(0, "no memory");
  } else if (kind == PRIVATE || kind == MIXED) {
    w.memory = private_memory;
  }
  if (kind == ALLOCATED)
    MPI_Win_allocate(size, unit, MPI_INFO_NULL, comm, &w.memory, &w.win);
  else if (kind == SHARED)
    MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, comm, &w.memory, &w.win);
  else
    MPI_Win_create(w.memory, size, unit, MPI_INFO_NULL, comm, &w.win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w.win);
  memset(w.memory, 0, bytes);
  MPI_Win_unlock(rank, w.win);
  MPI_Barrier(comm);
  return w;
}

static inline void free_window(struct window* w) {
  MPI_Win_free(&w->win);
  if (w->kind == HEAP || (w->kind == MIXED && w->memory != private_memory)) free(w->memory);
}

#endif
