/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A task runs when its thread has left the region's body and waits at the closing barrier. A region that
 * this task opens is still an inner one. (The account is what shows it: one outer region.) */
#include <omp.h>

#include "trap.h"

int main(void) {
  int done = 0, bound = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single nowait
  {
    const int me = omp_get_thread_num();
    for (int i = 0; i < 4; i++) {
#pragma omp task shared(done, bound)
      {
        int here = 0;
#pragma omp parallel num_threads(2) reduction(+ : here)
        here += mask_size() == 1;
        __atomic_add_fetch(&bound, here, __ATOMIC_RELAXED);
        if (omp_get_thread_num() != me) __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
      }
    }
    /* the other thread is at the barrier, and runs a task there before we come */
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) usleep(100);
  }
  expect("the number of bound threads in the tasks' regions", bound, 8);
  return verdict();
}
