/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arguments that one library or both refuse: MPI_IN_PLACE where it has no place, a buffer that is sent from
 * and received into, types that were not committed, arrays that are not there. What each call says, and,
 * where it is accepted, what it does. Each call is made by all members alike, so that no library alone can
 * hang in it.
 */
#include "common.h"

enum { n = 500 };
static int *a, *b, counts[16], places[16], no_counts[16];
static MPI_Datatype raw; /* not committed */
static MPI_Request request;
static MPI_Comm comm;

static const char* class_of(int code) {
  int class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  switch (class) {
    case MPI_SUCCESS: return "accepted";
    case MPI_ERR_BUFFER: return "MPI_ERR_BUFFER";
    case MPI_ERR_ARG: return "MPI_ERR_ARG";
    case MPI_ERR_TYPE: return "MPI_ERR_TYPE";
    case MPI_ERR_COUNT: return "MPI_ERR_COUNT";
    case MPI_ERR_TRUNCATE: return "MPI_ERR_TRUNCATE";
    default: return "another error";
  }
}

static void set_buffers(void) {
  for (int i = 0; i < 32 * n; ++i) a[i] = i % 97 + world_rank, b[i] = -1;
}

/* The library decides whether the call is made at all: calls that crash in it are left out. */
#define SAYS(call)                                                                                 \
  do {                                                                                             \
    set_buffers();                                                                                 \
    const int code = call;                                                                         \
    fprintf(out_file, "%s: %s\n", #call, class_of(code));                                          \
    if (code == MPI_SUCCESS && request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE); \
    request = MPI_REQUEST_NULL;                                                                    \
  } while (0)

#define IN_PLACE_WRONG(N)                                                        \
  SAYS(MPI_Allreduce(a, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));               \
  SAYS(MPI_Scan(a, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));                    \
  SAYS(MPI_Reduce_scatter_block(a, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));    \
  SAYS(MPI_Allgather(a, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, comm));            \
  SAYS(MPI_Alltoall(a, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, comm));             \
  SAYS(MPI_Iallreduce(a, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm, &request));    \
  SAYS(MPI_Iscan(a, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm, &request));         \
  SAYS(MPI_Iallgather(a, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, comm, &request)); \
  SAYS(MPI_Ialltoall(a, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, comm, &request))

static void in_place(void) {
  IN_PLACE_WRONG(n);
  IN_PLACE_WRONG(0);
  SAYS(MPI_Reduce_scatter(a, MPI_IN_PLACE, counts, MPI_INT, MPI_SUM, comm));
  SAYS(MPI_Allgatherv(a, n, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm));
  SAYS(MPI_Alltoallv(a, counts, places, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm));
  SAYS(MPI_Iallgatherv(a, n, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm, &request));
  SAYS(MPI_Ialltoallv(a, counts, places, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm, &request));
}

#define SAME_BUFFER(N)                                                                 \
  SAYS(MPI_Allreduce(a, a, N, MPI_INT, MPI_MAX, comm));                                \
  SAYS(MPI_Scan(a, a, N, MPI_INT, MPI_MAX, comm));                                     \
  SAYS(MPI_Exscan(a, a, N, MPI_INT, MPI_MAX, comm));                                   \
  SAYS(MPI_Reduce_scatter_block(a, a, N, MPI_INT, MPI_MAX, comm));                     \
  SAYS(MPI_Allgather(a + world_rank * N, N, MPI_INT, a, N, MPI_INT, comm));            \
  SAYS(MPI_Alltoall(a, N, MPI_INT, a, N, MPI_INT, comm));                              \
  SAYS(MPI_Iallreduce(a, a, N, MPI_INT, MPI_MAX, comm, &request));                     \
  SAYS(MPI_Iscan(a, a, N, MPI_INT, MPI_MAX, comm, &request));                          \
  SAYS(MPI_Ireduce_scatter_block(a, a, N, MPI_INT, MPI_MAX, comm, &request));          \
  SAYS(MPI_Iallgather(a + world_rank * N, N, MPI_INT, a, N, MPI_INT, comm, &request)); \
  SAYS(MPI_Ialltoall(a, N, MPI_INT, a, N, MPI_INT, comm, &request))

static void same_buffer(void) {
  SAME_BUFFER(n);
  SAME_BUFFER(1);
  SAME_BUFFER(0);
  SAYS(MPI_Reduce_scatter(a, a, counts, MPI_INT, MPI_MAX, comm));
  SAYS(MPI_Alltoallv(a, counts, places, MPI_INT, a, counts, places, MPI_INT, comm));
}

/* By one member alone: it is refused at once. */
static void by_one(void) {
  if (world_rank == 0) {
    SAYS(MPI_Allreduce(a, MPI_IN_PLACE, n, MPI_INT, MPI_SUM, comm));
    SAYS(MPI_Bcast(a, 1, raw, 0, comm));
    SAYS(MPI_Gather(a, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, 0, comm));
    SAYS(MPI_Scatter(MPI_IN_PLACE, n, MPI_INT, b, n, MPI_INT, 0, comm));
    SAYS(MPI_Igather(a, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, 0, comm, &request));
    SAYS(MPI_Iscatter(MPI_IN_PLACE, n, MPI_INT, b, n, MPI_INT, 0, comm, &request));
    SAYS(MPI_Reduce(a, MPI_IN_PLACE, n, MPI_INT, MPI_MAX, 0, comm));
    SAYS(MPI_Reduce(a, a, n, MPI_INT, MPI_MAX, 0, comm));
    SAYS(MPI_Ireduce(a, a, n, MPI_INT, MPI_MAX, 0, comm, &request));
#ifdef OPEN_MPI
    SAYS(MPI_Bcast(MPI_IN_PLACE, n, MPI_INT, 0, comm));
#endif
  }
  MPI_Barrier(comm);
}

#define UNCOMMITTED(KIND, SEND, RECEIVE, S, R)                     \
  fprintf(out_file, "%s\n", KIND);                                 \
  SAYS(MPI_Allgather(a, S, SEND, b, R, RECEIVE, comm));            \
  SAYS(MPI_Alltoall(a, S, SEND, b, R, RECEIVE, comm));             \
  SAYS(MPI_Iallgather(a, S, SEND, b, R, RECEIVE, comm, &request)); \
  SAYS(MPI_Allgatherv(a, S, SEND, b, R == n ? counts : no_counts, places, RECEIVE, comm))

static void not_committed(void) {
  SAYS(MPI_Bcast(a, n, raw, 0, comm));
  SAYS(MPI_Ibcast(a, n, raw, 0, comm, &request));
  UNCOMMITTED("sent", raw, MPI_INT, n / 2, n);
  UNCOMMITTED("received", MPI_INT, raw, n, n / 2);
  UNCOMMITTED("both", raw, raw, n / 2, n / 2);
  int to = world_rank == 0 ? 1 : MPI_PROC_NULL;
  SAYS(MPI_Send(a, 16 * n, raw, to, 0, comm));
  SAYS(MPI_Isend(a, 16 * n, raw, to, 0, comm, &request));
  SAYS(MPI_Send_init(a, 16 * n, raw, to, 0, comm, &request));
  SAYS(MPI_Irecv(a, 16 * n, raw, to, 0, comm, &request));
  SAYS(MPI_Sendrecv(a, 16 * n, raw, to, 0, b, n, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
}

/* Types that one member alone can't see: the receive type of a gather's root, and that of a scatter's
 * others. */
static void not_committed_here(void) {
  int code = MPI_Gather(a, n, MPI_INT, b, n / 2, world_rank == 0 ? raw : MPI_DATATYPE_NULL, 0, comm);
  if (world_rank == 0) fprintf(out_file, "received by a root: %s\n", class_of(code));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_out(argv[1]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  a = calloc(32 * n, sizeof *a), b = calloc(32 * n, sizeof *b);
  for (int i = 0; i < 16; ++i) counts[i] = n, no_counts[i] = n / 2, places[i] = n * i;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  request = MPI_REQUEST_NULL;
  in_place();
  same_buffer();
  by_one();
  not_committed();
#ifdef OPEN_MPI
  not_committed_here(); /* accepted */
#else
  (void)not_committed_here;
#endif
  MPI_Type_commit(&raw);
  SAYS(MPI_Bcast(a, n, raw, 0, comm));
  SAYS(MPI_Alltoall(a, 1, raw, b, 1, raw, comm));
  MPI_Type_free(&raw);
  MPI_Finalize();
  return 0;
}
