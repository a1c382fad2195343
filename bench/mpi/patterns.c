/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The patterns of Brightwell's figures: put latency, ping-pong, Exchange, Sendrecv, message rate, and
 * collectives. Here are their sizes, the command line and the report. */
#define _GNU_SOURCE
#include "patterns.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

static struct {
  const char *pattern, *transport;
  int ranks;
} opt;
static const char* unit = "us";

static const size_t all_sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576, 4194304};
static const size_t few_sizes[] = {8, 4096, 65536, 1048576};

static void run_pattern(work w) {
  const size_t* sizes = how.quick ? few_sizes : all_sizes;
  int count = how.quick ? 4 : 9;
  const char* p = opt.pattern;
  if (!strcmp(p, "pingpong") && t.send && t.receive) over_sizes("", op_pingpong, sizes, count, w, 0, 2);
  if (!strcmp(p, "pingpong"))
    for (int i = 0; i < result_count; i++) results[i].value /= 2; /* one way */
  if (!strcmp(p, "sendrecv") && t.exchange) over_sizes("", op_sendrecv, sizes, count, w, 0, 2);
  if (!strcmp(p, "exchange") && t.halo) over_sizes("", op_halo, sizes, count, w, 0, 2);
  if (!strcmp(p, "put") && t.put && t.size > 1) over_sizes("", op_put, sizes, count, w, 0, 2);
  static const size_t small[] = {8, 64, 512, 4096};
  if (!strcmp(p, "rate") && t.send_many) {
    unit = "messages/s";
    over_sizes("", op_rate, small, how.quick ? 1 : 4, w, (double)window * (t.size / 2), 1);
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
  if (t.neighbors && t.size > 1) over_sizes("neighbor_alltoall", op_neighbors, sizes, count, w, 0, 2);
}

static void usage(void) {
  fprintf(stderr,
          "usage: --teams RANKS --pattern pingpong|sendrecv|exchange|rate|put|collectives [--transport KIND] "
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
      how.quick = 1;
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
      how.only = strtoull(value, NULL, 10);
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
  int puts = !strcmp(opt.pattern, "put") && t.put;
  work w = {.out = t.alloc(most), .in = t.alloc(most), .turn = 1};
  if (puts) w.window = t.window(4194304);
  if (!w.out || !w.in || (puts && !w.window))
    return fprintf(stderr, "no memory for buffers of %zu bytes\n", most), 1;
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
