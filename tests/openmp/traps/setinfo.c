/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that says its plan itself, with nothing in the environment. */
#include <omp.h>

#include "nigh/omp.h"
#include "trap.h"

static int bound_pairs(int outer) {
  int bound = 0;
#pragma omp parallel num_threads(outer) reduction(+ : bound)
  {
#pragma omp parallel num_threads(2) reduction(+ : bound)
    bound += mask_size() == 1;
  }
  return bound;
}

int main(void) {
  expect("bound threads before", bound_pairs(2), 0);
  expect("a good spec's result", omp_set_nesting_info("2,scatter,2,subcompact"), 0);
  expect("bound threads after", bound_pairs(2), 4);
  expect("a bad spec's result", omp_set_nesting_info("2,scatter,two,subcompact"), -1);
  expect("bound threads after a bad spec", bound_pairs(2), 4);
  for (int i = 0; i < 1000; i++)
    omp_set_nesting_info(i % 2 ? "2,compact,2,subcompact" : "2,scatter,2,subcompact");
  expect("bound threads after many", bound_pairs(2), 4);
  return verdict();
}
