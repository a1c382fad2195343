/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that is linked to no MPI library but calls MPI where the symbol is there, as plug-ins do: with us
 * preloaded there is none, either. One that is found by dlsym (nothing more) ends the program with a
 * sentence.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int MPI_Barrier(long) __attribute__((weak));
int main(int argc, char** argv) {
  (void)argv;
  if (MPI_Barrier) return MPI_Barrier(0);
  int (*found)(long) = argc > 1 ? (int (*)(long))dlsym(RTLD_DEFAULT, "MPI_Barrier") : NULL;
  return found ? found(0) : 42;
}
