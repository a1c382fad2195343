/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI outside, OpenMP inside, teams within teams: a stencil on rows that are spread over ranks and over
 * nested teams, with halos exchanged and a norm reduced in every step. The result in integers is compared
 * with the same computed by one thread of rank 0. Each thread's CPU mask goes to rank 0, which says "rank R
 * outer O inner I cpus LIST".
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 6000, rows_each = 64, steps = 12 };

static uint32_t start(int row, int column) {
  return (uint32_t)(row * 2654435761u ^ (uint32_t)column * 40503u);
}
static void step(const uint32_t* above, const uint32_t* here, const uint32_t* below, uint32_t* to) {
  for (int c = 0; c < columns; c++)
    to[c] =
        here[c] * 5u + above[c] + below[c] * 3u + here[(c + 1) % columns] + here[(c + columns - 1) % columns];
}

static void mask_text(char* text, size_t room) {
  cpu_set_t set;
  size_t at = 0;
  sched_getaffinity(0, sizeof set, &set);
  text[0] = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && at + 8 < room; cpu++)
    if (CPU_ISSET(cpu, &set)) at += (size_t)snprintf(text + at, room - at, "%s%d", at ? "," : "", cpu);
}

int main(int argc, char** argv) {
  int outer = argc > 1 ? atoi(argv[1]) : 2, inner = argc > 2 ? atoi(argv[2]) : 1, provided, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  omp_set_max_active_levels(2);
  int total = rows_each * size, up = (rank + size - 1) % size, down = (rank + 1) % size;
  uint32_t *now = malloc(sizeof *now * columns * (rows_each + 2)),
           *next = malloc(sizeof *now * columns * (rows_each + 2));
  for (int r = 0; r < rows_each; r++)
    for (int c = 0; c < columns; c++) now[(r + 1) * columns + c] = start(rank * rows_each + r, c);
  char masks[64][64];
  memset(masks, 0, sizeof masks);
  uint64_t norm = 0;
  for (int s = 0; s < steps; s++) {
    MPI_Request requests[4];
    MPI_Irecv(now, columns, MPI_UINT32_T, up, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(now + (rows_each + 1) * columns, columns, MPI_UINT32_T, down, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(now + rows_each * columns, columns, MPI_UINT32_T, down, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(now + columns, columns, MPI_UINT32_T, up, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    uint64_t mine = 0;
#pragma omp parallel num_threads(outer) reduction(+ : mine)
    {
      int o = omp_get_thread_num(), teams = omp_get_num_threads();
      int from = 1 + rows_each * o / teams, to = 1 + rows_each * (o + 1) / teams;
      uint64_t part = 0;
#pragma omp parallel num_threads(inner) reduction(+ : part)
      {
        int i = omp_get_thread_num();
        if (s == steps - 1 && o * inner + i < 64) mask_text(masks[o * inner + i], sizeof masks[0]);
#pragma omp for
        for (int r = from; r < to; r++) {
          step(now + (r - 1) * columns, now + r * columns, now + (r + 1) * columns, next + r * columns);
          for (int c = 0; c < columns; c++) part += next[r * columns + c];
        }
      }
      mine += part;
    }
    uint32_t* swap = now;
    now = next, next = swap;
    MPI_Allreduce(&mine, &norm, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  }
  uint32_t* whole = rank == 0 ? malloc(sizeof *whole * columns * (size_t)total) : NULL;
  MPI_Gather(now + columns, rows_each * columns, MPI_UINT32_T, whole, rows_each * columns, MPI_UINT32_T, 0,
             MPI_COMM_WORLD);
  char(*all)[64][64] = rank == 0 ? malloc(sizeof masks * (size_t)size) : NULL;
  MPI_Gather(masks, sizeof masks, MPI_CHAR, all, sizeof masks, MPI_CHAR, 0, MPI_COMM_WORLD);
  int wrong = 0;
  if (rank == 0) {
    uint32_t *a = malloc(sizeof *a * columns * (size_t)total),
             *b = malloc(sizeof *a * columns * (size_t)total);
    for (int r = 0; r < total; r++)
      for (int c = 0; c < columns; c++) a[r * columns + c] = start(r, c);
    uint64_t sum = 0;
    for (int s = 0; s < steps; s++) {
      sum = 0;
      for (int r = 0; r < total; r++) {
        step(a + (r + total - 1) % total * columns, a + r * columns, a + (r + 1) % total * columns,
             b + r * columns);
        for (int c = 0; c < columns; c++) sum += b[r * columns + c];
      }
      uint32_t* swap = a;
      a = b, b = swap;
    }
    wrong = memcmp(a, whole, sizeof *a * columns * (size_t)total) != 0 || sum != norm;
    for (int r = 0; r < size; r++)
      for (int t = 0; t < outer * inner && t < 64; t++)
        printf("rank %d outer %d inner %d cpus %s\n", r, t / inner, t % inner, all[r][t]);
    printf("%s %d ranks of %d x %d threads\n", wrong ? "WRONG" : "right", size, outer, inner);
    fflush(stdout);
  }
  MPI_Finalize();
  return wrong;
}
