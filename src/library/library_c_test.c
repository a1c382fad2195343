/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The C interface from C: the header compiles as C11, the library links without a C++ compiler, and the
 * slide's map comes out. Every check that fails is named; the exit status is their number. */
#include <stdio.h>
#include <string.h>

#include "nigh/plan.h"

static int failures;

static void expect(int true_or_not, const char* what) {
  if (true_or_not) return;
  fprintf(stderr, "library_c_test: not so: %s\n", what);
  ++failures;
}

int main(void) {
  int cpus[16], index[1], size[1] = {4}, thread, inner, i;
  const int expected[4][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
  nigh_place places[4];
  char err[256];
  nigh_planner* planner;
  for (i = 0; i < 16; ++i) cpus[i] = i;
  expect(nigh_plan_abi() == NIGH_PLAN_ABI, "the library and the header are of one version");
  planner = nigh_planner_new("4,scatter,4,subscatter", cpus, 16, "synthetic:pack:4 numa:1 core:4 pu:1", err,
                             sizeof err);
  if (planner == NULL) {
    fprintf(stderr, "library_c_test: %s\n", err);
    return 99;
  }
  expect(err[0] == '\0', "no error is left behind");
  for (thread = 0; thread < 4; ++thread) {
    index[0] = thread;
    expect(nigh_planner_team(planner, 0, 1, index, size, 4, places) == 0, "a team is planned");
    for (inner = 0; inner < 4; ++inner)
      expect(places[inner].pu == expected[thread][inner], "the map of slide 11");
  }
  nigh_planner_free(planner);
  nigh_planner_free(NULL);
  expect(nigh_planner_new("4,scater", NULL, 0, NULL, err, sizeof err) == NULL, "a wrong spec is refused");
  expect(strstr(err, "did you mean scatter?") != NULL, "and the sentence helps");
  return failures;
}
