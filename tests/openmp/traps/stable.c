/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Pools hand the same OS threads to different numbers as team sizes change. Over 100 rounds each thread
 * number of each team must be on the CPU it had the first time. */
#include <omp.h>

#include "trap.h"

enum { ROUNDS = 100 };
static int first_flat[4], first_outer[2], first_inner[2][2];

static void same(const char* what, int* first, int cpu) {
  if (*first == -2) *first = cpu;
#pragma omp critical
  {
    expect(what, cpu, *first);
    expect("whether it is bound", cpu >= 0, 1);
  }
}

int main(void) {
  for (int i = 0; i < 4; i++) first_flat[i] = first_inner[i / 2][i % 2] = -2;
  first_outer[0] = first_outer[1] = -2;
  omp_set_max_active_levels(2);
  for (int round = 0; round < ROUNDS && !trap_wrong; round++) {
#pragma omp parallel num_threads(4)
    same("the CPU in a team of four", &first_flat[omp_get_thread_num()], only_cpu());
#pragma omp parallel num_threads(2)
    {
      const int me = omp_get_thread_num();
      same("the CPU in a team of two", &first_outer[me], only_cpu());
#pragma omp parallel num_threads(2)
      same("the CPU in an inner team", &first_inner[me][omp_get_thread_num()], only_cpu());
    }
  }
  expect("whether the outer threads share a CPU", first_outer[0] == first_outer[1], 0);
  expect("whether threads 0 and 3 of four share a CPU", first_flat[0] == first_flat[3], 0);
  return verdict();
}
