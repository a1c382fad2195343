/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kNeighbor by non-blocking MPI messages: elements in blocks over the ranks, what stays within a rank is a
 * call. A rank sends all messages of its elements, answers each that comes, and goes on when all answers are
 * there. Usage: kneighbor-LIBRARY ELEMENTS STEPS BYTES [touched]; steps are of 100 iterations, as Charm++'s
 * are. Exits with 1 if a payload is not what was sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { neighbours = 3, of_a_step = 100, messages = 0, answers = 1 };

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int wrong;
static void put(char* data, size_t bytes, int value) { memset(data, value, bytes); }
static void check(const char* data, size_t bytes, int value) {
  unsigned sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += (unsigned char)data[i];
  if (sum != (unsigned)value * (unsigned)bytes) ++wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int elements = argc > 1 ? atoi(argv[1]) : 8, steps = argc > 2 ? atoi(argv[2]) : 10;
  const size_t bytes = argc > 3 ? (size_t)strtoull(argv[3], NULL, 10) : 64;
  const int touched = argc > 4, each = elements / size, first = rank * each;
  int far = 0, near = 0, peers[8 * 2 * neighbours];
  for (int e = first; e < first + each; ++e)
    for (int i = 1; i <= neighbours; ++i)
      for (int sign = -1; sign <= 1; sign += 2) {
        const int to = ((e + sign * i + elements) % elements) / each;
        if (to == rank)
          ++near;
        else
          peers[far++] = to;
      }
  char* out = calloc((size_t)far + 1, bytes);
  char* in = calloc((size_t)far + 1, bytes);
  char* back = calloc((size_t)far + 1, bytes);
  char* own = calloc((size_t)near + 1, bytes);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)(4 * far + 1));
  double* times = malloc(sizeof *times * (size_t)steps);
  for (int step = 0; step < steps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < of_a_step; ++i) {
      for (int m = 0; m < far; ++m) {
        MPI_Irecv(in + (size_t)m * bytes, (int)bytes, MPI_BYTE, peers[m], messages, MPI_COMM_WORLD,
                  &requests[m]);
        MPI_Irecv(back + (size_t)m * bytes, (int)bytes, MPI_BYTE, peers[m], answers, MPI_COMM_WORLD,
                  &requests[2 * far + m]);
      }
      for (int m = 0; m < far; ++m) {
        if (touched) put(out + (size_t)m * bytes, bytes, i);
        MPI_Isend(out + (size_t)m * bytes, (int)bytes, MPI_BYTE, peers[m], messages, MPI_COMM_WORLD,
                  &requests[far + m]);
      }
      if (touched)
        for (int m = 0; m < 2 * near; ++m) {
          put(own + (size_t)(m / 2) * bytes, bytes, i);
          check(own + (size_t)(m / 2) * bytes, bytes, i);
        }
      for (int m = 0; m < far; ++m) {
        MPI_Wait(&requests[m], MPI_STATUS_IGNORE);
        char* data = in + (size_t)m * bytes;
        if (touched) check(data, bytes, i), put(data, bytes, i + 1);
        MPI_Isend(data, (int)bytes, MPI_BYTE, peers[m], answers, MPI_COMM_WORLD, &requests[3 * far + m]);
      }
      MPI_Waitall(3 * far, requests + far, MPI_STATUSES_IGNORE);
      if (touched)
        for (int m = 0; m < far; ++m) check(back + (size_t)m * bytes, bytes, i + 1);
    }
    times[step] = 1e6 * (MPI_Wtime() - begun) / of_a_step;
  }
  if (rank == 0) {
    qsort(times, (size_t)steps, sizeof *times, compare);
    printf("Time stats: lowest: %f, median: %f, highest: %f\n", times[0], times[steps / 2], times[steps - 1]);
  }
  free(out), free(in), free(back), free(own), free(requests), free(times);
  MPI_Finalize();
  if (wrong) fprintf(stderr, "a payload was not what was sent\n");
  return wrong ? 1 : 0;
}
