/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * omp_set_nesting_info: a program says itself how its nested teams are placed, in the words of
 * OMP_NESTING_TEAM_SIZE. This header is all that C and C++ need: the definition below is weak and finds nigh
 * in the running process, so a program that calls it compiles, links and runs the same where nigh is not
 * there. (glibc before 2.34 wants -ldl. Fortran: nigh_omp.f90. A bare external Fortran call: link with
 * -lnigh-omp.) */
#ifndef NIGH_OMP_H
#define NIGH_OMP_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function itself, where it was linked in (libnigh-pomp2.a); the preloaded library's is found by name. */
extern int nigh_omp_set_nesting_info(const char* spec) __attribute__((weak));

/* Places the teams of the next outermost parallel region, and of all later ones, by `spec`, for example
 * "4,scatter,2,subcompact". Returns 0; or -1, after one sentence on stderr, if the spec is wrong (the plan
 * so far stays); or -1, quietly, if nigh does not run this program. */
int omp_set_nesting_info(const char* spec);

__attribute__((weak)) int omp_set_nesting_info(const char* spec) {
  int (*set)(const char*) = NULL;
  void* found = dlsym(NULL /* RTLD_DEFAULT */, "nigh_omp_set_nesting_info");
  if (found != NULL)
    *(void**)(&set) = found;
  else
    set = nigh_omp_set_nesting_info;
  return set != NULL ? set(spec) : -1;
}

#ifdef __cplusplus
}
#endif
#endif
