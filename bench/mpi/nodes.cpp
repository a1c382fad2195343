/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of MPI on ranks of any number of nodes, for `nigh bench mpi-nodes`. As in Intel's MPI
 * benchmarks calls follow each other and the root goes round: how the ranks leave a barrier would else decide
 * what a call takes. A batch's figure is the time of a call on the slowest rank. Every operation is checked
 * before it is timed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_sizes = 16, most_results = 256, most_batches = 25, warm_calls = 12 };
static const size_t most_bytes = (size_t)64 << 20; /* of a rank's buffer */

static struct {
  size_t sizes[most_sizes];
  int count, quick;
  const char* only;
} opt;

static int ranks, rank, root, errors;
static char first_error[160];
static double *out, *in; /* a block for each rank */
static int *counts, *places;

/* Number `i` of what `from` has for `to`. */
static double number(int from, int to, size_t i) { return from * 64.0 + to * 7.0 + (double)(i % 5); }
static double sum_of(int last, int to, size_t i) {
  double all = 0;
  for (int r = 0; r <= last; r++) all += number(r, to, i);
  return all;
}

static void run_barrier(int n) {
  (void)n;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void run_bcast(int n) { MPI_Bcast(rank == root ? out : in, n, MPI_DOUBLE, root, MPI_COMM_WORLD); }
static void run_reduce(int n) { MPI_Reduce(out, in, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD); }
static void run_allreduce(int n) { MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void run_scan(int n) { MPI_Scan(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void run_gather(int n) { MPI_Gather(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, root, MPI_COMM_WORLD); }
static void run_scatter(int n) { MPI_Scatter(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, root, MPI_COMM_WORLD); }
static void run_allgather(int n) { MPI_Allgather(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, MPI_COMM_WORLD); }
static void run_allgatherv(int n) {
  MPI_Allgatherv(out, n, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void run_alltoall(int n) { MPI_Alltoall(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, MPI_COMM_WORLD); }
static void run_alltoallv(int n) {
  (void)n;
  MPI_Alltoallv(out, counts, places, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void run_reduce_scatter(int n) {
  MPI_Reduce_scatter_block(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* What is right at `i` of block `from` of the result. */
static double right_bcast(int from, size_t i) {
  (void)from;
  return number(root, 0, i);
}
static double right_sum(int from, size_t i) {
  (void)from;
  return sum_of(ranks - 1, 0, i);
}
static double right_scan(int from, size_t i) {
  (void)from;
  return sum_of(rank, 0, i);
}
static double right_gather(int from, size_t i) { return number(from, 0, i); }
static double right_scatter(int from, size_t i) {
  (void)from;
  return number(root, rank, i);
}
static double right_alltoall(int from, size_t i) { return number(from, rank, i); }
static double right_reduce_scatter(int from, size_t i) {
  (void)from;
  return sum_of(ranks - 1, rank, i);
}

enum result_at { nobody, others, at_root, all };
typedef struct operation {
  const char* name;
  void (*run)(int n);
  double (*right)(int from, size_t i);
  enum result_at result;
  int from_each; /* the result has a block of each rank */
  int to_each;   /* the operand has a block for each rank */
} operation;

static const operation operations[] = {
    {"barrier", run_barrier, NULL, nobody, 0, 0},
    {"bcast", run_bcast, right_bcast, others, 0, 0},
    {"reduce", run_reduce, right_sum, at_root, 0, 0},
    {"allreduce", run_allreduce, right_sum, all, 0, 0},
    {"allgather", run_allgather, right_gather, all, 1, 0},
    {"allgatherv", run_allgatherv, right_gather, all, 1, 0},
    {"alltoall", run_alltoall, right_alltoall, all, 1, 1},
    {"alltoallv", run_alltoallv, right_alltoall, all, 1, 1},
    {"gather", run_gather, right_gather, at_root, 1, 0},
    {"scatter", run_scatter, right_scatter, all, 0, 1},
    {"reduce_scatter_block", run_reduce_scatter, right_reduce_scatter, all, 0, 1},
    {"scan", run_scan, right_scan, all, 0, 0},
};

static size_t blocks(const operation* o) { return o->from_each || o->to_each ? (size_t)ranks : 1; }

static void prepare(const operation* o, size_t n) {
  for (int r = 0; r < ranks && blocks(o) > 1; r++) {
    counts[r] = (int)n;
    places[r] = r * (int)n;
  }
  for (size_t b = 0; b < blocks(o); b++)
    for (size_t i = 0; i < n; i++) {
      out[b * n + i] = number(rank, (int)b, i);
      in[b * n + i] = -1;
    }
}

static void check(const operation* o, size_t n) {
  const int has =
      o->result == all || (o->result == at_root && rank == root) || (o->result == others && rank != root);
  for (size_t b = 0; has && b < (o->from_each ? (size_t)ranks : 1); b++)
    for (size_t i = 0; i < n; i++) {
      const double right = o->right((int)b, i);
      if (in[b * n + i] == right) continue;
      if (errors++ == 0)
        snprintf(first_error, sizeof first_error,
                 "%s of %zu bytes: rank %d has %g in block %zu at %zu, not %g", o->name, 8 * n, rank,
                 in[b * n + i], b, i, right);
      return;
    }
}

/* Seconds of one call on the slowest rank; rank 0's answer counts. */
static double batch(const operation* o, int n, int calls) {
  static int turn; /* goes on from batch to batch: few large calls have other roots, too */
  double worst = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double from = MPI_Wtime();
  for (int i = 0; i < calls; i++) {
    root = turn++ % ranks;
    o->run(n);
  }
  const double mine = MPI_Wtime() - from;
  MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return worst / calls;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static struct {
  char name[48];
  double us;
} results[most_results];
static int result_count;

static void measure(const operation* o, size_t bytes) {
  double times[most_batches];
  const int n = (int)(bytes / 8);
  for (int i = 0; i < warm_calls; i++) {
    const int checked = i == 0 || i + 1 == warm_calls;
    root = i % ranks;
    if (checked) prepare(o, (size_t)n);
    o->run(n);
    if (checked) check(o, (size_t)n);
  }
  const double patience = opt.quick ? 0.1 : 0.4, once = batch(o, n, 2);
  int calls = once > 0 && once < patience / 10 ? (int)(patience / 10 / once) : 1, done = 0;
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const double from = MPI_Wtime();
  for (int more = 1; more;) {
    times[done++] = batch(o, n, calls);
    more = done < most_batches && (done < 3 || MPI_Wtime() - from < patience);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank != 0 || result_count == most_results) return;
  qsort(times, (size_t)done, sizeof *times, by_value);
  static const char* const units[] = {"B", "KiB", "MiB"};
  int unit = 0;
  while (unit < 2 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, unit++;
  char* name = results[result_count].name;
  if (bytes == 0)
    snprintf(name, sizeof results->name, "%s", o->name);
  else
    snprintf(name, sizeof results->name, "%s %zu %s", o->name, bytes, units[unit]);
  results[result_count++].us = 1e6 * times[done / 2];
}

static void usage(void) {
  if (rank == 0) fprintf(stderr, "nodes: usage: [--quick] [--only OPERATION] [--sizes BYTES,BYTES...]\n");
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static void parse(int argc, char** argv) {
  static const size_t usual[] = {8, 1024, 8192, 65536, 262144, 1048576}, few[] = {8, 65536};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) {
      opt.quick = 1;
      continue;
    }
    if (i + 1 == argc) usage();
    const char* value = argv[++i];
    if (!strcmp(argv[i - 1], "--only")) {
      opt.only = value;
    } else if (!strcmp(argv[i - 1], "--sizes")) {
      for (char* end = NULL; opt.count < most_sizes && end != value; value = end + (*end == ',')) {
        const unsigned long long bytes = strtoull(value, &end, 10);
        if (end == value) break;
        if (bytes < 8 || bytes % 8 != 0 || bytes > most_bytes) usage();
        opt.sizes[opt.count++] = (size_t)bytes;
      }
      if (opt.count == 0 || *value) usage();
    } else {
      usage();
    }
  }
  const size_t* sizes = opt.quick ? few : usual;
  for (int i = 0; opt.count == 0 && i < (opt.quick ? 2 : 6); i++) opt.sizes[i] = sizes[i];
  if (opt.count == 0) opt.count = opt.quick ? 2 : 6;
}

static int nodes_of_job(void) {
  MPI_Comm node;
  int place = 0, first = 0, nodes = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  first = place == 0;
  MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return nodes;
}

static void report(int nodes) {
  printf(
      "{\"program\":\"nodes\",\"nodes\":%d,\"ranks\":%d,\"size_bytes\":0,\"placement\":[],\"verified\":%s,"
      "\"errors\":[",
      nodes, ranks, errors ? "false" : "true");
  if (errors) printf("\"%s\"", first_error);
  printf("],\"results\":[");
  for (int i = 0; i < result_count; i++)
    printf("%s{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"us\",\"core_state\":\"n/a\"}", i ? "," : "",
           results[i].name, results[i].us);
  printf("]}\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  parse(argc, argv);
  size_t most = 0;
  for (int i = 0; i < opt.count; i++)
    if (opt.sizes[i] > most) most = opt.sizes[i];
  /* Blocks of all ranks as far as they are measured. */
  most = most * (size_t)ranks <= most_bytes ? most * (size_t)ranks : most_bytes;
  out = (double*)malloc(most);
  in = (double*)malloc(most);
  counts = (int*)malloc((size_t)ranks * sizeof *counts);
  places = (int*)malloc((size_t)ranks * sizeof *places);
  if (!out || !in || !counts || !places) {
    fprintf(stderr, "nodes: no memory for buffers of %zu bytes\n", most);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int nodes = nodes_of_job();
  const int count = sizeof operations / sizeof *operations;
  for (int k = 0; k < count; k++) {
    const operation* o = &operations[k];
    if (opt.only && strcmp(opt.only, o->name) != 0) continue;
    if (o->result == nobody) {
      measure(o, 0);
      continue;
    }
    for (int i = 0; i < opt.count; i++)
      if (opt.sizes[i] * blocks(o) <= most_bytes) measure(o, opt.sizes[i]);
  }
  int any = 0;
  MPI_Allreduce(&errors, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any && errors) fprintf(stderr, "nodes: %s\n", first_error);
  if (rank == 0 && any && !errors) {
    errors = any;
    snprintf(first_error, sizeof first_error, "another rank received wrong values");
  }
  if (rank == 0) report(nodes);
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(400000); /* MPICH 4.0 may not come out of MPI_Finalize otherwise, see tests/hosts/ranks.c */
  MPI_Finalize();
  return 0; /* the report says what is wrong */
}
