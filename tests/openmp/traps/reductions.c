/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Task reductions on a parallel region: libgomp's entry point reads the first word of the region's data
 * itself. */
#include <omp.h>

#include "trap.h"

int main(void) {
  int sum = 0, bound = 0;
#pragma omp parallel num_threads(2) reduction(task, + : sum) reduction(+ : bound)
  {
    bound += mask_size() == 1;
    for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : sum)
      sum += i;
    }
  }
  expect("the sum", sum, 2 * 45);
  expect("the number of bound threads", bound, 2);
  return verdict();
}
