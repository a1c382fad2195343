/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The view of ranks on several hosts: where each is, how many share its memory, and the link between the
 * first half of the ranks and the second: the time of a small message one way, the rate of one pair's large
 * ones, of all pairs' at once. Every byte is compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { large = 1 << 20, times = 200 };
static int rank, size, peer, wrong;
static unsigned char *out, *in;

static void fill(unsigned round, int who) {
  for (size_t i = 0; i < large; i++) out[i] = (unsigned char)(i * 7 + i / 4096 + round * 13 + (unsigned)who);
}
static void judge(unsigned round, int who) {
  for (size_t i = 0; i < large; i++)
    if (in[i] != (unsigned char)(i * 7 + i / 4096 + round * 13 + (unsigned)who)) wrong = 1;
}

/* `pairs` of ranks, the first of each half; one way, so that nothing comes against the messages but the
 * library's own. */
static double rate(int pairs, int rounds) {
  const int half = size / 2, mine = rank % half < pairs;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds && mine; i++) {
    if (rank < half)
      MPI_Send(out, large, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    else
      MPI_Recv(in, large, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;
  if (mine && rank >= half) judge(1, peer);
  return pairs * (double)rounds * large * 8e-6 / seconds;
}

static double one_way(void) {
  char word[8] = "nigh";
  double best = 1e9;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < times && rank % (size / 2) == 0; i++) {
    const double start = MPI_Wtime();
    if (rank == 0) MPI_Send(word, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(word, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(word, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    const double half = (MPI_Wtime() - start) / 2;
    if (half < best) best = half;
  }
  return best * 1e6;
}

int main(int argc, char** argv) {
  char host[64];
  int shared = 0, all = 0;
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  peer = (rank + size / 2) % size;
  gethostname(host, sizeof host);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &shared);
  printf("rank %d of %d on %s with %d\n", rank, size, host, shared);
  out = malloc(large);
  in = malloc(large);
  fill(1, rank);
  if (rounds > 0) {
    const double us = one_way(), one = rate(1, rounds), every = rate(size / 2, rounds);
    if (rank == 0) printf("one way %.1f us, one pair %.1f Mbit/s, all pairs %.1f Mbit/s\n", us, one, every);
  }
  /* In each host, and over all of them. */
  for (int i = 0; i < 5; i++) {
    memset(in, 0, large);
    MPI_Sendrecv(out, large, MPI_BYTE, (rank + 1) % size, 2, in, large, MPI_BYTE, (rank + size - 1) % size, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    judge(1, (rank + size - 1) % size);
    memset(in, 0, large);
    MPI_Sendrecv(out, large, MPI_BYTE, rank ^ 1, 3, in, large, MPI_BYTE, rank ^ 1, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    judge(1, rank ^ 1);
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) puts(all ? "WRONG bytes" : "all bytes are right");
  fflush(stdout);
  /* MPICH 4.0 over UCX's TCP: a rank that makes progress while another closes its connection waits for that
   * one in MPI_Finalize, forever. So all stop together, and none begins before all have. */
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(400000);
  MPI_Finalize();
  return all;
}
