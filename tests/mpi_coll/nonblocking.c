/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds of up to 40 operations under way at once: all non-blocking collectives over several communicators,
 * blocking ones and point-to-point between them, completed in an order of each rank's own by every kind of
 * wait and test. All ranks start the same operations in the same order, as MPI asks; nothing else is in step.
 */
#include "common.h"

enum { MOST = 40, COMMS = 4 };
static MPI_Comm comms[COMMS];
static int ranks[COMMS], sizes[COMMS];

struct operation {
  MPI_Request request;
  char *send, *receive;
  size_t bytes; /* of receive */
  int kind, done;
  int *counts, *places;
};
static struct operation operations[MOST];
static MPI_Op composition;

static void compose(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  int *a = in, *b = inout;
  for (int i = 0; i < *n; ++i) {
    const int pa = (a[i] >> 8) & 255, qa = a[i] & 255, pb = (b[i] >> 8) & 255, qb = b[i] & 255;
    b[i] = ((pa * pb % 97) << 8) | ((qa * pb + qb) % 97);
  }
}

static void ints(char* at, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i < bytes / 4; ++i) ((int*)at)[i] = (int)((seed * 131 + i * 7) % 97);
}

static void start_reduction(struct operation* o, int kind, int c, int n, int root, MPI_Op op) {
  const MPI_Comm comm = comms[c];
  const int in_place = n % 2;
  const void* send = in_place ? MPI_IN_PLACE : o->send;
  if (in_place) memcpy(o->receive, o->send, o->bytes);
  switch (kind) {
    case 0: MPI_Iallreduce(send, o->receive, n, MPI_INT, op, comm, &o->request); break;
    case 1:
      MPI_Ireduce(in_place && ranks[c] != 0 ? o->send : send, o->receive, n, MPI_INT, op, in_place ? 0 : root,
                  comm, &o->request);
      break;
    case 2: MPI_Iscan(send, o->receive, n, MPI_INT, op, comm, &o->request); break;
    case 3:
      memset(o->receive, 0, in_place || ranks[c] ? 0 : o->bytes);
      MPI_Iexscan(o->send, o->receive, n, MPI_INT, op, comm, &o->request);
      break;
    case 4: MPI_Ireduce_scatter_block(o->send, o->receive, n, MPI_INT, op, comm, &o->request); break;
    default:
      for (int i = 0; i < sizes[c]; ++i) o->counts[i] = n / (i + 1);
      MPI_Ireduce_scatter(o->send, o->receive, o->counts, MPI_INT, op, comm, &o->request);
  }
}

static void start_move(struct operation* o, int kind, int c, int n, int root) {
  const MPI_Comm comm = comms[c];
  const int p = sizes[c], me = ranks[c];
  for (int i = 0; i < p; ++i) o->counts[i] = (n + i) / (1 + i % 2), o->places[i] = i * (n + p);
  switch (kind) {
    case 6: MPI_Ibcast(me == root ? o->send : o->receive, n, MPI_INT, root, comm, &o->request); break;
    case 7: MPI_Igather(o->send, n, MPI_INT, o->receive, n, MPI_INT, root, comm, &o->request); break;
    case 8: MPI_Iscatter(o->send, n, MPI_INT, o->receive, n, MPI_INT, root, comm, &o->request); break;
    case 9: MPI_Iallgather(o->send, n, MPI_INT, o->receive, n, MPI_INT, comm, &o->request); break;
    case 10: MPI_Ialltoall(o->send, n, MPI_INT, o->receive, n, MPI_INT, comm, &o->request); break;
    case 11:
      MPI_Igatherv(o->send, o->counts[me], MPI_INT, o->receive, o->counts, o->places, MPI_INT, root, comm,
                   &o->request);
      break;
    case 12:
      MPI_Iscatterv(o->send, o->counts, o->places, MPI_INT, o->receive, o->counts[me], MPI_INT, root, comm,
                    &o->request);
      break;
    case 13:
      MPI_Iallgatherv(o->send, o->counts[me], MPI_INT, o->receive, o->counts, o->places, MPI_INT, comm,
                      &o->request);
      break;
    case 14:
      for (int i = 0; i < p; ++i) o->counts[i] = n / (1 + (i + me) % 3);
      MPI_Ialltoallv(o->send, o->counts, o->places, MPI_INT, o->receive, o->counts, o->places, MPI_INT, comm,
                     &o->request);
      break;
    case 15: MPI_Ibarrier(comm, &o->request); break;
    case 16: MPI_Irecv(o->receive, n, MPI_INT, (me + p - 1) % p, n % 5, comm, &o->request); break;
    default: MPI_Isend(o->send, n, MPI_INT, (me + 1) % p, n % 5, comm, &o->request);
  }
}

static void blocking(int c, uint64_t pick, int round) {
  int value[3] = {ranks[c] + 1, round, (int)(pick % 50)}, sum[3] = {0};
  switch (pick % 4) {
    case 0: MPI_Barrier(comms[c]); return;
    case 1: MPI_Allreduce(value, sum, 3, MPI_INT, MPI_SUM, comms[c]); break;
    case 2:
      MPI_Bcast(value, 3, MPI_INT, (int)(pick % (unsigned)sizes[c]), comms[c]),
          memcpy(sum, value, sizeof sum);
      break;
    default:
      MPI_Sendrecv(value, 3, MPI_INT, (ranks[c] + 1) % sizes[c], 99, sum, 3, MPI_INT,
                   (ranks[c] + sizes[c] - 1) % sizes[c], 99, comms[c], MPI_STATUS_IGNORE);
  }
  record(sum, sizeof sum, "round %d blocking %d", round, (int)(pick % 4));
}

/* Completes some that are pending, in whatever way `pick` says; all of them when `all`. */
static void complete(int started, uint64_t* mine, int all) {
  MPI_Request some[MOST];
  int index[MOST], at[MOST], n = 0, out = 0, flag = 0;
  for (int i = 0; i < started; ++i)
    if (!operations[i].done) index[n] = i, some[n++] = operations[i].request;
  if (n == 0) return;
  for (int i = n - 1; i > 0; --i) { /* an order of our own */
    const int j = (int)(next_random(mine) % (unsigned)(i + 1)), k = index[i];
    const MPI_Request r = some[i];
    some[i] = some[j], index[i] = index[j], some[j] = r, index[j] = k;
  }
  switch (all ? 7 : next_random(mine) % 7) {
    case 0: MPI_Wait(&some[0], MPI_STATUS_IGNORE); break;
    case 1: MPI_Waitany(n, some, &out, MPI_STATUS_IGNORE); break;
    case 2: MPI_Waitsome(n, some, &out, at, MPI_STATUSES_IGNORE); break;
    case 3: MPI_Test(&some[n / 2], &flag, MPI_STATUS_IGNORE); break;
    case 4: MPI_Testany(n, some, &out, &flag, MPI_STATUS_IGNORE); break;
    case 5: MPI_Testsome(n, some, &out, at, MPI_STATUSES_IGNORE); break;
    case 6: MPI_Testall(n, some, &flag, MPI_STATUSES_IGNORE); break;
    default: MPI_Waitall(n, some, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < n; ++i) {
    operations[index[i]].request = some[i];
    operations[index[i]].done = some[i] == MPI_REQUEST_NULL;
  }
}

static void one_round(int round, uint64_t* common, uint64_t* mine) {
  const int count = 4 + (int)(next_random(common) % (MOST - 4));
  for (int i = 0; i < count; ++i) {
    struct operation* o = &operations[i];
    const int c = (int)(next_random(common) % COMMS), pick = (int)(next_random(common) % 18);
    const uint64_t size = next_random(common);
    const int n = (int)(size % 3 == 0 ? size % 40 : size % 3 == 1 ? size % 2000 : size % 9000);
    const int root = (int)(next_random(common) % (unsigned)sizes[c]),
              user = (int)(next_random(common) % 4 == 0);
    o->bytes = (size_t)(n + sizes[c]) * (unsigned)sizes[c] * 4 + 16;
    o->send = malloc(o->bytes), o->receive = malloc(o->bytes);
    o->counts = calloc(64, 4), o->places = calloc(64, 4);
    o->kind = pick, o->done = 0;
    ints(o->send, o->bytes, (uint64_t)(round * 100 + i * 3 + ranks[c]));
    memset(o->receive, 0x33, o->bytes);
    if (pick < 6)
      start_reduction(o, pick, c, n, root, user ? composition : MPI_SUM);
    else if (pick == 16 || pick == 17) { /* both halves of a ring, one after the other */
      start_move(o, 16 + (i + 1 == count), c, n, root);
      if (i + 1 == count) { /* no room for the other half */
        MPI_Recv(o->receive, n, MPI_INT, (ranks[c] + sizes[c] - 1) % sizes[c], n % 5, comms[c],
                 MPI_STATUS_IGNORE);
      } else {
        MPI_Send(o->send, n, MPI_INT, (ranks[c] + 1) % sizes[c], n % 5, comms[c]);
      }
    } else
      start_move(o, pick, c, n, root);
    if (pick == 11 || pick == 12 || pick == 13) o->counts[0] = o->places[0] = -1; /* they were copied */
    if (next_random(common) % 8 == 0) {
      const uint64_t what = next_random(common);
      blocking((c + 1) % COMMS, what, round);
    }
    if (next_random(mine) % 3 == 0) complete(i + 1, mine, 0);
  }
  complete(count, mine, 1);
  for (int i = 0; i < count; ++i) {
    struct operation* o = &operations[i];
    if (!o->done) MPI_Abort(MPI_COMM_WORLD, 5);
    record(o->receive, o->bytes, "round %d op %d kind %d", round, i, o->kind);
    free(o->send), free(o->receive), free(o->counts), free(o->places);
  }
}

/* A communicator may go while a call on it is under way (Open MPI 4.1.4 itself crashes then). */
static void free_early(void) {
  MPI_Comm brief;
  MPI_Request request;
  int one = world_rank + 1, sum = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &brief);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, brief, &request);
  MPI_Comm_free(&brief);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != world_size * (world_size + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 6);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_out(argv[1]);
  const int rounds = atoi(argv[2]);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[3]);
  for (int i = 0; i < COMMS; ++i) MPI_Comm_rank(comms[i], &ranks[i]), MPI_Comm_size(comms[i], &sizes[i]);
  MPI_Op_create(compose, 0, &composition);
  uint64_t common = 4711, mine = 13 + (uint64_t)world_rank;
  for (int round = 0; round < rounds; ++round) one_round(round, &common, &mine);
  if (argc > 3 && !strcmp(argv[3], "ours")) free_early();
  MPI_Op_free(&composition);
  for (int i = 1; i < COMMS; ++i) MPI_Comm_free(&comms[i]);
  end_out();
  MPI_Finalize();
  return 0;
}
