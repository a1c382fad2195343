/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A loop of regions, for counting system calls: regions N, threads T, with nested ones inside if a third
 * argument is given. */
#include <omp.h>

#include "trap.h"

int main(int argc, char** argv) {
  const int regions = argc > 1 ? atoi(argv[1]) : 1000, threads = argc > 2 ? atoi(argv[2]) : 2;
  long sum = 0;
  omp_set_max_active_levels(2);
  for (int i = 0; i < regions; i++) {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
      sum += 1;
      if (argc > 3) {
        long inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
        inner += 1;
        sum += inner - 2;
      }
    }
  }
  expect("the sum", sum, (long)regions * threads);
  return verdict();
}
