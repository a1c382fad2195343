/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nested [OUTER INNER REPETITIONS]: two levels of teams whose threads say where they are (once). */
#include <omp.h>
#include <stdlib.h>

void observe(void);

int main(int argc, char** argv) {
  int outer = argc > 1 ? atoi(argv[1]) : 2, inner = argc > 2 ? atoi(argv[2]) : 2;
  int repetitions = argc > 3 ? atoi(argv[3]) : 1;
  omp_set_max_active_levels(2);
  for (int r = 0; r < repetitions; ++r) {
#pragma omp parallel num_threads(outer)
    {
      if (r == 0) observe();
#pragma omp parallel num_threads(inner)
      {
        if (r == 0) observe();
      }
    }
  }
  return 0;
}
