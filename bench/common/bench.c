/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Placement is noted from inside the threads with sched_getcpu(): one padded slot per path, so that taking
 * the note neither shares a cache line nor synchronises the threads that are being measured. A thread seen on
 * another PU than the last time counts as a move; a bound one never moves. */
#define _GNU_SOURCE
#include "bench.h"

#include <omp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct slot {
  _Alignas(128) int pu;
  int moves;
} slot;

static struct {
  const char* program;
  bench_options options;
  slot* slots;
  struct {
    const char* name;
    double value;
    const char* unit;
  } results[bench_max_results];
  int result_count;
  char errors[bench_max_errors][160];
  int error_count;
} state;

static _Noreturn void usage_error(const char* usage, const char* what, const char* value) {
  fprintf(stderr, "%s: '%s'\nusage: %s\n", what, value, usage);
  exit(2);
}

static long positive(const char* usage, const char* option, const char* text, long most) {
  char* end = NULL;
  long value = text ? strtol(text, &end, 10) : 0;
  if (!text || end == text || *end != '\0' || value < 1 || value > most)
    usage_error(usage, "not a number that this option takes", text ? text : option);
  return value;
}

static void parse_teams(const char* usage, const char* text, bench_options* out) {
  char rest = 0;
  out->inner = 0;
  int got = text ? sscanf(text, "%dx%d%c", &out->outer, &out->inner, &rest) : 0;
  int one_level = text && strchr(text, 'x') == NULL && sscanf(text, "%d%c", &out->outer, &rest) == 1;
  int valid = (got == 2 && out->inner >= 1) || one_level;
  if (!valid || out->outer < 1 || out->outer > 4096 || out->inner > 4096)
    usage_error(usage, "--teams takes OUTERxINNER, such as 4x2", text ? text : "");
}

bench_options bench_parse(int argc, char** argv, const char* usage) {
  bench_options out = {1, 1, 0, 0, 0};
  for (int i = 1; i < argc; i++) {
    const char* next = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--quick") == 0) {
      out.quick = 1;
    } else if (strcmp(argv[i], "--teams") == 0) {
      parse_teams(usage, next, &out), i++;
    } else if (strcmp(argv[i], "--bytes") == 0) {
      out.bytes = (size_t)positive(usage, argv[i], next, 1L << 46), i++;
    } else if (strcmp(argv[i], "--repetitions") == 0) {
      out.repetitions = (int)positive(usage, argv[i], next, 1000000), i++;
    } else {
      usage_error(usage, "unknown option", argv[i]);
    }
  }
  return out;
}

static int slot_count(void) {
  return state.options.outer * (state.options.inner > 0 ? state.options.inner : 1);
}

void bench_begin(const char* program, const bench_options* options) {
  state.program = program;
  state.options = *options;
  state.slots = aligned_alloc(_Alignof(slot), sizeof(slot) * (size_t)slot_count());
  if (!state.slots) {
    fprintf(stderr, "%s: no memory for the notes on %d threads\n", program, slot_count());
    exit(1);
  }
  for (int i = 0; i < slot_count(); i++) state.slots[i] = (slot){-1, 0};
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
}

void bench_seen(int i, int j) {
  slot* mine = &state.slots[i * (state.options.inner > 0 ? state.options.inner : 1) + j];
  int pu = sched_getcpu();
  if (mine->pu >= 0 && mine->pu != pu) mine->moves++;
  mine->pu = pu;
}

void bench_result(const char* name, double value, const char* unit) {
  if (state.result_count == bench_max_results) abort();
  state.results[state.result_count].name = name;
  state.results[state.result_count].value = value;
  state.results[state.result_count++].unit = unit;
}

void bench_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (state.error_count < bench_max_errors)
    vsnprintf(state.errors[state.error_count++], sizeof state.errors[0], format, arguments);
  va_end(arguments);
}

static int print_placement(void) {
  int moves = 0;
  printf("\"placement\": [");
  for (int i = 0; i < slot_count(); i++) {
    printf("%s%d", i ? ", " : "", state.slots[i].pu);
    moves += state.slots[i].moves;
  }
  printf("], ");
  return moves;
}

int bench_end(size_t size_bytes) {
  printf("{\"program\": \"%s\", \"outer\": %d, \"inner\": %d, \"size_bytes\": %zu, \"results\": [",
         state.program, state.options.outer, state.options.inner, size_bytes);
  for (int i = 0; i < state.result_count; i++)
    printf("%s{\"name\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"}", i ? ", " : "", state.results[i].name,
           state.results[i].value, state.results[i].unit);
  printf("], ");
  int moves = print_placement();
  printf("\"moves\": %d, \"verified\": %s, \"errors\": [", moves, state.error_count ? "false" : "true");
  for (int i = 0; i < state.error_count; i++) printf("%s\"%s\"", i ? ", " : "", state.errors[i]);
  printf("]}\n");
  free(state.slots);
  return state.error_count ? 1 : 0;
}

double bench_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int bench_compare_doubles(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double bench_median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, bench_compare_doubles);
  return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}
