/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every kind of parallel region a compiler has an entry point for: right sums, and every thread bound, in
 * each. */
#include <omp.h>

#include "trap.h"

enum { N = 64, SUM = N * (N - 1) / 2 };
static int loose; /* iterations that ran on a thread that was not bound */

static int visit(int i) {
  if (mask_size() != 1) __atomic_add_fetch(&loose, 1, __ATOMIC_RELAXED);
  return i;
}

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, clauses)                                          \
  static int name(void) {                                            \
    int s = 0;                                                       \
    PRAGMA(omp parallel for num_threads(3) reduction(+ : s) clauses) \
    for (int i = 0; i < N; i++) s += visit(i);                       \
    return s;                                                        \
  }
LOOP(loop_plain, )
LOOP(loop_static, schedule(static, 3))
LOOP(loop_dynamic, schedule(dynamic, 2))
LOOP(loop_dynamic_monotonic, schedule(monotonic : dynamic, 2))
LOOP(loop_guided, schedule(guided))
LOOP(loop_guided_monotonic, schedule(monotonic : guided))
LOOP(loop_runtime, schedule(runtime))
LOOP(loop_runtime_nonmonotonic, schedule(nonmonotonic : runtime))
LOOP(loop_runtime_monotonic, schedule(monotonic : runtime))
LOOP(loop_auto, schedule(auto))

static int ordered(void) {
  int s = 0;
#pragma omp parallel for num_threads(3) ordered schedule(dynamic)
  for (int i = 0; i < N; i++) {
#pragma omp ordered
    s += visit(i);
  }
  return s;
}

static int sections(void) {
  int a = 0, b = 0;
#pragma omp parallel sections num_threads(3)
  {
#pragma omp section
    a = visit(1);
#pragma omp section
    b = visit(SUM - 1);
  }
  return a + b;
}

static int bare(void) {
  int s = 0;
#pragma omp parallel num_threads(3) reduction(+ : s)
  s += visit(SUM / 3);
  return s;
}

static int taskloop(void) {
  int s = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskloop reduction(+ : s)
  for (int i = 0; i < N; i++) s += visit(i);
  return s;
}

static int cancelled(void) {
  int s = 0;
#pragma omp parallel num_threads(3) shared(s)
  {
#pragma omp atomic
    s += visit(SUM / 3);
#pragma omp cancel parallel
#pragma omp barrier
  }
  return s;
}

/* A lone thread's region binds nobody: the sum must be right, that is all. */
static int lone(void) {
  int s = 0;
#pragma omp parallel num_threads(3) if (loose > N) reduction(+ : s)
  s += SUM;
  return s;
}

static int nested_in_teams(void) {
  int s = 0;
#pragma omp teams num_teams(1) reduction(+ : s)
  {
#pragma omp parallel num_threads(2) reduction(+ : s)
    s += visit(0);
  }
  return s + SUM;
}

#define CHECK(name)                                 \
  do {                                              \
    loose = 0;                                      \
    expect(#name, name(), SUM);                     \
    expect("loose iterations in " #name, loose, 0); \
  } while (0)

int main(void) {
  CHECK(loop_plain);
  CHECK(loop_static);
  CHECK(loop_dynamic);
  CHECK(loop_dynamic_monotonic);
  CHECK(loop_guided);
  CHECK(loop_guided_monotonic);
  CHECK(loop_runtime);
  CHECK(loop_runtime_nonmonotonic);
  CHECK(loop_runtime_monotonic);
  CHECK(loop_auto);
  CHECK(ordered);
  CHECK(sections);
  CHECK(bare);
  CHECK(taskloop);
  CHECK(cancelled);
  CHECK(lone);
  CHECK(nested_in_teams);
  return verdict();
}
