/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Several pthreads that each open regions, two at once and then forty in turn, each ending with its TLS. */
#include <omp.h>
#include <pthread.h>

#include "trap.h"

static pthread_barrier_t both;

static int region(void) {
  int bound = 0;
#pragma omp parallel num_threads(2) reduction(+ : bound)
  bound += mask_size() == 1;
  return bound;
}

static void* at_once(void* unused) {
  (void)unused;
  pthread_barrier_wait(&both);
  const int bound = region();
  pthread_barrier_wait(&both);
  return (void*)(long)bound;
}

static void* in_turn(void* unused) {
  (void)unused;
  return (void*)(long)region();
}

static void run(void* (*body)(void*), int threads) {
  pthread_t t[2];
  void* bound;
  for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, body, NULL);
  for (int i = 0; i < threads; i++) {
    pthread_join(t[i], &bound);
    expect("the number of bound threads", (long)bound, 2);
  }
}

int main(void) {
  pthread_barrier_init(&both, NULL, 2);
  run(at_once, 2);
  for (int i = 0; i < 40; i++) run(in_turn, 1);
  return verdict();
}
