/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank sends itself a message of 64 bytes again and again. Usage: self-message-LIBRARY MESSAGES BATCHES.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int messages = argc > 1 ? atoi(argv[1]) : 10000, batches = argc > 2 ? atoi(argv[2]) : 5;
  uint64_t out[8] = {0}, in[8] = {0};
  double* const times = malloc(sizeof *times * (size_t)batches);
  for (int batch = 0; batch < batches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < messages; ++i) {
      MPI_Request request;
      out[0] = (uint64_t)i;
      MPI_Irecv(in, sizeof in, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request);
      MPI_Send(out, sizeof out, MPI_BYTE, rank, 0, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (in[0] != (uint64_t)i) ++wrong;
    }
    double took = MPI_Wtime() - begun;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times[batch] = 1e6 * took / messages;
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(times, (size_t)batches, sizeof *times, compare);
    if (all) fprintf(stderr, "a message was not the one that was sent\n");
    printf("Time stats: lowest: %f, median: %f, highest: %f\n", times[0], times[batches / 2],
           times[batches - 1]);
  }
  free(times);
  MPI_Finalize();
  return rank == 0 && all ? 1 : 0;
}
