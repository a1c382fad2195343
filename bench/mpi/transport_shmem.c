/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts by OpenSHMEM, as any program would write them: built against nigh's library and against Open MPI's. */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patterns.h"

static void* get(size_t bytes) { return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); }
static void* get_window(size_t bytes) { return shmem_align(4096, bytes); }
static void put(void* at, const void* data, size_t bytes, int to) {
  shmem_putmem(at, data, bytes, to);
  shmem_quiet();
}
static void barrier(void) { shmem_barrier_all(); }

static void end(void) {
  shmem_barrier_all();
#ifdef OSHMEM_MAJOR_VERSION
  /* Open MPI 4.1's shmem_finalize crashes where it ends MPI; so PE 0 ends them all. */
  if (shmem_my_pe() == 0) shmem_global_exit(0);
  for (;;) pause();
#else
  shmem_finalize();
#endif
}

void transport_begin(transport* t, const char* kind, int ranks) {
  (void)kind;
  shmem_init();
  *t = (transport){.rank = shmem_my_pe(),
                   .size = shmem_n_pes(),
                   .alloc = get,
                   .window = get_window,
                   .put = put,
                   .barrier = barrier,
                   .end = end};
  if (t->size != ranks) {
    if (t->rank == 0) fprintf(stderr, "started with %d ranks, not the %d of --teams\n", t->size, ranks);
    exit(2);
  }
  meeting* mine = shmem_align(128, sizeof(meeting));
  if (mine) memset(mine, 0, sizeof(meeting));
  shmem_barrier_all();
  t->place = mine ? shmem_ptr(mine, 0) : NULL;
  if (!t->place) exit((fprintf(stderr, "PE 0's memory can't be reached by loads and stores\n"), 2));
}
