/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of the program: operations that are timed (operations.c), how they are timed (measure.c),
 * and which of them make a pattern (patterns.c). */
#ifndef NIGH_BENCH_WORK_H
#define NIGH_BENCH_WORK_H

#include "patterns.h"

extern transport t;

/* One call of an operation, with fresh buffers or not. */
typedef struct work {
  char *out, *in;
  char* window; /* what peers put into */
  size_t bytes;
  int fresh, turn;
} work;
typedef void (*operation)(work* w);

enum { window = 64 }; /* messages under way in op_rate */
void op_pingpong(work* w);
void op_sendrecv(work* w);
void op_halo(work* w);
void op_rate(work* w);
void op_put(work* w);
void op_barrier(work* w);
void op_bcast(work* w);
void op_reduce(work* w);
void op_allreduce(work* w);
void op_alltoall(work* w);
void op_neighbors(work* w);

/* One operation on known bytes; what is wrong is counted. */
void check(const char* name, operation run, work* w);
extern int errors;
extern char first_error[160];

typedef struct result {
  char name[48];
  double value;
  int near;
} result;
enum { most_results = 160 };
extern result results[most_results];
extern int result_count;

/* Verified and timed, one result: us for one operation, or `per` / s for one. */
typedef struct effort {
  int quick;
  size_t only; /* this size alone; 0: all */
} effort;
extern effort how;
void measure(const char* name, operation run, work* w, double per);
/* One run for each size; states: 1 fresh buffers only, 2 cached ones as well. */
void over_sizes(const char* what, operation run, const size_t* sizes, int count, work w, double per,
                int states);

#endif
