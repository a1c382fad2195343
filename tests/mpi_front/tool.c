/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A PMPI profiler in small: it owns MPI_Allreduce, MPI_Isend and MPI_Finalize, calls PMPI for the work, and
 * tells at the end how many calls it saw. Whether it is preloaded before us, after us, or linked to the
 * program, it must see all of them, and we must see what it makes of them.
 */
#include <mpi.h>
#include <stdio.h>

static int reduced, sent;

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++reduced;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++sent;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("tool saw %d reductions and %d sends\n", reduced, sent);
    fflush(stdout);
  }
  return PMPI_Finalize();
}
