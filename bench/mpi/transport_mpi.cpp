/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The patterns by MPI, as any program would write them. Built once for each name by which a library of MPI is
 * linked, from our own declarations of its ABI; nigh is preloaded or not. `--transport version` prints the
 * library's name instead. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { most_requests = 256 };

static void* get(size_t bytes) { return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); }
static void send_one(const void* data, size_t bytes, int to) {
  MPI_Send(data, (int)bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
}
static void receive_one(void* data, size_t bytes, int from) {
  MPI_Recv(data, (int)bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void exchange(const void* out, void* in, size_t bytes, int to, int from) {
  MPI_Sendrecv(out, (int)bytes, MPI_BYTE, to, 2, in, (int)bytes, MPI_BYTE, from, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
static void send_many(const void* data, size_t bytes, int count, int to) {
  MPI_Request requests[most_requests];
  for (int i = 0; i < count; i++)
    MPI_Isend((const char*)data + (size_t)i * bytes, (int)bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD,
              &requests[i]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}
static void receive_many(void* data, size_t bytes, int count, int from) {
  MPI_Request requests[most_requests];
  for (int i = 0; i < count; i++)
    MPI_Irecv((char*)data + (size_t)i * bytes, (int)bytes, MPI_BYTE, from, 3, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}
static void halo(const void* const* out, void* const* in, size_t bytes, int left, int right) {
  MPI_Request r[4];
  MPI_Irecv(in[0], (int)bytes, MPI_BYTE, left, 5, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(in[1], (int)bytes, MPI_BYTE, right, 4, MPI_COMM_WORLD, &r[1]);
  MPI_Isend(out[0], (int)bytes, MPI_BYTE, left, 4, MPI_COMM_WORLD, &r[2]);
  MPI_Isend(out[1], (int)bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void* data, size_t bytes, int root) {
  MPI_Bcast(data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}
static void reduce(const double* in, double* out, size_t count, int root) {
  MPI_Reduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}
static void allreduce(const double* in, double* out, size_t count) {
  MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void alltoall(const void* out, void* in, size_t bytes) {
  MPI_Alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static MPI_Comm ring = MPI_COMM_NULL;
static void make_ring(int rank, int size) {
  const int count = size > 2 ? 2 : size - 1, ones[2] = {1, 1};
  const int neighbors[2] = {(rank + size - 1) % size, (rank + 1) % size};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, neighbors, ones, count, neighbors, ones,
                                 MPI_INFO_NULL, 0, &ring);
}
static void neighbors(const void* out, void* in, size_t bytes) {
  MPI_Neighbor_alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, ring);
}
static MPI_Win window_of_place, window_of_puts = MPI_WIN_NULL;
static void* window_at;
static void* get_window(size_t bytes) {
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_at, &window_of_puts);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_of_puts);
  return window_at;
}
static void put(void* at, const void* data, size_t bytes, int to) {
  MPI_Put(data, (int)bytes, MPI_BYTE, to, (char*)at - (char*)window_at, (int)bytes, MPI_BYTE, window_of_puts);
  MPI_Win_flush(to, window_of_puts);
}
static void see(void) { MPI_Win_sync(window_of_puts); }
static void end(void) {
  if (window_of_puts != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window_of_puts);
    MPI_Win_free(&window_of_puts);
  }
  MPI_Win_free(&window_of_place);
  MPI_Comm_free(&ring);
  MPI_Finalize();
}

void transport_begin(transport* t, const char* kind, int ranks) {
  if (strcmp(kind, "version") == 0) {
    static char version[65536]; /* MPICH's has 8192 bytes, Open MPI's 256 */
    int length = 0;
    MPI_Get_library_version(version, &length);
    printf("%s\n", version);
    exit(0);
  }
  MPI_Init(NULL, NULL);
  *t = transport{.rank = 0,
                 .size = 0,
                 .place = NULL,
                 .alloc = get,
                 .send = send_one,
                 .receive = receive_one,
                 .exchange = exchange,
                 .send_many = send_many,
                 .receive_many = receive_many,
                 .halo = halo,
                 .window = get_window,
                 .put = put,
                 .see = see,
                 .barrier = barrier,
                 .bcast = bcast,
                 .reduce = reduce,
                 .allreduce = allreduce,
                 .alltoall = alltoall,
                 .neighbors = neighbors,
                 .end = end};
  MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &t->size);
  if (t->size != ranks) {
    if (t->rank == 0) fprintf(stderr, "started with %d ranks, not the %d of --teams\n", t->size, ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  make_ring(t->rank, t->size);
  void* base = NULL;
  MPI_Aint bytes = t->rank == 0 ? (MPI_Aint)sizeof(meeting) + 128 : 0;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window_of_place);
  int unit = 0;
  MPI_Win_shared_query(window_of_place, 0, &bytes, &unit, &base);
  t->place = (meeting*)(((uintptr_t)base + 127) / 128 * 128);
  MPI_Barrier(MPI_COMM_WORLD);
}
