/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The same by MPI_Send and MPI_Recv. Usage: pingpong-LIBRARY BYTES TRIPS BATCHES touched|bounced. Exits with
 * 1 if a payload is not what was sent. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int touched, wrong;
static size_t bytes;
static void put(unsigned char* data, int value) {
  if (touched) memset(data, value & 0xff, bytes);
}
static void check(const unsigned char* data, int value) {
  uint64_t sum = 0;
  if (!touched) return;
  for (size_t i = 0; i < bytes; ++i) sum += data[i];
  if (sum != (uint64_t)(value & 0xff) * bytes) ++wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bytes = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 64;
  const int trips = argc > 2 ? atoi(argv[2]) : 1000, batches = argc > 3 ? atoi(argv[3]) : 5;
  touched = argc > 4 && strcmp(argv[4], "touched") == 0;
  unsigned char* const data = malloc(bytes);
  double* const times = malloc(sizeof *times * (size_t)batches);
  for (int batch = 0; batch < batches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int trip = 0; trip < trips; ++trip) {
      if (rank == 0) {
        put(data, trip);
        MPI_Send(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(data, trip + 1);
      } else {
        MPI_Recv(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(data, trip);
        put(data, trip + 1);
        MPI_Send(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    times[batch] = 1e6 * (MPI_Wtime() - begun) / (2.0 * trips);
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(times, (size_t)batches, sizeof *times, compare);
    if (all) fprintf(stderr, "a payload was not what was sent\n");
    printf("Time stats: lowest: %f, median: %f, highest: %f\n", times[0], times[batches / 2],
           times[batches - 1]);
  }
  free(data), free(times);
  MPI_Finalize();
  return rank == 0 && all ? 1 : 0;
}
