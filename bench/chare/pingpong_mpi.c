/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The same by MPI_Send and MPI_Recv; mixed (0 bytes), by non-blocking messages. Usage: pingpong-LIBRARY BYTES
 * TRIPS BATCHES touched|bounced. Exits with 1 if a payload is not what was sent. */
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
static void put(unsigned char* data, size_t bytes, int value) {
  if (touched) memset(data, value & 0xff, bytes);
}
static void check(const unsigned char* data, size_t bytes, int value) {
  uint64_t sum = 0;
  if (!touched) return;
  for (size_t i = 0; i < bytes; ++i) sum += data[i];
  if (sum != (uint64_t)(value & 0xff) * bytes) ++wrong;
}

enum { most_balls = 21 };
static unsigned char* balls[most_balls];
static size_t sizes[most_balls];
static int count;

static void make_balls(size_t bytes) {
  count = bytes > 0 ? 1 : most_balls;
  for (int i = 0; i < count; ++i) {
    sizes[i] = bytes > 0 ? bytes : i == 10 ? 256 << 10 : i % 5 == 4 ? 4096 : 64;
    balls[i] = malloc(sizes[i]);
    if (!balls[i]) MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void play_one(int rank, int trip) {
  unsigned char* const data = balls[0];
  const size_t bytes = sizes[0];
  if (rank == 0) {
    put(data, bytes, trip);
    MPI_Send(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(data, bytes, trip + 1);
  } else {
    MPI_Recv(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(data, bytes, trip);
    put(data, bytes, trip + 1);
    MPI_Send(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

/* All of them, each back as it comes. Two sets of buffers: what is sent is not received into. */
static void play_mixed(int rank, int trip, unsigned char** back) {
  MPI_Request in[most_balls], out[most_balls];
  for (int i = 0; i < count; ++i)
    MPI_Irecv(rank == 0 ? back[i] : balls[i], (int)sizes[i], MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &in[i]);
  if (rank == 0)
    for (int i = 0; i < count; ++i) {
      put(balls[i], sizes[i], trip);
      MPI_Isend(balls[i], (int)sizes[i], MPI_BYTE, 1, 0, MPI_COMM_WORLD, &out[i]);
    }
  for (int i = 0; i < count; ++i) {
    MPI_Wait(&in[i], MPI_STATUS_IGNORE);
    check(rank == 0 ? back[i] : balls[i], sizes[i], rank == 0 ? trip + 1 : trip);
    if (rank == 0) continue;
    put(balls[i], sizes[i], trip + 1);
    MPI_Isend(balls[i], (int)sizes[i], MPI_BYTE, 0, 0, MPI_COMM_WORLD, &out[i]);
  }
  MPI_Waitall(count, out, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  make_balls(argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 64);
  const int trips = argc > 2 ? atoi(argv[2]) : 1000, batches = argc > 3 ? atoi(argv[3]) : 5;
  touched = argc > 4 && strcmp(argv[4], "touched") == 0;
  unsigned char* back[most_balls] = {NULL};
  for (int i = 0; i < count; ++i) back[i] = malloc(sizes[i]);
  double* const times = malloc(sizeof *times * (size_t)batches);
  for (int batch = 0; batch < batches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int trip = 0; trip < trips; ++trip) count == 1 ? play_one(rank, trip) : play_mixed(rank, trip, back);
    times[batch] = 1e6 * (MPI_Wtime() - begun) / (2.0 * trips);
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(times, (size_t)batches, sizeof *times, compare);
    if (all) fprintf(stderr, "a payload was not what was sent\n");
    printf("Time stats: lowest: %f, median: %f, highest: %f\n", times[0], times[batches / 2],
           times[batches - 1]);
  }
  for (int i = 0; i < count; ++i) free(balls[i]), free(back[i]);
  free(times);
  MPI_Finalize();
  return rank == 0 && all ? 1 : 0;
}
