/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The program itself tells libomp to bind threads, by libomp's own call. libomp then pins the first thread by
 * system calls of its own, and the whole team sat on that CPU. */
#include <omp.h>

#include "trap.h"

void kmp_set_defaults(const char* text);

int main(void) {
  kmp_set_defaults("KMP_AFFINITY=granularity=fine,compact");
  int cpu[2] = {-1, -1};
#pragma omp parallel num_threads(2)
  cpu[omp_get_thread_num()] = only_cpu();
  expect("whether both threads are bound", cpu[0] >= 0 && cpu[1] >= 0, 1);
  expect("whether they share a CPU", cpu[0] == cpu[1], 0);
  return verdict();
}
