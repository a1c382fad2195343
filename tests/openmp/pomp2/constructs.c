/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every construct and lock that opari2 instruments, each with a result that a missing or broken function of
 * the POMP2 library would spoil. Prints "sum N", which must be the same with and without instrumentation. */
#include <omp.h>
#include <stdio.h>

enum { N = 400 };
static omp_lock_t lock;
static omp_nest_lock_t nest_lock;

static long work_sharing(void) {
  long sum = 0;
  int order = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
  {
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < N; ++i) sum += i;
#pragma omp sections
    {
#pragma omp section
      sum += 1000;
#pragma omp section
      sum += 2000;
    }
#pragma omp single
    sum += 10000;
#pragma omp master
    sum += 20000;
#pragma omp barrier
#pragma omp for ordered
    for (int i = 0; i < 16; ++i) {
#pragma omp ordered
      {
        if (order == i) sum += 7;
        ++order;
      }
    }
  }
#pragma omp parallel for num_threads(3) reduction(+ : sum)
  for (int i = 0; i < N; ++i) sum += 2 * i;
#pragma omp parallel sections num_threads(2) reduction(+ : sum)
  {
#pragma omp section
    sum += 3;
#pragma omp section
    sum += 4;
  }
  return sum;
}

static long exclusion(void) {
  long critical = 0, atomic = 0, locked = 0, nested = 0;
  int ready = 0, tested = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp for
    for (int i = 0; i < N; ++i) {
#pragma omp critical(name)
      critical += i;
#pragma omp atomic
      atomic += i;
      omp_set_lock(&lock);
      locked += i;
      omp_unset_lock(&lock);
      omp_set_nest_lock(&nest_lock);
      omp_set_nest_lock(&nest_lock);
      nested += i;
      omp_unset_nest_lock(&nest_lock);
      omp_unset_nest_lock(&nest_lock);
    }
#pragma omp single
    {
      ready = 1;
#pragma omp flush(ready)
      tested = omp_test_lock(&lock);
      if (tested) omp_unset_lock(&lock);
      tested += 10 * omp_test_nest_lock(&nest_lock);
      omp_unset_nest_lock(&nest_lock);
    }
  }
  return critical + atomic + locked + nested + ready + tested;
}

static long tasks(void) {
  long sum = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    {
      for (int i = 0; i < N; ++i) {
#pragma omp task firstprivate(i) shared(sum)
        {
#pragma omp atomic
          sum += i;
        }
      }
#pragma omp taskwait
    }
  }
  return sum;
}

int main(void) {
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest_lock);
  long sum = work_sharing() + exclusion() + tasks();
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest_lock);
  printf("sum %ld\n", sum);
  return 0;
}
