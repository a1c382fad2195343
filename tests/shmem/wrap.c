/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tool of the profiling interface: it takes the place of two functions, calls the library's by their other
 * names, and says at the end how often the program, and nobody else, called them. */
#include <pshmem.h>
#include <stdio.h>

static int barriers, puts_of_long;

void shmem_barrier_all(void) {
  barriers++;
  pshmem_barrier_all();
}

void shmem_long_put(long* dest, const long* source, size_t nelems, int pe) {
  puts_of_long++;
  pshmem_long_put(dest, source, nelems, pe);
}

int main(void) {
  pshmem_init();
  int me = shmem_my_pe(), n = pshmem_n_pes();
  long* words = shmem_malloc(n * sizeof *words); /* has a barrier of its own */
  long mine = me + 1;
  for (int pe = 0; pe < n; pe++) shmem_long_put(&words[me], &mine, 1, pe);
  shmem_barrier_all();
  shmem_pcontrol(1);
  int right = 1;
  for (int pe = 0; pe < n; pe++) right &= words[pe] == pe + 1;
  if (me == 0 && right) printf("ok wrapped %d barrier, %d puts\n", barriers, puts_of_long);
  shmem_finalize();
  return !right;
}
