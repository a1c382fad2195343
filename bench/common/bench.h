/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The common parts of the C benchmark programs: the command line, a note of the PU each thread was seen on,
 * and the one line of JSON in which every program reports. The programs are plain OpenMP and know nothing of
 * nigh, so that any way to bind them (or none) can be compared on the very same binary. */
#ifndef NIGH_BENCH_H
#define NIGH_BENCH_H

#include <stddef.h>

enum { bench_max_results = 16, bench_max_errors = 8 };

/* --teams 4x2: 4 outer threads that each open a team of 2; "4" means one level only (inner = 0). */
typedef struct bench_options {
  int outer;
  int inner;
  size_t bytes;    /* --bytes: what it means is the program's; 0 if not given */
  int repetitions; /* --repetitions; 0 if not given */
  int quick;       /* --quick */
} bench_options;

/* Reads the command line; on an error prints one sentence and exits with status 2. */
bench_options bench_parse(int argc, char** argv, const char* usage);

/* Sets OpenMP up for the two levels asked for (no dynamic teams) and makes room for the placement notes. */
void bench_begin(const char* program, const bench_options* options);

/* Called by a thread inside the innermost region: thread `j` of the team of outer thread `i`. */
void bench_seen(int i, int j);

void bench_result(const char* name, double value, const char* unit);
/* Says what is wrong with a result; the run then counts as not verified. Outside parallel regions. */
void bench_error(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the line; returns the exit status (0 verified, 1 not). */
int bench_end(size_t size_bytes);

double bench_seconds(void);
int bench_compare_doubles(const void* a, const void* b);
double bench_median(double* values, int count); /* sorts values */

#endif
