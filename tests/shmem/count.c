/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * To preload: tells of each window that is made. MPI's types are those of no library: words are handed on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int MPI_Win_create(void* base, long bytes, int unit, long info, long comm, void* win);

int MPI_Win_create(void* base, long bytes, int unit, long info, long comm, void* win) {
  fprintf(stderr, "MPI_Win_create\n");
  int (*make)(void*, long, int, long, long, void*);
  *(void**)&make = dlsym(RTLD_DEFAULT, "PMPI_Win_create");
  return make(base, bytes, unit, info, comm, win);
}
