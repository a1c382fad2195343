/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a parallel region costs: ns per region, the smallest of many samples, because everything that disturbs
 * a sample makes it longer. Arguments: threads, regions per sample, samples. Prints one number. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void sample(int threads, int regions) {
  for (int i = 0; i < regions; i++) {
#pragma omp parallel num_threads(threads)
    __asm__ volatile("" ::: "memory");
  }
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const int regions = argc > 2 ? atoi(argv[2]) : 200;
  const int samples = argc > 3 ? atoi(argv[3]) : 1000;
  double best = 1e18;
  sample(2, 10); /* a team of two loads the planner, also where one thread is measured */
  for (int i = 0; i < samples; i++) {
    const double start = now();
    sample(threads, regions);
    const double each = (now() - start) / regions;
    if (each < best) best = each;
  }
  printf("%.1f\n", best);
  return 0;
}
