/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * libomp runs the teams of a league at the same time: they must not all sit on the first team's CPUs. */
#include <omp.h>

#include "trap.h"

int main(void) {
  int cpu[2] = {-1, -1}, sum = 0;
#pragma omp teams num_teams(2) reduction(+ : sum)
  {
    const int team = omp_get_team_num();
    cpu[team] = only_cpu();
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += mask_size() == 1;
  }
  expect("whether the teams' masters are bound", cpu[0] >= 0 && cpu[1] >= 0, 1);
  expect("whether the teams share a CPU", cpu[0] == cpu[1], 0);
  expect("the number of bound threads", sum, 4);
  return verdict();
}
