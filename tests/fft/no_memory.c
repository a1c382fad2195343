/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory ends in the middle of a call, at each allocation in turn: nothing is thrown through the C interface
 * of transposes and transforms, which would end the program. This program's malloc is everybody's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nigh/fft.h>
#include <nigh/transpose.h>

void* __libc_malloc(size_t bytes);
void* __libc_memalign(size_t align, size_t bytes);

static long left = -1; /* allocations; negative: there is no end */
static int enough(void) {
  if (left < 0) return 1;
  if (left > 0) return --left, 1;
  errno = ENOMEM;
  return 0;
}
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  return enough() ? __libc_malloc(bytes) : NULL;
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t align, size_t bytes) {
  return enough() ? __libc_memalign(align, bytes) : NULL;
}

static double a[4096], b[4096];
static const size_t n[2] = {24, 40};
static nigh_fft* transform;
static nigh_transpose* turn;

static int plan_transform(void) {
  nigh_fft* plan =
      nigh_fft_plan(2, n, -1, NIGH_FFT_REAL | NIGH_FFT_TRANSPOSED_OUT, a, sizeof a, b, sizeof b, 1);
  nigh_fft_destroy(plan);
  return plan != NULL;
}
static int plan_long_transform(void) {
  const size_t prime = 211;
  nigh_fft* plan = nigh_fft_plan(1, &prime, 1, 0, a, sizeof a, b, sizeof b, 1);
  nigh_fft_destroy(plan);
  return plan != NULL;
}
static int plan_turn(void) {
  nigh_transpose* plan = nigh_transpose_local_many(3, 20, 30, 8, a, 0, 0, b, 0, 0, 1);
  nigh_transpose_destroy(plan);
  return plan != NULL;
}
static int plan_copy(void) {
  nigh_transpose* plan = nigh_transpose_copy_many(3, 20, 30, 8, a, 0, 0, b, 0, 0, 1);
  nigh_transpose_destroy(plan);
  return plan != NULL;
}
static int refuse(void) { /* the sentence needs memory, too */
  return nigh_fft_plan(2, n, 7, 0, a, sizeof a, b, sizeof b, 1) == NULL &&
         nigh_transpose_local(20, 30, 5, a, 30, b, 20, 1) == NULL;
}
static int explain_transform(void) {
  char text[500];
  return nigh_fft_explain(transform, text, sizeof text) > 0;
}
static int explain_turn(void) { return nigh_transpose_explain(turn, NULL, 0) > 0; }
static int run_transform(void) { return nigh_fft_execute(transform) == 0; }
static int run_turn(void) { return nigh_transpose_execute(turn) == 0; }
static int find_factor(void) { return nigh_fft_factor((size_t)-1) == 4294967295U; }

/* Told with every number of allocations, until they are enough; how often they were not. */
static long failed_times(int (*call)(void)) {
  for (long allowed = 0;; ++allowed) {
    left = allowed;
    const int succeeds = call();
    left = -1;
    if (succeeds) return allowed;
  }
}

int main(void) {
  transform = nigh_fft_plan(2, n, -1, 0, a, sizeof a, a, sizeof a, 1);
  turn = nigh_transpose_local(40, 30, 8, a, 30, a, 40, 1); /* in place, not square */
  if (transform == NULL || turn == NULL) return 1;
  const struct {
    const char* name;
    int (*call)(void);
    int needs; /* memory */
  } calls[] = {{"nigh_fft_plan", plan_transform, 1},
               {"nigh_fft_plan of a prime", plan_long_transform, 1},
               {"nigh_transpose_local_many", plan_turn, 1},
               {"nigh_transpose_copy_many", plan_copy, 1},
               {"what is refused", refuse, 0},
               {"nigh_fft_explain", explain_transform, 1},
               {"nigh_transpose_explain", explain_turn, 1},
               {"nigh_fft_execute", run_transform, 0},
               {"nigh_transpose_execute", run_turn, 1},
               {"nigh_fft_factor", find_factor, 0}};
  int wrong = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    const long times = failed_times(calls[i].call);
    printf("%s: failed %ld times without memory, then succeeded\n", calls[i].name, times);
    wrong |= calls[i].needs && times == 0;
  }
  const char* said = nigh_transpose_why();
  if (strstr(said, "memory") == NULL) wrong |= printf("nigh_transpose_why() says: %s\n", said) > 0;
  nigh_fft_destroy(transform);
  nigh_transpose_destroy(turn);
  return wrong;
}
