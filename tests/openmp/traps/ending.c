/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways to end: exit from another thread while a team still runs, _exit, a forked child that exits. */
#include <omp.h>
#include <pthread.h>

#include "trap.h"

static void* leave(void* unused) {
  (void)unused;
  usleep(20000);
  exit(0);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += 1;
  if (!strcmp(how, "_exit")) _exit(sum != 2);
  if (!strcmp(how, "fork")) {
    if (fork() == 0) exit(0);
    wait(NULL);
  }
  if (!strcmp(how, "thread")) {
    pthread_t t;
    pthread_create(&t, NULL, leave, NULL);
    for (;;) {
#pragma omp parallel num_threads(2)
      usleep(10);
    }
  }
  return sum != 2;
}
