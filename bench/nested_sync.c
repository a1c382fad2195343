/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Nested syncbench, after the EPCC OpenMP microbenchmarks: all inner teams at once synchronise over and over,
 * and what a construct costs is the time of many passes with it, less the time of the same delay loop without
 * it (the reference, run by one thread of each team), divided by the passes. The mean of the teams makes one
 * repetition; the average and the minimum over the repetitions are reported. Teams start each repetition
 * together, at a barrier of the outer team, since one team's synchronisation may disturb its neighbour's.
 * Every pass is counted, and a separate round proves that the barrier holds threads back. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bench.h"

enum { parallel, barrier, reduction, worksharing, single, constructs, reference = constructs };
static const char* const construct_name[constructs] = {"parallel", "barrier", "reduction", "for", "single"};

typedef struct counter {
  _Alignas(128) long value;
} counter;

typedef struct team {
  _Alignas(128) counter* passes; /* one per thread */
  long expected;                 /* what each counter must show, or their sum for `shared` */
  long shared, shared_expected;  /* reduction, for and single */
  long early;                    /* threads seen to pass a barrier too early */
  int size;
  double seconds; /* of the latest run */
} team;

static int delay_length = 500;

/* EPCC's delay: work that the compiler can't remove and that touches no shared memory. */
static __attribute__((noinline)) void delay(int length) {
  float a = 0.0f;
  for (int i = 0; i < length; i++) a += (float)i;
  if (a < 0) printf("%f\n", (double)a);
}

static void run_parallel(team* mine, int passes, int inner, int outer) {
  for (int p = 0; p < passes; p++) {
#pragma omp parallel num_threads(inner)
    {
      delay(delay_length);
      mine->passes[omp_get_thread_num()].value++;
      if (p == passes - 1) bench_seen(outer, omp_get_thread_num());
    }
  }
  mine->expected += passes;
}

static void run_barrier(team* mine, int passes, int inner) {
#pragma omp parallel num_threads(inner)
  for (int p = 0; p < passes; p++) {
    delay(delay_length);
    mine->passes[omp_get_thread_num()].value++;
#pragma omp barrier
  }
  mine->expected += passes;
}

static void run_reduction(team* mine, int passes, int inner) {
  long sum = 0;
  for (int p = 0; p < passes; p++) {
#pragma omp parallel num_threads(inner) reduction(+ : sum)
    {
      delay(delay_length);
      sum += omp_get_thread_num() + 1;
    }
  }
  mine->shared += sum;
  mine->shared_expected += (long)passes * inner * (inner + 1) / 2;
}

static void run_for(team* mine, int passes, int inner) {
#pragma omp parallel num_threads(inner)
  for (int p = 0; p < passes; p++) {
#pragma omp for schedule(static)
    for (int i = 0; i < inner; i++) {
      delay(delay_length);
      mine->passes[i].value++;
    }
  }
  mine->expected += passes;
}

static void run_single(team* mine, int passes, int inner) {
  long entered = 0;
#pragma omp parallel num_threads(inner)
  for (int p = 0; p < passes; p++) {
#pragma omp single
    {
      delay(delay_length);
      entered++;
    }
  }
  mine->shared += entered;
  mine->shared_expected += passes;
}

static void run_construct(int construct, team* mine, int passes, int inner, int outer) {
  double started = bench_seconds();
  switch (construct) {
    case parallel: run_parallel(mine, passes, inner, outer); break;
    case barrier: run_barrier(mine, passes, inner); break;
    case reduction: run_reduction(mine, passes, inner); break;
    case worksharing: run_for(mine, passes, inner); break;
    case single: run_single(mine, passes, inner); break;
    default:
      for (int p = 0; p < passes; p++) delay(delay_length);
      break;
  }
  mine->seconds = bench_seconds() - started;
}

/* A barrier that works lets nobody see a neighbour that is behind. */
static void prove_barrier(team* mine, int inner) {
  long early = 0;
  for (int i = 0; i < inner; i++) mine->passes[i].value = 0;
#pragma omp parallel num_threads(inner) reduction(+ : early)
  for (long p = 1; p <= 64; p++) {
    int self = omp_get_thread_num();
#pragma omp atomic write
    mine->passes[self].value = p;
#pragma omp barrier
    for (int i = 0; i < inner; i++) {
      long seen;
#pragma omp atomic read
      seen = mine->passes[i].value;
      early += seen < p;
    }
#pragma omp barrier
  }
  mine->early = early;
}

static void open_team(team* mine, int inner) {
  mine->passes = aligned_alloc(128, sizeof(counter) * (size_t)inner);
  if (!mine->passes) abort();
  for (int i = 0; i < inner; i++) mine->passes[i].value = 0;
#pragma omp parallel num_threads(inner)
#pragma omp single
  mine->size = omp_get_num_threads();
}

static double mean_seconds(const team* teams, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; i++) sum += teams[i].seconds;
  return sum / count;
}

/* Called by every outer thread: one run of a construct by all teams, started together. */
static void run_together(int construct, team* teams, int passes, const bench_options* options) {
  int self = omp_get_thread_num();
#pragma omp barrier
  run_construct(construct, &teams[self], passes, options->inner, self);
#pragma omp barrier
}

/* Passes that take about `target` seconds: doubled until they do. Every outer thread gets the same answer. */
static int calibrate(int construct, team* teams, double target, const bench_options* options) {
  int passes = 1;
  for (; passes < 1 << 20; passes *= 2) {
    run_together(construct, teams, passes, options);
    if (mean_seconds(teams, options->outer) >= target) break;
  }
  return passes;
}

static void measure(team* teams, int repetitions, const bench_options* options, double* average,
                    double* least) {
  double target = options->quick ? 5e-4 : 5e-3;
#pragma omp parallel num_threads(options->outer)
  {
    team* mine = &teams[omp_get_thread_num()];
    open_team(mine, options->inner);
    int reference_passes = calibrate(reference, teams, target, options);
    for (int c = 0; c < constructs; c++) {
      int passes = calibrate(c, teams, target, options);
      for (int r = 0; r < repetitions; r++) {
        run_together(reference, teams, reference_passes, options);
        double base = mean_seconds(teams, options->outer) / reference_passes;
        run_together(c, teams, passes, options);
        double overhead = 1e6 * (mean_seconds(teams, options->outer) / passes - base);
#pragma omp single
        {
          average[c] += overhead / repetitions;
          if (r == 0 || overhead < least[c]) least[c] = overhead;
        }
      }
    }
#pragma omp single
    if (omp_get_num_threads() != options->outer)
      bench_error("the outer team had %d threads instead of %d", omp_get_num_threads(), options->outer);
  }
}

static void check_team(int number, const team* mine, int inner) {
  if (mine->size != inner) {
    bench_error("team %d had %d threads instead of %d", number, mine->size, inner);
    return;
  }
  for (int i = 0; i < inner; i++)
    if (mine->passes[i].value != mine->expected)
      bench_error("team %d: thread %d made %ld passes instead of %ld", number, i, mine->passes[i].value,
                  mine->expected);
  if (mine->shared != mine->shared_expected)
    bench_error("team %d: the sums are %ld instead of %ld", number, mine->shared, mine->shared_expected);
}

int main(int argc, char** argv) {
  bench_options options = bench_parse(argc, argv, "nested-sync --teams YxZ [--repetitions N] [--quick]");
  if (options.inner == 0) options.inner = 1;
  bench_begin("nested-sync", &options);
  int repetitions = options.repetitions ? options.repetitions : options.quick ? 5 : 20;
  team* teams = aligned_alloc(128, sizeof(team) * (size_t)options.outer);
  if (!teams) return 1;
  for (int i = 0; i < options.outer; i++) teams[i] = (team){0};

  double average[constructs] = {0}, least[constructs] = {0};
  measure(teams, repetitions, &options, average, least);

  static const char* const least_name[constructs] = {"parallel min", "barrier min", "reduction min",
                                                     "for min", "single min"};
  for (int c = 0; c < constructs; c++) {
    bench_result(construct_name[c], average[c], "us");
    bench_result(least_name[c], least[c], "us");
  }
  for (int i = 0; i < options.outer; i++) check_team(i, &teams[i], options.inner);
#pragma omp parallel num_threads(options.outer)
  if (teams[omp_get_thread_num()].size == options.inner)
    prove_barrier(&teams[omp_get_thread_num()], options.inner);
  for (int i = 0; i < options.outer; i++) {
    if (teams[i].early)
      bench_error("team %d: %ld times a barrier let a thread pass early", i, teams[i].early);
    free(teams[i].passes);
  }
  free(teams);
  return bench_end(0);
}
