/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The program's own affinity calls: they hold, what the thread starts inherits them, and the plan comes back
 * with the next region. */
#include <omp.h>
#include <pthread.h>

#include "trap.h"

static void* count(void* out) {
  *(int*)out = mask_size();
  return NULL;
}

static int region(void) {
  int bound = 0;
#pragma omp parallel num_threads(2) reduction(+ : bound)
  bound += mask_size() == 1;
  return bound;
}

int main(void) {
  cpu_set_t whole;
  int n = -1;
  pthread_t thread;
  sched_getaffinity(0, sizeof whole, &whole);
  expect("the number of bound threads", region(), 2);
  expect("sched_setaffinity's result", sched_setaffinity(0, sizeof whole, &whole), 0);
  expect("the mask after it", mask_size(), CPU_COUNT(&whole));
  pthread_create(&thread, NULL, count, &n);
  pthread_join(thread, NULL);
  expect("a thread's mask after it", n, CPU_COUNT(&whole));
  expect("the number of bound threads in the next region", region(), 2);
  pthread_setaffinity_np(pthread_self(), sizeof whole, &whole);
  expect("the mask after pthread_setaffinity_np", mask_size(), CPU_COUNT(&whole));
  expect("the number of bound threads in the last region", region(), 2);
  return verdict();
}
