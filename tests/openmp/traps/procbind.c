/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The user has OMP_PROC_BIND set: libgomp pins the initial thread before main. Argument: the CPUs there are.
 */
#include <omp.h>

#include "trap.h"

int main(int argc, char** argv) {
  expect("the mask before the first region", mask_size(), argc > 1 ? atoi(argv[1]) : 0);
  expect("whether OMP_PROC_BIND is still set", getenv("OMP_PROC_BIND") != NULL, 0);
  int cpu[2] = {-1, -1};
#pragma omp parallel num_threads(2)
  cpu[omp_get_thread_num()] = only_cpu();
  expect("whether both threads are bound", cpu[0] >= 0 && cpu[1] >= 0, 1);
  expect("whether they share a CPU", cpu[0] == cpu[1], 0);
  return verdict();
}
