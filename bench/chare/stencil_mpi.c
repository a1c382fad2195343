/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The stencil by MPI: each rank has a strip of rows, and exchanges its rims with two neighbours while it
 * computes what is inside. Usage: stencil-LIBRARY SIDE RUNS. Exits with 1 if the result is not the serial
 * one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "stencil.h"

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long side = argc > 1 ? atol(argv[1]) : 128, pitch = side + 2;
  const int runs = argc > 2 ? atoi(argv[2]) : 3;
  const long first = side * rank / size, rows = side * (rank + 1) / size - first;
  double* a = malloc(sizeof(double) * (size_t)(pitch * (rows + 2)));
  double* b = malloc(sizeof(double) * (size_t)(pitch * (rows + 2)));
  double* times = malloc(sizeof(double) * (size_t)runs);
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  uint64_t sum = 0;
  for (int run = 0; run < runs; ++run) {
    memset(a, 0, sizeof(double) * (size_t)(pitch * (rows + 2)));
    memset(b, 0, sizeof(double) * (size_t)(pitch * (rows + 2)));
    for (long y = 0; y < rows; ++y)
      for (long x = 0; x < side; ++x) a[(y + 1) * pitch + x + 1] = stencil_first(x, first + y);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int step = 0; step < stencil_steps; ++step) {
      MPI_Request requests[4];
      MPI_Irecv(a, (int)pitch, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(a + (rows + 1) * pitch, (int)pitch, MPI_DOUBLE, after, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Isend(a + pitch, (int)pitch, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[2]);
      MPI_Isend(a + rows * pitch, (int)pitch, MPI_DOUBLE, after, 0, MPI_COMM_WORLD, &requests[3]);
      for (long y = 0; y < rows; ++y) {
        if (y == 0 || y == rows - 1) continue;
        const double* row = a + (y + 1) * pitch;
        stencil_row(row - pitch, row, row + pitch, b + (y + 1) * pitch + 1, side, 0, first + y, side, step);
      }
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      for (long y = 0; y < rows; y += rows > 1 ? rows - 1 : 1) {
        const double* row = a + (y + 1) * pitch;
        stencil_row(row - pitch, row, row + pitch, b + (y + 1) * pitch + 1, side, 0, first + y, side, step);
      }
      double* const swap = a;
      a = b, b = swap;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    times[run] = 1e6 * (MPI_Wtime() - begun) / stencil_steps;
  }
  uint64_t mine = 0;
  for (long y = 0; y < rows; ++y) mine += stencil_sum(a + (y + 1) * pitch + 1, side, 0, first + y, side);
  MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  int wrong = 0;
  if (rank == 0) {
    double* one = malloc(sizeof(double) * (size_t)(pitch * pitch));
    double* other = malloc(sizeof(double) * (size_t)(pitch * pitch));
    wrong = stencil_serial(one, other, side, stencil_steps) != sum;
    free(one), free(other);
    if (wrong) fprintf(stderr, "the result is not that of one thread\n");
    qsort(times, (size_t)runs, sizeof *times, compare);
    printf("Time stats: lowest: %f, median: %f, highest: %f\n", times[0], times[runs / 2], times[runs - 1]);
  }
  free(a), free(b), free(times);
  MPI_Finalize();
  return wrong;
}
