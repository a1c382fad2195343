/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin that uses OpenMP in a program that does not: what a Python wheel is. Returns 1 + 2 if its
 * region had two different threads that were bound to two CPUs, as their own libgomp numbers them. */
#include <omp.h>

#include "trap.h"

int plug(void) {
  int sum = 0, cpu[2] = {-1, -1};
#pragma omp parallel num_threads(2) reduction(+ : sum)
  if (omp_get_num_threads() == 2) {
    sum += omp_get_thread_num() + 1;
    cpu[omp_get_thread_num()] = only_cpu();
  }
  return cpu[0] >= 0 && cpu[1] >= 0 && cpu[0] != cpu[1] ? sum : 0;
}
