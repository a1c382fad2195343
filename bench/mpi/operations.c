/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations of the patterns and their verification. "fresh": the buffer is written before each operation
 * and the result read after it, one access a line, inside the time, as a program does; "cached": nothing is
 * touched between operations, as most benchmarks do. */
#include <stdio.h>
#include <string.h>

#include "work.h"

transport t;
int errors;
char first_error[160];
static volatile long sink;

__attribute__((noinline)) static void rewrite(char* data, size_t bytes, int value) {
  for (size_t i = 0; i < bytes; i += 64) *(volatile char*)(data + i) = (char)value;
}

__attribute__((noinline)) static void read_all(const char* data, size_t bytes) {
  long sum = 0;
  for (size_t i = 0; i < bytes; i += 64) sum += *(const volatile char*)(data + i);
  sink += sum;
}

void op_pingpong(work* w) {
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

void op_sendrecv(work* w) {
  if (w->fresh) rewrite(w->out, w->bytes, w->turn);
  t.exchange(w->out, w->in, w->bytes, (t.rank + 1) % t.size, (t.rank + t.size - 1) % t.size);
  if (w->fresh) read_all(w->in, w->bytes);
}

void op_halo(work* w) {
  const void* out[2] = {w->out, w->out + w->bytes};
  void* in[2] = {w->in, w->in + w->bytes};
  if (w->fresh) rewrite(w->out, 2 * w->bytes, w->turn);
  t.halo(out, in, w->bytes, (t.rank + t.size - 1) % t.size, (t.rank + 1) % t.size);
  if (w->fresh) read_all(w->in, 2 * w->bytes);
}

void op_rate(work* w) {
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

/* Pairs again; whoever is put to takes no part. */
void op_put(work* w) {
  int pairs = t.size / 2;
  if (t.rank >= pairs) return;
  if (w->fresh) rewrite(w->out, w->bytes, w->turn);
  t.put(w->window, w->out, w->bytes, t.rank + pairs);
}

void op_barrier(work* w) {
  (void)w;
  t.barrier();
}
void op_bcast(work* w) {
  int root = w->turn % t.size;
  if (w->fresh && t.rank == root) rewrite(w->out, w->bytes, w->turn);
  t.bcast(w->out, w->bytes, root);
  if (w->fresh && t.rank != root) read_all(w->out, w->bytes);
}
void op_reduce(work* w) {
  int root = w->turn % t.size;
  if (w->fresh) rewrite(w->out, w->bytes, 0);
  t.reduce((double*)w->out, (double*)w->in, w->bytes / sizeof(double), root);
  if (w->fresh && t.rank == root) read_all(w->in, w->bytes);
}
void op_allreduce(work* w) {
  if (w->fresh) rewrite(w->out, w->bytes, 0);
  t.allreduce((double*)w->out, (double*)w->in, w->bytes / sizeof(double));
  if (w->fresh) read_all(w->in, w->bytes);
}
void op_alltoall(work* w) {
  size_t all = w->bytes * (size_t)t.size;
  if (w->fresh) rewrite(w->out, all, w->turn);
  t.alltoall(w->out, w->in, w->bytes);
  if (w->fresh) read_all(w->in, all);
}

static int neighbor_count(void) { return t.size > 2 ? 2 : 1; }
static int neighbor(int i) { return i == 0 ? (t.rank + t.size - 1) % t.size : (t.rank + 1) % t.size; }
void op_neighbors(work* w) {
  size_t all = w->bytes * (size_t)neighbor_count();
  if (w->fresh) rewrite(w->out, all, w->turn);
  t.neighbors(w->out, w->in, w->bytes);
  if (w->fresh) read_all(w->in, all);
}

/* ---- verification: one operation on known bytes ---- */
static void fail_check(const char* what, size_t bytes) {
  if (!errors++)
    snprintf(first_error, sizeof first_error, "%s of %zu bytes gave a wrong result in rank %d", what, bytes,
             t.rank);
}

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

static void check_put(const char* name, operation run, work* w) {
  int pairs = t.size / 2;
  memset(w->window, 0, w->bytes);
  fill(w->out, w->bytes, 0);
  meet(&t);
  run(w);
  t.barrier();
  if (t.see) t.see();
  if (t.rank >= pairs && t.rank < 2 * pairs && wrong(w->window, w->bytes, t.rank - pairs, 0))
    fail_check(name, w->bytes);
  meet(&t);
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

static void check_neighbors(const char* name, operation run, work* w) {
  memset(w->in, 0, (size_t)neighbor_count() * w->bytes);
  for (int i = 0; i < neighbor_count(); i++) fill(w->out + (size_t)i * w->bytes, w->bytes, neighbor(i));
  run(w);
  for (int i = 0; i < neighbor_count(); i++)
    if (wrong(w->in + (size_t)i * w->bytes, w->bytes, neighbor(i), t.rank)) fail_check(name, w->bytes);
}

void check(const char* name, operation run, work* w) {
  int fresh = w->fresh;
  w->fresh = 0;
  if (run == op_pingpong || run == op_sendrecv || run == op_halo) check_points(name, run, w);
  if (run == op_put) check_put(name, run, w);
  if (run == op_reduce || run == op_allreduce) check_sums(name, run, w);
  if (run == op_bcast || run == op_alltoall) check_blocks(name, run, w);
  if (run == op_neighbors) check_neighbors(name, run, w);
  memset(w->out, 0, w->bytes); /* sums of rewritten buffers stay finite */
  w->fresh = fresh;
}
