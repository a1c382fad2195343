// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-pong of two ranks, one line a size: bytes, then nanoseconds one way with buffers that are rewritten
// before each send and read after (one word a cache line), then with buffers that nobody touches, then with
// MPI_Irecv, MPI_Isend and MPI_Wait; the median of batches, of the slower rank. The first line says how long
// a cache line takes from one rank to the other: on virtual machines the two CPUs may be near or far, and
// runs of different kinds must not be compared. pingpong.py runs this with and without the interposer in
// turn.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { batches = 15, most = 4 << 20 };
static int rank;
static char *out, *in;
static long sink;

static void touch_out(long bytes, long value) {
  for (long i = 0; i < bytes; i += 64) *(volatile char*)(out + i) = (char)value;
}
static void touch_in(long bytes) {
  for (long i = 0; i < bytes; i += 64) sink += *(volatile char*)(in + i);
}

static void send(int n) { MPI_Send(out, n, MPI_BYTE, !rank, 7, MPI_COMM_WORLD); }
static void receive(int n) { MPI_Recv(in, n, MPI_BYTE, !rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void blocking(int n, long times, int touch) {
  for (long i = 0; i < times; ++i)
    if (rank == 0) {
      if (touch) touch_out(n, i);
      send(n);
      receive(n);
      if (touch) touch_in(n);
    } else {
      receive(n);
      if (touch) touch_in(n), touch_out(n, i);
      send(n);
    }
}

// A receive is always posted, with room for more than comes.
static void posted(int n, long times) {
  MPI_Request to, from;
  for (long i = 0; i < times; ++i) {
    MPI_Irecv(in, n < 8192 ? 8192 : n, MPI_BYTE, !rank, 7, MPI_COMM_WORLD, &from);
    if (rank == 0) {
      MPI_Isend(out, n, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &to);
      MPI_Wait(&to, MPI_STATUS_IGNORE);
      MPI_Wait(&from, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&from, MPI_STATUS_IGNORE);
      MPI_Isend(out, n, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &to);
      MPI_Wait(&to, MPI_STATUS_IGNORE);
    }
  }
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

// Nanoseconds one way.
static double measure(int kind, int n, double scale) {
  double times[batches];
  const double guess = 250 + n / 12.0;  // ns
  long repeat = (long)(scale * 1.5e6 / guess);
  if (repeat < 2) repeat = 2;
  for (int b = -1; b < batches; ++b) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (kind == 2)
      posted(n, repeat);
    else
      blocking(n, repeat, kind == 0);
    double mine = (MPI_Wtime() - start) / (double)(2 * repeat) * 1e9, slower = 0;
    MPI_Allreduce(&mine, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (b >= 0) times[b] = slower;
  }
  qsort(times, batches, sizeof *times, compare);
  return times[batches / 2];
}

static double line_ns(void) {
  volatile long* line;
  MPI_Win window;
  MPI_Aint size;
  int unit;
  MPI_Win_allocate_shared(rank == 0 ? 4096 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&line, &window);
  MPI_Win_shared_query(window, 0, &size, &unit, (void*)&line);
  double best = 1e9;
  if (rank == 0) line[0] = line[64] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (long round = 0; round < 20; ++round) {
    const double start = MPI_Wtime();
    for (long i = round * 100 + 1; i <= round * 100 + 100; ++i) {
      if (rank == 0) __atomic_store_n(&line[0], i, __ATOMIC_RELEASE);
      while (__atomic_load_n(&line[rank == 0 ? 64 : 0], __ATOMIC_ACQUIRE) != i);
      if (rank == 1) __atomic_store_n(&line[64], i, __ATOMIC_RELEASE);
    }
    const double ns = (MPI_Wtime() - start) / 200 * 1e9;
    if (ns < best) best = ns;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  return best;
}

int main(int argc, char** argv) {
  static const int sizes[] = {0,    8,    64,    240,   512,    1024,    2048,   3072,
                              4096, 8192, 16384, 65536, 262144, 1048576, 4194304};
  MPI_Init(&argc, &argv);
  const double scale = argc > 1 ? atof(argv[1]) : 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  out = aligned_alloc(4096, most);
  in = aligned_alloc(4096, most);
  if (!out || !in) return 2;
  memset(out, 1, most);
  memset(in, 1, most);
  const double before = line_ns();
  double results[sizeof sizes / sizeof *sizes][3];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    for (int kind = 0; kind < 3; ++kind) results[i][kind] = measure(kind, sizes[i], scale);
  const double after = line_ns();
  if (rank == 0) {
    printf("line %.0f %.0f\n", before, after);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
      printf("%d %.1f %.1f %.1f\n", sizes[i], results[i][0], results[i][1], results[i][2]);
  }
  MPI_Finalize();
  return sink == 42;
}
