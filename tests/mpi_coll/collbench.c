/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Time of collectives, the median over repetitions of the slowest rank's mean over a batch, in microseconds:
 *     collbench [fresh|cached] [batches] [function,function,...] [smallest] [largest]
 * fresh: operands are rewritten before each call and results read after it, and that time is part of the
 * figure, as it is of every real program's; cached: buffers are left alone, as most benchmarks do.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, fresh;
static char *send, *receive;
static volatile long sink;

static void rewrite(char* at, size_t bytes, int seed) {
  if (bytes < 64)
    memset(at, seed, bytes);
  else
    for (size_t i = 0; i < bytes / 8; ++i) ((double*)at)[i] = seed;
}
static void look(const char* at, size_t bytes) {
  long sum = 0;
  for (size_t i = 0; i < bytes / 8; ++i) sum += ((const long*)at)[i];
  sink += sum;
}

struct function {
  const char* name;
  int (*call)(size_t bytes);
  int reads_all, writes_all; /* times size */
};
static int n_of(size_t bytes) { return (int)(bytes / 8 ? bytes / 8 : 1); }
static int barrier(size_t b) { return (void)b, MPI_Barrier(MPI_COMM_WORLD); }
static int bcast(size_t b) {
  return MPI_Bcast(rank ? receive : send, n_of(b), MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static int reduce(size_t b) {
  return MPI_Reduce(send, receive, n_of(b), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
static int allreduce(size_t b) {
  return MPI_Allreduce(send, receive, n_of(b), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int alltoall(size_t b) {
  return MPI_Alltoall(send, n_of(b), MPI_DOUBLE, receive, n_of(b), MPI_DOUBLE, MPI_COMM_WORLD);
}
static int allgather(size_t b) {
  return MPI_Allgather(send, n_of(b), MPI_DOUBLE, receive, n_of(b), MPI_DOUBLE, MPI_COMM_WORLD);
}
static int gather(size_t b) {
  return MPI_Gather(send, n_of(b), MPI_DOUBLE, receive, n_of(b), MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static int scatter(size_t b) {
  return MPI_Scatter(send, n_of(b), MPI_DOUBLE, receive, n_of(b), MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static int iallreduce(size_t b) {
  MPI_Request r;
  MPI_Iallreduce(send, receive, n_of(b), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
  return MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static const struct function functions[] = {
    {"barrier", barrier, 0, 0},     {"bcast", bcast, 0, 0},       {"reduce", reduce, 0, 0},
    {"allreduce", allreduce, 0, 0}, {"alltoall", alltoall, 1, 1}, {"allgather", allgather, 1, 0},
    {"gather", gather, 1, 0},       {"scatter", scatter, 0, 1},   {"iallreduce", iallreduce, 0, 0}};

static double batch(const struct function* f, size_t bytes, int calls) {
  const size_t out = bytes * (f->writes_all ? size : 1), in = bytes * (f->reads_all ? size : 1);
  const int touch = fresh && f->call != barrier;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    if (touch && !(f->call == bcast && rank)) rewrite(send, out, i & 3);
    f->call(bytes);
    if (touch && !(f->call == bcast && rank == 0)) look(receive, in);
  }
  double mine = (MPI_Wtime() - start) / calls, slowest;
  PMPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest * 1e6;
}

static int ascending(const void* a, const void* b) {
  return *(double*)a < *(double*)b ? -1 : *(double*)a > *(double*)b;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fresh = argc < 2 || strcmp(argv[1], "cached");
  const int batches = argc > 2 ? atoi(argv[2]) : 9;
  const char* wanted = argc > 3 ? argv[3] : "all";
  const size_t smallest = argc > 4 ? (size_t)atol(argv[4]) : 8,
               largest = argc > 5 ? (size_t)atol(argv[5]) : 4 << 20;
  const size_t room = largest * (size_t)size + 64;
  if (posix_memalign((void**)&send, 4096, room) || posix_memalign((void**)&receive, 4096, room)) return 2;
  memset(send, 0, room), memset(receive, 0, room);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    const struct function* f = &functions[i];
    if (strcmp(wanted, "all") && !strstr(wanted, f->name)) continue;
    for (size_t bytes = smallest; bytes <= largest; bytes *= 8) {
      int calls = (int)(8e6 / (double)(bytes + 4000));
      double times[64];
      batch(f, bytes, calls / 4 + 1);
      for (int b = 0; b < batches; ++b) times[b] = batch(f, bytes, calls + 1);
      qsort(times, (size_t)batches, sizeof times[0], ascending);
      if (rank == 0) printf("%s %zu %.3f %.3f\n", f->name, bytes, times[batches / 2], times[0]);
      if (f->call == barrier) break;
    }
  }
  MPI_Finalize();
  return 0;
}
