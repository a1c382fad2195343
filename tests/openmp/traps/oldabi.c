/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Code as gcc before 4.9 compiled it: two calls, and between them the master runs the body itself. Nested,
 * and with every kind of start. */
#include <omp.h>

#include "trap.h"

typedef void body(void*);
extern void GOMP_parallel_start(body*, void*, unsigned);
extern void GOMP_parallel_sections_start(body*, void*, unsigned, unsigned);
extern void GOMP_parallel_loop_static_start(body*, void*, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_dynamic_start(body*, void*, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_guided_start(body*, void*, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_runtime_start(body*, void*, unsigned, long, long, long);
extern void GOMP_parallel_end(void);
extern int GOMP_loop_static_next(long*, long*);
extern int GOMP_loop_dynamic_next(long*, long*);
extern int GOMP_loop_guided_next(long*, long*);
extern int GOMP_loop_runtime_next(long*, long*);
extern void GOMP_loop_end_nowait(void);
extern unsigned GOMP_sections_next(void);
extern void GOMP_sections_end_nowait(void);

static int runs, loose, sum;

static void look(void) {
  __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
  if (mask_size() != 1) __atomic_add_fetch(&loose, 1, __ATOMIC_RELAXED);
}

static void inner(void* data) {
  (void)data;
  look();
}

static void outer(void* data) {
  look();
  GOMP_parallel_start(inner, data, 2);
  inner(data);
  GOMP_parallel_end();
}

static void loop(void* next) {
  long from, to;
  look();
  while (((char (*)(long*, long*))next)(&from, &to))
    for (; from < to; from++) __atomic_add_fetch(&sum, (int)from, __ATOMIC_RELAXED);
  GOMP_loop_end_nowait();
}

static void some_sections(void* data) {
  (void)data;
  look();
  for (unsigned i; (i = GOMP_sections_next());) __atomic_add_fetch(&sum, (int)i, __ATOMIC_RELAXED);
  GOMP_sections_end_nowait();
}

static void check(const char* what, int wanted_runs, int wanted_sum) {
  expect(what, runs, wanted_runs);
  expect("loose threads", loose, 0);
  expect("the sum", sum, wanted_sum);
  runs = loose = sum = 0;
}

#define RUN_LOOP(kind, next, ...)                                       \
  GOMP_parallel_loop_##kind##_start(loop, next, 2, 0, 10, __VA_ARGS__); \
  loop(next);                                                           \
  GOMP_parallel_end();                                                  \
  check(#kind, 2, 45)

int main(void) {
  omp_set_max_active_levels(2);
  for (int i = 0; i < 2; i++) {
    GOMP_parallel_start(outer, NULL, 2);
    outer(NULL);
    GOMP_parallel_end();
    check("parallel", 6, 0);
  }
  RUN_LOOP(static, (void*)GOMP_loop_static_next, 1, 0);
  RUN_LOOP(dynamic, (void*)GOMP_loop_dynamic_next, 1, 1);
  RUN_LOOP(guided, (void*)GOMP_loop_guided_next, 1, 1);
  RUN_LOOP(runtime, (void*)GOMP_loop_runtime_next, 1);
  GOMP_parallel_sections_start(some_sections, NULL, 2, 4);
  some_sections(NULL);
  GOMP_parallel_end();
  check("sections", 2, 10);
  return verdict();
}
