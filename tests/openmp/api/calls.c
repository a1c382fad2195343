/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets a plan, uses it, asks for another from inside a region, and offers a bad one. C and C++; with
 * -DDECLARED_ONLY the function comes from an archive. Each "== NAME" heads the places seen from then on. */
#include <omp.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef DECLARED_ONLY
int omp_set_nesting_info(const char* spec);
#else
#include <nigh/omp.h>
#endif
void observe(void);
#ifdef __cplusplus
}
#endif

static void regions(const char* name, const char* spec_inside) {
  printf("== %s\n", name);
  fflush(stdout);
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    if (spec_inside != NULL) omp_set_nesting_info(spec_inside);
#pragma omp parallel num_threads(2)
    observe();
  }
}

int main(void) {
  int good, bad;
  omp_set_max_active_levels(2);
  good = omp_set_nesting_info("2,scatter,2,subcompact");
  regions("first", "2,scatter,2,scatter"); /* the inner teams here belong to the plan before */
  regions("changed", NULL);
  bad = omp_set_nesting_info("2,scatter,2,nowhere");
  regions("kept", NULL);
  printf("== status %d %d\n", good, bad);
  return 0;
}
