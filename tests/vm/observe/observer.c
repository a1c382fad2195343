// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// observer SIZES REPEATS: an ordinary nested OpenMP program ("4,4" opens teams of 4 in a team of 4) that
// knows nothing of nigh and tells where each of its threads was. Teams open again and again, so that a
// runtime's pools hand other threads to the same place; a barrier keeps all threads of a team alive together.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seen.h"

enum { most_levels = 4 };

static int sizes[most_levels];
static int levels;
static int short_teams;

static void open_team(const int* above, int level) {
#pragma omp parallel num_threads(sizes[level])
  {
    int path[most_levels] = {0};
    memcpy(path, above, sizeof(int) * (size_t)level);
    path[level] = omp_get_thread_num();
    if (omp_get_num_threads() != sizes[level]) {
#pragma omp atomic
      ++short_teams;
    }
    seen_note(path, level + 1);
    if (level == 1 && path[1] == 0) seen_next();
#pragma omp barrier
    if (level == 0) seen_await(path[0], sizes[0]);
    if (level + 1 < levels) open_team(path, level + 1);
  }
}

// A flat team as large as all the others together takes the pool's threads apart; the next inner teams open
// one after the other, each time another one first, and so get other threads.
static void shuffle(void) {
  int all = 1;
  for (int level = 0; level < levels; ++level) all *= sizes[level];
#pragma omp parallel num_threads(all)
  {
#pragma omp barrier
  }
}

int main(int argc, char** argv) {
  const int repeats = argc > 2 ? atoi(argv[2]) : 100;
  levels = argc > 1 ? seen_sizes(argv[1], sizes, most_levels) : 0;
  if (levels == 0 || repeats < 1) {
    fprintf(stderr, "usage: observer SIZES [REPEATS], SIZES like 4,2 (at most %d levels)\n", most_levels);
    return 2;
  }
  const int nobody[most_levels] = {0};
  for (int i = 0; i < repeats; ++i) {
    seen_turns(levels > 1 && i % 8 == 0 ? i / 8 : -1);
    open_team(nobody, 0);
    if (i % 8 == 7) shuffle();
  }
  seen_print();
  if (short_teams > 0) fprintf(stderr, "observer: %d threads were in a team of another size\n", short_teams);
  return short_teams > 0 ? 3 : 0;
}
