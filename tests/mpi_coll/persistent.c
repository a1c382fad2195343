/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent collectives. Each rank starts its requests in an order of its own, changes the buffers between
 * two starts, and has freed types and communicators, and overwritten arrays of counts, before the first. With
 * "oracle" the same calls are made as non-blocking ones, in one order.
 */
#include "common.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

enum { FORMS = 17, ROUNDS = 6, MOST = 4096 };
static int plain;      /* as the oracle */
static int rank, size; /* of the communicator */

struct call {
  MPI_Request request;
  int form, n;
  int *send, *receive;
  int *counts, *places, *bytes_places;
  MPI_Datatype* types;
};
static struct call calls[FORMS];

static size_t ints_of(const struct call* c) { return (size_t)(c->n + 4) * 4 * (size_t)size; }

#define CALL(NAME, ...)                                                \
  do {                                                                 \
    if (plain)                                                         \
      MPI_I##NAME(__VA_ARGS__, comm, &c->request);                     \
    else                                                               \
      PERSISTENT(NAME, __VA_ARGS__, comm, MPI_INFO_NULL, &c->request); \
  } while (0)
#if HAS_PERSISTENT
#define PERSISTENT(NAME, ...) INIT_##NAME(__VA_ARGS__)
#define INIT_bcast MPI_Bcast_init
#define INIT_reduce MPI_Reduce_init
#define INIT_allreduce MPI_Allreduce_init
#define INIT_scan MPI_Scan_init
#define INIT_exscan MPI_Exscan_init
#define INIT_reduce_scatter MPI_Reduce_scatter_init
#define INIT_reduce_scatter_block MPI_Reduce_scatter_block_init
#define INIT_gather MPI_Gather_init
#define INIT_gatherv MPI_Gatherv_init
#define INIT_scatter MPI_Scatter_init
#define INIT_scatterv MPI_Scatterv_init
#define INIT_allgather MPI_Allgather_init
#define INIT_allgatherv MPI_Allgatherv_init
#define INIT_alltoall MPI_Alltoall_init
#define INIT_alltoallv MPI_Alltoallv_init
#define INIT_alltoallw MPI_Alltoallw_init
#else
#define PERSISTENT(NAME, ...) MPI_Abort(MPI_COMM_WORLD, 5)
#endif

static void make(struct call* c, MPI_Comm comm, MPI_Datatype gap) {
  const int n = c->n, root = c->form % size;
  int *s = c->send, *r = c->receive, *k = c->counts, *at = c->places;
  switch (c->form) {
    case 0: CALL(bcast, r, n, gap, root); break;
    case 1: CALL(reduce, s, r, n, MPI_INT, MPI_SUM, root); break;
    case 2: CALL(allreduce, s, r, n, MPI_INT, MPI_MAX); break;
    case 3: CALL(scan, s, r, n, MPI_INT, MPI_SUM); break;
    case 4: CALL(exscan, s, r, n, MPI_INT, MPI_SUM); break;
    case 5: CALL(reduce_scatter, s, r, k, MPI_INT, MPI_SUM); break;
    case 6: CALL(reduce_scatter_block, s, r, n, MPI_INT, MPI_SUM); break;
    case 7: CALL(gather, s, n, gap, r, n, gap, root); break;
    case 8: CALL(gatherv, s, k[rank], gap, r, k, at, gap, root); break;
    case 9: CALL(scatter, s, n, gap, r, n, MPI_2INT, root); break;
    case 10: CALL(scatterv, s, k, at, gap, r, k[rank], MPI_2INT, root); break;
    case 11: CALL(allgather, s, n, MPI_2INT, r, n, gap); break;
    case 12: CALL(allgatherv, s, k[rank], gap, r, k, at, MPI_2INT); break;
    case 13: CALL(alltoall, s, n, MPI_INT, r, n, MPI_INT); break;
    case 14: CALL(alltoallv, s, k, at, gap, r, k, at, gap); break;
    case 15: CALL(alltoallw, s, k, c->bytes_places, c->types, r, k, c->bytes_places, c->types); break;
    default:
      if (plain) MPI_Ibarrier(comm, &c->request);
#if HAS_PERSISTENT
      if (!plain) MPI_Barrier_init(comm, MPI_INFO_NULL, &c->request);
#endif
  }
}

static void begin(struct call* c, MPI_Comm comm, MPI_Datatype gap) {
  if (plain)
    make(c, comm, gap);
  else
    MPI_Start(&c->request);
}

static void prepare(struct call* c, int form, int round) {
  fill(c->send, ints_of(c) * sizeof(int), (uint64_t)(rank * 100 + form * 7 + round));
  for (size_t i = 0; i < ints_of(c); ++i) c->send[i] &= 0xffff;
  fill(c->receive, ints_of(c) * sizeof(int), (uint64_t)(form + round));
  if (form == 0 && rank == form % size) memcpy(c->receive, c->send, ints_of(c) * sizeof(int));
  if (form == 4 && rank == 0) memset(c->receive, 0, ints_of(c) * sizeof(int));
}

static void rounds(MPI_Comm comm, const char* name, int n) {
  MPI_Comm mine; /* freed before the first start, but by the oracle */
  MPI_Datatype gap;
  MPI_Request idle;
  MPI_Comm_idup(comm, &mine, &idle);
  MPI_Wait(&idle, MPI_STATUS_IGNORE);
  MPI_Comm_rank(mine, &rank);
  MPI_Comm_size(mine, &size);
  MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
  MPI_Type_commit(&gap);
  for (int form = 0; form < FORMS; ++form) {
    struct call* c = &calls[form];
    *c = (struct call){.request = MPI_REQUEST_NULL, .form = form, .n = n};
    c->send = malloc(ints_of(c) * sizeof(int));
    c->receive = malloc(ints_of(c) * sizeof(int));
    c->counts = malloc((size_t)size * sizeof(int));
    c->places = malloc((size_t)size * sizeof(int));
    c->bytes_places = malloc((size_t)size * sizeof(int));
    c->types = malloc((size_t)size * sizeof(MPI_Datatype));
    for (int i = 0; i < size; ++i) {
      c->counts[i] = form < 13 ? n / (1 + i) : n / (1 + (i + rank) % 3);
      c->places[i] = i * (n + 1);
      c->bytes_places[i] = (size - 1 - i) * (n + 1) * 12;
      c->types[i] = (i + rank) % 2 ? gap : MPI_2INT;
    }
    if (plain) continue;
    make(c, mine, gap);
    for (int i = 0; i < size; ++i) { /* as mpi4py does, which frees them: the libraries have read them */
      c->counts[i] = -1 - i;
      c->places[i] = c->bytes_places[i] = 1 << 28;
      c->types[i] = MPI_DATATYPE_NULL;
    }
  }
  if (!plain) {
    MPI_Comm_free(&mine);
    MPI_Type_free(&gap);
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &gap); /* its handle may be the freed one */
    MPI_Type_commit(&gap);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int form = 0; form < FORMS; ++form) prepare(&calls[form], form, round);
    const int shift = plain ? 0 : rank * 5 + round;
    for (int i = 0; i < FORMS; ++i) begin(&calls[(i + shift) % FORMS], mine, gap);
    if (round % 3 == 0) {
      MPI_Request all[FORMS];
      for (int i = 0; i < FORMS; ++i) all[i] = calls[i].request;
      MPI_Waitall(FORMS, all, MPI_STATUSES_IGNORE);
      for (int i = 0; i < FORMS; ++i) calls[i].request = all[i];
    } else {
      for (int i = 0; i < FORMS; ++i) {
        struct call* c = &calls[(i * 3 + rank) % FORMS];
        int done = round % 3 == 1;
        if (done) MPI_Wait(&c->request, MPI_STATUS_IGNORE);
        while (!done) MPI_Test(&c->request, &done, MPI_STATUS_IGNORE);
      }
    }
    for (int form = 0; form < FORMS; ++form)
      record(calls[form].receive, ints_of(&calls[form]) * sizeof(int), "%s n=%d round %d form %d", name, n,
             round, form);
    int sum = 0;
    MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != round * size) MPI_Abort(MPI_COMM_WORLD, 6);
  }
  for (int form = 0; form < FORMS; ++form) {
    struct call* c = &calls[form];
    if (!plain) MPI_Request_free(&c->request);
    free(c->send), free(c->receive), free(c->counts), free(c->places), free(c->bytes_places), free(c->types);
  }
  MPI_Type_free(&gap);
  if (plain) MPI_Comm_free(&mine);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_out(argv[1]);
  plain = argc > 2 && strcmp(argv[2], "oracle") == 0;
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  static const int lengths[] = {1, 30, MOST};
  for (int i = 0; i < 3; ++i) {
    rounds(MPI_COMM_WORLD, "world", lengths[i]);
    rounds(reversed, "reversed", lengths[i]);
  }
  MPI_Comm_free(&reversed);
  end_out();
  MPI_Finalize();
  return 0;
}
