/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One call of each kind that NIGH_RECORD counts, with sizes that tell them apart (front.py, case_record). On
 * 4 ranks.
 */
#include <mpi.h>
#include <stdlib.h>

static char *in, out[1 << 17];

static void collectives(MPI_Comm comm, int size) {
  int counts[4], places[4];
  MPI_Datatype types[4];
  for (int i = 0; i < size; i++) counts[i] = 10 * (i + 1), places[i] = 1000 * i, types[i] = MPI_CHAR;
  MPI_Bcast(in, 1, MPI_CHAR, 1, comm);
  MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 2, comm);
  MPI_Allreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Gather(in, 100, MPI_CHAR, out, 100, MPI_CHAR, 3, comm);
  MPI_Scatterv(in, counts, places, MPI_CHAR, out, 1000, MPI_CHAR, 0, comm);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 7, MPI_CHAR, comm);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_CHAR, comm);
  MPI_Alltoall(in, 200, MPI_CHAR, out, 200, MPI_CHAR, comm);
  MPI_Alltoallw(in, counts, places, types, out, counts, places, types, comm);
  MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, dims[1] = {4}, periods[1] = {1};
  MPI_Comm pair = MPI_COMM_NULL, ring = MPI_COMM_NULL;
  MPI_Request requests[4];
  MPI_Win window = MPI_WIN_NULL;
  void* base = NULL;
  MPI_Init(&argc, &argv);
  in = calloc(1, 1 << 16);
  if (!in) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  if (argc > 1) { /* "collectives" */
    int alltoallv[4] = {5, 5, 5, 5}, places[4] = {0, 5, 10, 15};
    collectives(MPI_COMM_WORLD, size);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, alltoallv, places, MPI_CHAR,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
  /* 0 sends to 3: small, large, to nobody; 1 and 2 exchange. */
  if (rank == 0) {
    MPI_Send(in, 10, MPI_CHAR, 3, 0, MPI_COMM_WORLD);
    MPI_Isend(in, 50000, MPI_CHAR, 3, 0, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    MPI_Send(in, 10, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  } else if (rank == 3) {
    for (int i = 0; i < 2; i++) MPI_Recv(out, 50000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Sendrecv(in, 300, MPI_CHAR, 3 - rank, 0, out, 300, MPI_CHAR, 3 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  /* Ranks 0 and 2, 1 and 3, under a name, whose members have other numbers: persistent sends, a small one and
   * a large one, started together 3 times. */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &pair);
  MPI_Comm_set_name(pair, "a \"pair\" \xe9");
  int there = 0;
  MPI_Comm_rank(pair, &there);
  MPI_Send_init(in, 70, MPI_CHAR, 1 - there, 0, pair, requests);
  MPI_Recv_init(out, 70, MPI_CHAR, 1 - there, 0, pair, requests + 1);
  MPI_Send_init(in, 60000, MPI_CHAR, 1 - there, 1, pair, requests + 2);
  MPI_Recv_init(out + 70, 60000, MPI_CHAR, 1 - there, 1, pair, requests + 3);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 4; i++) MPI_Request_free(requests + i);
  MPI_Comm_free(&pair);
  /* Neighbours of a ring. */
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  MPI_Neighbor_alltoall(in, 9, MPI_CHAR, out, 9, MPI_CHAR, ring);
  MPI_Comm_free(&ring);
  /* Rank 3 writes to 0 and reads from 1. */
  MPI_Win_allocate(1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_fence(0, window);
  if (rank == 3) MPI_Put(in, 600, MPI_CHAR, 0, 0, 600, MPI_CHAR, window);
  if (rank == 3) MPI_Get(out, 400, MPI_CHAR, 1, 0, 400, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  free(in);
  MPI_Finalize();
  return 0;
}
