/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that people preload beside ours: a profiling tool by MPI's own interface, which counts, and says
 * so in MPI_Finalize.
 */
#include <mpi.h>
#include <stdio.h>

static long sends, bytes, reductions;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int size = 0;
  PMPI_Type_size(type, &size);
  sends++;
  bytes += (long)count * size;
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  reductions++;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    printf("tool: %ld sends, %ld bytes, %ld reductions\n", sends, bytes, reductions), fflush(stdout);
  return PMPI_Finalize();
}
