/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The patterns of seed 003's figures: ping-pong, Exchange, Sendrecv, message rate, and collectives, timed in
 * short batches. Around each batch ranks 0 and 1 hand a cache line to and fro: batches in which their cores
 * were near (one cache) and far are never mixed, since a virtual machine may be moved between the two.
 * "fresh": the buffer is written before each operation and the result read after it, one access a line,
 * inside the time, as a program does; "cached": nothing is touched between operations, as most benchmarks do.
 * Every operation's result is verified once a size. */
#define _GNU_SOURCE
#include "patterns.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_results = 160, most_batches = 400 };
static const double near_below =
    120e-9; /* there and back over two, as in nigh bench's own ping-pong with slack */

typedef struct options {
  const char *pattern, *transport;
  int ranks, quick;
  size_t only; /* --size: this one alone */
} options;

typedef struct result {
  char name[48];
  double value;
  int near;
} result;

static transport t;
static options opt;
static result results[most_results];
static int result_count, errors;
static char first_error[160];
static const char* unit = "us";
static volatile long sink;

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

static void fail_check(const char* what, size_t bytes) {
  if (!errors++)
    snprintf(first_error, sizeof first_error, "%s of %zu bytes gave a wrong result in rank %d", what, bytes,
             t.rank);
}

__attribute__((noinline)) static void rewrite(char* data, size_t bytes, int value) {
  for (size_t i = 0; i < bytes; i += 64) *(volatile char*)(data + i) = (char)value;
}

__attribute__((noinline)) static void read_all(const char* data, size_t bytes) {
  long sum = 0;
  for (size_t i = 0; i < bytes; i += 64) sum += *(const volatile char*)(data + i);
  sink += sum;
}

/* ---- the operations that are timed: one call each, with `fresh` buffers or not ---- */
typedef struct work {
  char *out, *in;
  size_t bytes;
  int fresh, turn;
} work;
typedef void (*operation)(work* w);

static void op_pingpong(work* w) {
  if (t.rank > 1) return;
  for (int half = 0; half < 2; half++)
    if (half == t.rank) {
      if (w->fresh) rewrite(w->out, w->bytes, w->turn);
      t.send(w->out, w->bytes, 1 - t.rank);
    } else {
      t.receive(w->in, w->bytes, 1 - t.rank);
      if (w->fresh) read_all(w->in, w->bytes);
    }
}

static void op_sendrecv(work* w) {
  if (w->fresh) rewrite(w->out, w->bytes, w->turn);
  t.exchange(w->out, w->in, w->bytes, (t.rank + 1) % t.size, (t.rank + t.size - 1) % t.size);
  if (w->fresh) read_all(w->in, w->bytes);
}

static void op_halo(work* w) {
  const void* out[2] = {w->out, w->out + w->bytes};
  void* in[2] = {w->in, w->in + w->bytes};
  if (w->fresh) rewrite(w->out, 2 * w->bytes, w->turn);
  t.halo(out, in, w->bytes, (t.rank + t.size - 1) % t.size, (t.rank + 1) % t.size);
  if (w->fresh) read_all(w->in, 2 * w->bytes);
}

enum { window = 64 };
static void op_rate(work* w) {
  int pairs = t.size / 2, peer = t.rank < pairs ? t.rank + pairs : t.rank - pairs;
  if (t.rank >= 2 * pairs) return;
  if (t.rank < pairs) {
    t.send_many(w->out, w->bytes, window, peer);
    t.receive(w->in, 4, peer);
  } else {
    t.receive_many(w->in, w->bytes, window, peer);
    t.send(w->out, 4, peer);
  }
}

static void op_barrier(work* w) {
  (void)w;
  t.barrier();
}
static void op_bcast(work* w) {
  int root = w->turn % t.size;
  if (w->fresh && t.rank == root) rewrite(w->out, w->bytes, w->turn);
  t.bcast(w->out, w->bytes, root);
  if (w->fresh && t.rank != root) read_all(w->out, w->bytes);
}
static void op_reduce(work* w) {
  int root = w->turn % t.size;
  if (w->fresh) rewrite(w->out, w->bytes, 0);
  t.reduce((double*)w->out, (double*)w->in, w->bytes / sizeof(double), root);
  if (w->fresh && t.rank == root) read_all(w->in, w->bytes);
}
static void op_allreduce(work* w) {
  if (w->fresh) rewrite(w->out, w->bytes, 0);
  t.allreduce((double*)w->out, (double*)w->in, w->bytes / sizeof(double));
  if (w->fresh) read_all(w->in, w->bytes);
}
static void op_alltoall(work* w) {
  size_t all = w->bytes * (size_t)t.size;
  if (w->fresh) rewrite(w->out, all, w->turn);
  t.alltoall(w->out, w->in, w->bytes);
  if (w->fresh) read_all(w->in, all);
}

/* ---- verification: one operation on known bytes ---- */
static char mark(size_t i, int rank, int peer) {
  return (char)(i * 7 + (size_t)rank * 31 + (size_t)peer * 11 + 5);
}

static void fill(char* data, size_t bytes, int peer) {
  for (size_t i = 0; i < bytes; i++) data[i] = mark(i, t.rank, peer);
}
static int wrong(const char* data, size_t bytes, int from, int peer) {
  for (size_t i = 0; i < bytes; i++)
    if (data[i] != mark(i, from, peer)) return 1;
  return 0;
}

static void check_points(const char* name, operation run, work* w) {
  int left = (t.rank + t.size - 1) % t.size, right = (t.rank + 1) % t.size;
  memset(w->in, 0, 2 * w->bytes);
  fill(w->out, w->bytes, 0);
  fill(w->out + w->bytes, w->bytes, 1);
  run(w);
  if (run == op_pingpong && t.rank < 2 && wrong(w->in, w->bytes, 1 - t.rank, 0)) fail_check(name, w->bytes);
  if (run == op_sendrecv && wrong(w->in, w->bytes, left, 0)) fail_check(name, w->bytes);
  /* what the left one sent to its right, and the right one to its left */
  if (run == op_halo && (wrong(w->in, w->bytes, left, 1) || wrong(w->in + w->bytes, w->bytes, right, 0)))
    fail_check(name, w->bytes);
}

static void check_sums(const char* name, operation run, work* w) {
  size_t count = w->bytes / sizeof(double);
  double *out = (double*)w->out, *in = (double*)w->in;
  for (size_t i = 0; i < count; i++) out[i] = (double)(i % 1000) * (t.rank + 1), in[i] = -1;
  run(w);
  if (run == op_reduce && t.rank != w->turn % t.size) return;
  double ranks = t.size * (t.size + 1) / 2.0;
  for (size_t i = 0; i < count; i++)
    if (in[i] != (double)(i % 1000) * ranks) return fail_check(name, w->bytes);
}

static void check_blocks(const char* name, operation run, work* w) {
  if (run == op_bcast) {
    int root = w->turn % t.size;
    fill(w->out, w->bytes, 3);
    run(w);
    if (wrong(w->out, w->bytes, root, 3)) fail_check(name, w->bytes);
    return;
  }
  for (int r = 0; r < t.size; r++) fill(w->out + (size_t)r * w->bytes, w->bytes, r);
  run(w);
  for (int r = 0; r < t.size; r++)
    if (wrong(w->in + (size_t)r * w->bytes, w->bytes, r, t.rank)) fail_check(name, w->bytes);
}

static void check(const char* name, operation run, work* w) {
  int fresh = w->fresh;
  w->fresh = 0;
  if (run == op_pingpong || run == op_sendrecv || run == op_halo) check_points(name, run, w);
  if (run == op_reduce || run == op_allreduce) check_sums(name, run, w);
  if (run == op_bcast || run == op_alltoall) check_blocks(name, run, w);
  memset(w->out, 0, w->bytes); /* sums of rewritten buffers stay finite */
  w->fresh = fresh;
}

/* ---- timing ---- */
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

static void measure(const char* name, operation run, work* w, double per) {
  static double times[2][most_batches];
  int counts[2] = {0, 0}, reps = repetitions(w->bytes), near = 0, batches = opt.quick ? 9 : 25;
  w->turn = 1;
  check(name, run, w);
  batch(run, w, 2);
  double deadline = now() + (opt.quick ? 0.15 : 1.0);
  for (int b = 0; b < most_batches; b++) {
    double before = line_time(), each = batch(run, w, reps), after = line_time();
    int is_near = before < near_below, same = is_near == (after < near_below);
    if (t.rank == 0) {
      if (same) times[is_near][counts[is_near]++] = each;
      t.place->there = t.place->there; /* the line is ours again */
      t.place->cpu[most_ranks - 1] =
          counts[1] >= batches || (counts[0] >= batches && counts[1] == 0) || now() > deadline;
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

static void over_sizes(const char* what, operation run, const size_t* sizes, int count, work w, double per,
                       int states) {
  char name[48];
  for (int s = 0; s < count; s++)
    for (int fresh = 1; fresh >= 2 - states; fresh--) {
      if (opt.only && sizes[s] != opt.only) continue;
      w.bytes = sizes[s];
      w.fresh = fresh;
      size_text(name, sizeof name, what, sizes[s], fresh ? "" : " cached");
      measure(name, run, &w, per);
    }
}

static const size_t all_sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576, 4194304};
static const size_t few_sizes[] = {8, 4096, 65536, 1048576};

static void run_pattern(work w) {
  const size_t* sizes = opt.quick ? few_sizes : all_sizes;
  int count = opt.quick ? 4 : 9;
  const char* p = opt.pattern;
  if (!strcmp(p, "pingpong") && t.send && t.receive) over_sizes("", op_pingpong, sizes, count, w, 0, 2);
  if (!strcmp(p, "pingpong"))
    for (int i = 0; i < result_count; i++) results[i].value /= 2; /* one way */
  if (!strcmp(p, "sendrecv") && t.exchange) over_sizes("", op_sendrecv, sizes, count, w, 0, 2);
  if (!strcmp(p, "exchange") && t.halo) over_sizes("", op_halo, sizes, count, w, 0, 2);
  static const size_t small[] = {8, 64, 512, 4096};
  if (!strcmp(p, "rate") && t.send_many) {
    unit = "messages/s";
    over_sizes("", op_rate, small, opt.quick ? 1 : 4, w, (double)window * (t.size / 2), 1);
  }
  if (strcmp(p, "collectives")) return;
  if (t.barrier) {
    w.bytes = 0;
    measure("barrier", op_barrier, &w, 0);
  }
  if (t.bcast) over_sizes("bcast", op_bcast, sizes, count, w, 0, 2);
  if (t.reduce) over_sizes("reduce", op_reduce, sizes, count, w, 0, 2);
  if (t.allreduce) over_sizes("allreduce", op_allreduce, sizes, count, w, 0, 2);
  if (t.alltoall) over_sizes("alltoall", op_alltoall, sizes, count, w, 0, 2);
}

static void usage(void) {
  fprintf(stderr,
          "usage: --teams RANKS --pattern pingpong|sendrecv|exchange|rate|collectives [--transport KIND] "
          "[--size BYTES] "
          "[--quick]\n");
  exit(2);
}

static void parse(int argc, char** argv) {
  opt.ranks = 2;
  opt.transport = "";
  for (int i = 1; i < argc; i++) {
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(argv[i], "--quick")) {
      opt.quick = 1;
      continue;
    }
    if (!value) usage();
    i++;
    if (!strcmp(argv[i - 1], "--teams"))
      opt.ranks = atoi(value);
    else if (!strcmp(argv[i - 1], "--pattern"))
      opt.pattern = value;
    else if (!strcmp(argv[i - 1], "--transport"))
      opt.transport = value;
    else if (!strcmp(argv[i - 1], "--size"))
      opt.only = strtoull(value, NULL, 10);
    else
      usage();
  }
  if (!opt.pattern || opt.ranks < 1 || opt.ranks >= most_ranks) usage();
}

static void report(void) {
  int near = 1;
  for (int i = 0; i < result_count; i++) near &= results[i].near;
  printf(
      "{\"program\":\"patterns\",\"pattern\":\"%s\",\"size_bytes\":0,\"core_state\":\"%s\",\"placement\":[",
      opt.pattern,
      t.size < 2 ? "n/a"
      : near     ? "near"
                 : "far");
  for (int r = 0; r < t.size; r++) printf("%s%d", r ? "," : "", t.place->cpu[r]);
  printf("],\"verified\":%s,\"errors\":[", errors ? "false" : "true");
  if (errors) printf("\"%s\"", first_error);
  printf("],\"results\":[");
  for (int i = 0; i < result_count; i++)
    printf("%s{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"core_state\":\"%s\"}", i ? "," : "",
           results[i].name, results[i].value, unit,
           t.size < 2        ? "n/a"
           : results[i].near ? "near"
                             : "far");
  printf("]}\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  parse(argc, argv);
  transport_begin(&t, opt.transport, opt.ranks);
  size_t most = 4194304 * (size_t)(t.size > 2 ? t.size : 2);
  work w = {t.alloc(most), t.alloc(most), 0, 0, 1};
  if (!w.out || !w.in) return fprintf(stderr, "no memory for buffers of %zu bytes\n", most), 1;
  memset(w.out, 0, most);
  memset(w.in, 0, most);
  meet(&t);
  run_pattern(w);
  t.place->cpu[t.rank] = sched_getcpu();
  /* the errors of all ranks, through the shared memory */
  t.place->seconds[t.rank] = errors;
  meet(&t);
  for (int r = 0; r < t.size; r++)
    if (r != t.rank && t.place->seconds[r] > 0 && !errors++)
      snprintf(first_error, sizeof first_error, "rank %d received wrong bytes", r);
  if (t.rank == 0) report();
  meet(&t);
  if (t.end) t.end();
  return errors ? 1 : 0;
}
