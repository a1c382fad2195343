/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The last rank dies while the others wait for it; they make a communicator without it and go on (ULFM). They
 * end without MPI_Finalize: on a busy machine Open MPI 5.0 waits there for ever, for a fence that PRRTE does
 * not end. */
#include <mpi.h>
/* Needs it. */
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  enum { bytes = 100000 };
  int rank = 0, ranks = 0, left = 0, one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) raise(SIGKILL);
  int code = MPI_Barrier(MPI_COMM_WORLD);
  if (code == MPI_SUCCESS) return puts("the barrier lost nobody"), 1;
  MPIX_Comm_revoke(MPI_COMM_WORLD);
  MPI_Comm rest;
  if (MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) != MPI_SUCCESS) return puts("no communicator without it"), 1;
  MPI_Comm_size(rest, &left);
  MPI_Comm_rank(rest, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, rest);
  char *out = malloc(bytes), *in = calloc(bytes, 1);
  memset(out, rank + 1, bytes);
  const int from = (rank + left - 1) % left;
  MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % left, 0, in, bytes, MPI_CHAR, from, 0, rest,
               MPI_STATUS_IGNORE);
  if (sum == left && in[bytes - 1] == from + 1) printf("%d of %d go on\n", left, ranks);
  fflush(stdout);
  MPI_Barrier(rest);
  _exit(0);
}
