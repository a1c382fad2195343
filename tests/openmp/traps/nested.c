/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two levels of two threads, once; right if each outer thread has a CPU of its own, each inner one is bound,
 * and the result is right. Also what the tests of account, bad specs and missing parts run. With an argument:
 * expect no binding. */
#include <omp.h>

#include "trap.h"

int main(int argc, char** argv) {
  const int want_bound = argc < 2;
  (void)argv;
  int sum = 0, bound = 0, cpu[2] = {-1, -1};
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum, bound)
  {
    const int me = omp_get_thread_num();
    cpu[me] = only_cpu();
#pragma omp parallel num_threads(2) reduction(+ : sum, bound)
    {
      bound += mask_size() == 1;
      sum += 10 * me + omp_get_thread_num();
    }
  }
  expect("the sum", sum, 22);
  expect("the number of bound inner threads", bound, want_bound ? 4 : 0);
  if (want_bound) expect("whether the outer threads share a CPU", cpu[0] == cpu[1], 0);
  return verdict();
}
