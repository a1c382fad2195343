/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing in short batches. Around each batch ranks 0 and 1 hand a cache line to and fro: batches in which
 * their cores were near (one cache) and far are never mixed, since a virtual machine may be moved between the
 * two. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "work.h"

enum { most_batches = 400 };
static const double near_below =
    120e-9; /* there and back over two, as in nigh bench's own ping-pong with slack */

effort how;
result results[most_results];
int result_count;

static double now(void) {
  struct timespec s;
  clock_gettime(CLOCK_MONOTONIC, &s);
  return (double)s.tv_sec + 1e-9 * (double)s.tv_nsec;
}

void spin_until(volatile uint64_t* word, uint64_t value) {
  for (unsigned n = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; n++)
    if (n % 4096 == 0) sched_yield();
}

void meet(transport* all) {
  static uint64_t times;
  times++;
  __atomic_store_n(&all->place->arrived[all->rank][0], times, __ATOMIC_RELEASE);
  for (int r = 0; r < all->size; r++) spin_until(&all->place->arrived[r][0], times);
}

/* Rank r on the r-th CPU that we may use, as the launchers do; nowhere in particular if they do not suffice.
 */
void sit(int rank, int ranks) {
  cpu_set_t may, one;
  if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < ranks) return;
  int nth = rank, cpu = 0;
  for (; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &may) && nth-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* One way, seconds; 0 where there are not two ranks. Ranks 0 and 1 only. */
static double line_time(void) {
  static uint64_t turn;
  if (t.size < 2 || t.rank > 1) return 0;
  double best = 1;
  for (int k = 0; k < 3; k++) {
    double from = now();
    for (int i = 0; i < 40; i++) {
      turn++;
      if (t.rank == 0) {
        __atomic_store_n(&t.place->there, turn, __ATOMIC_RELEASE);
        spin_until(&t.place->back, turn);
      } else {
        spin_until(&t.place->there, turn);
        __atomic_store_n(&t.place->back, turn, __ATOMIC_RELEASE);
      }
    }
    double each = (now() - from) / 80;
    if (each < best) best = each;
  }
  return best;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static int repetitions(size_t bytes) {
  return bytes <= 512      ? 200
         : bytes <= 4096   ? 80
         : bytes <= 16384  ? 30
         : bytes <= 65536  ? 12
         : bytes <= 262144 ? 6
                           : 3;
}

/* Seconds of the slowest rank for one batch of `count`; all ranks know it. */
static double batch(operation run, work* w, int count) {
  meet(&t);
  double from = now();
  for (int i = 0; i < count; i++) {
    w->turn = i;
    run(w);
  }
  t.place->seconds[t.rank] = now() - from;
  if (run == op_put) t.barrier(); /* where libraries go on with what is put to this rank */
  meet(&t);
  double worst = 0;
  for (int r = 0; r < t.size; r++)
    if (t.place->seconds[r] > worst) worst = t.place->seconds[r];
  meet(&t);
  return worst / count;
}

/* Median of the near batches when there are enough, else of the far ones. Only rank 0's answer counts. */
static double median_of(double (*times)[most_batches], const int* counts, int* near) {
  *near = counts[1] >= 3 || counts[1] >= counts[0];
  int n = counts[*near];
  qsort(times[*near], (size_t)n, sizeof(double), by_value);
  return n ? times[*near][n / 2] : 0;
}

static void add_result(const char* name, double value, int near) {
  if (result_count == most_results) return;
  result* r = &results[result_count++];
  snprintf(r->name, sizeof r->name, "%s", name);
  r->value = value;
  r->near = near;
}

void measure(const char* name, operation run, work* w, double per) {
  static double times[2][most_batches];
  int counts[2] = {0, 0}, reps = repetitions(w->bytes), near = 0, batches = how.quick ? 9 : 25;
  w->turn = 1;
  check(name, run, w);
  batch(run, w, 2);
  const double patience = how.quick ? 0.15 : 1.0, begun = now();
  for (int b = 0; b < most_batches; b++) {
    double before = line_time(), each = batch(run, w, reps), after = line_time();
    int is_near = before < near_below, same = is_near == (after < near_below);
    if (t.rank == 0) {
      if (same) times[is_near][counts[is_near]++] = each;
      t.place->there = t.place->there; /* the line is ours again */
      /* No batch counted, since the cores moved within each: some more patience, or there is no figure. */
      double spent = now() - begun;
      int late = spent > (counts[0] + counts[1] ? patience : 20 * patience);
      t.place->cpu[most_ranks - 1] = counts[1] >= batches || (counts[0] >= batches && counts[1] == 0) || late;
    }
    meet(&t);
    int stop = t.place->cpu[most_ranks - 1];
    meet(&t);
    if (stop) break;
  }
  double each = median_of(times, counts, &near);
  if (each > 0) add_result(name, per > 0 ? per / each : 1e6 * each, near);
}

static void size_text(char* out, size_t room, const char* what, size_t bytes, const char* state) {
  const char* units[] = {"B", "KiB", "MiB"};
  int u = 0;
  while (u < 2 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, u++;
  snprintf(out, room, "%s%s%zu %s%s", what, *what ? " " : "", bytes, units[u], state);
}

void over_sizes(const char* what, operation run, const size_t* sizes, int count, work w, double per,
                int states) {
  char name[48];
  for (int s = 0; s < count; s++)
    for (int fresh = 1; fresh >= 2 - states; fresh--) {
      if (how.only && sizes[s] != how.only) continue;
      w.bytes = sizes[s];
      w.fresh = fresh;
      size_text(name, sizeof name, what, sizes[s], fresh ? "" : " cached");
      measure(name, run, &w, per);
    }
}
