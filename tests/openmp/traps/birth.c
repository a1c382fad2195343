// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libgomp makes a new thread for each nested region. Born on its opener's PU, it waits there for the end of
// the opener's time slice, a few ms, since the opener spins; born on its own place it starts at once, in some
// 30 us.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 31 };

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(void) {
  double took[ROUNDS];
  int sum = 0;
#pragma omp parallel num_threads(1)
  for (int i = 0; i < ROUNDS; i++) {
    const double start = omp_get_wtime();
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    took[i] = omp_get_wtime() - start;
  }
  qsort(took, ROUNDS, sizeof *took, by_value);
  printf("median %.0f us\n", took[ROUNDS / 2] * 1e6);
  return sum == 3 * ROUNDS ? 0 : 1;
}
