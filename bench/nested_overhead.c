/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of one parallel region, to see the share of a binding tool in it. The body is empty but for a
 * counter, so nearly all of the time is the runtime's fork and join. --teams 2 times regions of two threads
 * opened by the initial thread; --teams 1x2 times the inner regions only, opened over and over inside one
 * outer region. The minimum over the batches is the undisturbed cost, the median shows how often it is
 * disturbed. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bench.h"

enum { batches = 60 };

typedef struct counter {
  _Alignas(128) long value;
} counter;

/* Regions of `size` threads, opened by the calling thread; returns ns per region. */
static double time_regions(counter* passes, int size, int count, int outer) {
  double started = bench_seconds();
  for (int r = 0; r < count; r++) {
#pragma omp parallel num_threads(size)
    {
      passes[omp_get_thread_num()].value++;
      if (r == count - 1) bench_seen(outer, omp_get_thread_num());
    }
  }
  return 1e9 * (bench_seconds() - started) / count;
}

static void measure(int size, int outer, int repetitions, double* least, double* median, long* wrong) {
  double times[batches];
  counter* passes = aligned_alloc(128, sizeof(counter) * (size_t)size);
  if (!passes) abort();
  for (int i = 0; i < size; i++) passes[i].value = 0;
  int count = 1;
  double target = 1e6 * (repetitions > 0 ? 1.0 : 0.1); /* ns a batch */
  long total = 0;
  for (double ns = 0; ns * count < target && count < 1 << 20; total += count) {
    count *= 2;
    ns = time_regions(passes, size, count, outer);
  }
  for (int b = 0; b < batches; b++, total += count) times[b] = time_regions(passes, size, count, outer);
  *median = bench_median(times, batches);
  *least = times[0];
  *wrong = 0;
  for (int i = 0; i < size; i++) *wrong += passes[i].value != total;
  free(passes);
}

int main(int argc, char** argv) {
  bench_options options = bench_parse(argc, argv, "nested-overhead --teams Y|YxZ [--quick]");
  int nested = options.inner > 0;
  /* One level: the team is the innermost one, and its notes are kept as those of outer thread 0. */
  if (!nested) options.inner = options.outer, options.outer = 1;
  bench_begin("nested-overhead", &options);
  int effort = options.quick ? 0 : 1;
  int outer = options.outer;
  double* least = calloc((size_t)outer, sizeof *least);
  double* median = calloc((size_t)outer, sizeof *median);
  long* wrong = calloc((size_t)outer, sizeof *wrong);
  if (!least || !median || !wrong) return 1;
  if (nested) {
#pragma omp parallel num_threads(outer)
    {
      int self = omp_get_thread_num();
      measure(options.inner, self, effort, &least[self], &median[self], &wrong[self]);
    }
  } else {
    measure(options.inner, 0, effort, least, median, wrong);
  }
  double sum_least = 0, sum_median = 0;
  for (int i = 0; i < outer; i++) {
    sum_least += least[i], sum_median += median[i];
    if (wrong[i]) bench_error("team %d: %ld threads did not run in every region", i, wrong[i]);
  }
  bench_result("region min", sum_least / outer, "ns");
  bench_result("region", sum_median / outer, "ns");
  free(least), free(median), free(wrong);
  return bench_end(0);
}
