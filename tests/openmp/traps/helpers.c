/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * libomp runs deferred target tasks on a hidden team of eight threads. Nobody planned for them: they must
 * keep all CPUs, though a bound thread started them. */
#include <omp.h>

#include "trap.h"

int main(void) {
  const int whole = mask_size();
  int seen = -1, bound = 0;
#pragma omp parallel num_threads(2) reduction(+ : bound)
  bound += mask_size() == 1;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target nowait map(tofrom : seen)
    seen = mask_size();
#pragma omp taskwait
  }
  expect("the number of bound threads", bound, 2);
  expect("a hidden helper's mask", seen, whole);
  return verdict();
}
