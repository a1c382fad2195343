/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Nested STREAM: every outer thread has arrays of its own, its inner team touches them first and then runs
 * copy, scale, add and triad on them; the result is the bandwidth all teams reach together. Where the inner
 * team runs far from the pages it touched, or two teams crowd one memory, this number shows it. Each kernel
 * is timed from one barrier of the outer team to the next, so the slowest team counts; as in STREAM the best
 * repetition after the first is reported, and all elements are checked at the end. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/bench.h"

enum { copy, scale, add, triad, kernels };
static const char* const kernel_name[kernels] = {"copy", "scale", "add", "triad"};
static const int arrays_moved[kernels] = {2, 2, 3, 3};
static const double scalar = 3.0;

typedef struct team {
  _Alignas(128) double* a, *b, *c;
  int size;        /* threads the inner team really had */
  long wrong;      /* elements out of tolerance */
  double deviates; /* largest relative deviation */
} team;

static int first_touch(team* mine, long n, int inner) {
  size_t bytes = ((size_t)n * sizeof(double) + 4095) / 4096 * 4096;
  mine->a = aligned_alloc(4096, bytes);
  mine->b = aligned_alloc(4096, bytes);
  mine->c = aligned_alloc(4096, bytes);
  if (!mine->a || !mine->b || !mine->c) return 0;
  double *a = mine->a, *b = mine->b, *c = mine->c;
#pragma omp parallel num_threads(inner)
  {
#pragma omp single nowait
    mine->size = omp_get_num_threads();
#pragma omp for schedule(static)
    for (long i = 0; i < n; i++) a[i] = 1.0, b[i] = 2.0, c[i] = 0.0;
  }
  return 1;
}

/* One kernel by one inner team; `outer` is the number of the team, for the placement notes. */
static void run_kernel(int kernel, const team* mine, long n, int inner, int outer) {
  double* restrict a = mine->a, * restrict b = mine->b, * restrict c = mine->c;
#pragma omp parallel num_threads(inner)
  {
    switch (kernel) {
      case copy:
#pragma omp for schedule(static) nowait
        for (long i = 0; i < n; i++) c[i] = a[i];
        break;
      case scale:
#pragma omp for schedule(static) nowait
        for (long i = 0; i < n; i++) b[i] = scalar * c[i];
        break;
      case add:
#pragma omp for schedule(static) nowait
        for (long i = 0; i < n; i++) c[i] = a[i] + b[i];
        break;
      default:
#pragma omp for schedule(static) nowait
        for (long i = 0; i < n; i++) a[i] = b[i] + scalar * c[i];
        break;
    }
    bench_seen(outer, omp_get_thread_num());
  }
}

static void check_team(team* mine, long n, int repetitions, int inner) {
  double a = 1.0, b = 2.0, c = 0.0;
  for (int r = 0; r < repetitions; r++) c = a, b = scalar * c, c = a + b, a = b + scalar * c;
  const double *pa = mine->a, *pb = mine->b, *pc = mine->c;
  double worst = 0.0;
  long wrong = 0;
#pragma omp parallel for schedule(static) num_threads(inner) reduction(+ : wrong) reduction(max : worst)
  for (long i = 0; i < n; i++) {
    double off = fmax(fabs(pa[i] - a) / a, fmax(fabs(pb[i] - b) / b, fabs(pc[i] - c) / c));
    worst = fmax(worst, off);
    wrong += !(off < 1e-13);
  }
  mine->wrong = wrong;
  mine->deviates = worst;
}

/* Four times the last-level cache for each array (all teams' parts together), STREAM's own rule. */
static size_t default_bytes(int quick) {
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache <= 0) cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (cache <= 0) cache = 32L << 20;
  return quick ? (size_t)8 << 20 : 4 * (size_t)cache;
}

static void run_teams(const bench_options* options, team* teams, long n, int repetitions, double* best) {
  double started = 0.0;
  int failed = 0;
#pragma omp parallel num_threads(options->outer)
  {
    int self = omp_get_thread_num();
    team* mine = &teams[self];
    if (!first_touch(mine, n, options->inner)) {
#pragma omp atomic write
      failed = 1;
    }
#pragma omp barrier
    for (int step = 0; !failed && step < repetitions * kernels; step++) {
#pragma omp barrier
      if (self == 0) started = bench_seconds();
      run_kernel(step % kernels, mine, n, options->inner, self);
#pragma omp barrier
      if (self == 0) {
        double took = bench_seconds() - started;
        if (step >= kernels && took < best[step % kernels]) best[step % kernels] = took;
      }
    }
    if (!failed) check_team(mine, n, repetitions, options->inner);
    free(mine->a), free(mine->b), free(mine->c);
#pragma omp single
    if (omp_get_num_threads() != options->outer)
      bench_error("the outer team had %d threads instead of %d", omp_get_num_threads(), options->outer);
  }
  if (failed) bench_error("no memory for the arrays");
}

int main(int argc, char** argv) {
  bench_options options = bench_parse(
      argc, argv, "nested-stream --teams YxZ [--bytes PER_ARRAY_OVER_ALL_TEAMS] [--repetitions N] [--quick]");
  if (options.inner == 0) options.inner = 1;
  bench_begin("nested-stream", &options);
  size_t bytes = options.bytes ? options.bytes : default_bytes(options.quick);
  int repetitions = options.repetitions ? options.repetitions + 1 : options.quick ? 4 : 11;
  if (repetitions > 201) repetitions = 201; /* the values grow 15-fold each time and must stay finite */
  long n = (long)(bytes / sizeof(double) / (size_t)options.outer);
  if (n < 1) n = 1;

  double best[kernels] = {INFINITY, INFINITY, INFINITY, INFINITY};
  team* teams = aligned_alloc(128, sizeof(team) * (size_t)options.outer);
  if (!teams) return 1;
  for (int i = 0; i < options.outer; i++) teams[i] = (team){0};
  run_teams(&options, teams, n, repetitions, best);

  double array = (double)n * sizeof(double) * options.outer;
  for (int k = 0; k < kernels; k++)
    bench_result(kernel_name[k], 1e-6 * arrays_moved[k] * array / best[k], "MB/s");
  for (int i = 0; i < options.outer; i++) {
    if (teams[i].size != options.inner)
      bench_error("team %d had %d threads instead of %d", i, teams[i].size, options.inner);
    if (teams[i].wrong)
      bench_error("team %d: %ld elements are wrong by up to %.2g", i, teams[i].wrong, teams[i].deviates);
  }
  free(teams);
  return bench_end((size_t)(3 * array));
}
