// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Two ranks that move a known number of bytes by each of several functions; "abort", "exit": and end early;
// "files": and write a file, for which the library may call functions of MPI.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { large = 100000 };
static char private_to[large], private_from[large];  // static data is not shared

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* from = calloc(2, large);
  char* to = calloc(2, large);
  MPI_Request requests[2];
  // To itself, from static data to the other, from the heap to the other: each large bytes a rank.
  MPI_Irecv(to, large, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(from, large, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Irecv(private_to, large, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Issend(private_from, large, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Ssend(from, large, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(to, large, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int files = argc > 1 && strcmp(argv[1], "files") == 0;
  MPI_Barrier(MPI_COMM_WORLD);  // the other has counted, too
  if (argc > 1 && !files && rank == 1) {
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
  }
  // A rank receives: 1000 on one, 2 x 1000 on both, (10 + 20) x 4 on both, 500 on rank 0.
  MPI_Bcast(from, 1000, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Alltoall(from, 1000, MPI_BYTE, to, 1000, MPI_BYTE, MPI_COMM_WORLD);
  const int counts[] = {10 + 10 * rank, 10 + 10 * rank}, gets[] = {10, 20}, places[] = {0, 100},
            bytes[] = {0, 400};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Alltoallv(from, counts, places, MPI_INT, to, gets, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallw(from, counts, bytes, types, to, gets, bytes, types, MPI_COMM_WORLD);
  MPI_Reduce(from, to, 500, MPI_SIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(from, to, 700, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_SELF);
  MPI_Win window;
  MPI_Win_create(to, large, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(from, 300, MPI_BYTE, 1 - rank, 0, 300, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_File file;
  char name[] = "nigh-account.tmp";
  if (files &&
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &file) == MPI_SUCCESS) {
    MPI_File_write_at_all(file, rank * 600, from, 600, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  MPI_Comm ring;
  const int one = 2, periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &periodic, 0, &ring);
  MPI_Neighbor_allgather(from, 50, MPI_BYTE, to, 50, MPI_BYTE, ring);
  MPI_Comm_free(&ring);
  const int ends[2] = {1, 2}, other[2] = {1, 0};
  MPI_Graph_create(MPI_COMM_WORLD, 2, ends, other, 0, &ring);
  MPI_Neighbor_alltoall(from, 30, MPI_BYTE, to, 30, MPI_BYTE, ring);
  MPI_Comm_free(&ring);
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
