/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bcast, Gather(v), Scatter(v), Allgather(v), Alltoall(v): sizes from nothing to large, in place or not,
 * stack, heap and static buffers, several communicators. The same bytes lie differently on each rank: some
 * send them in one piece, some as vectors, indexed or as structs with swapped members, at negative
 * displacements or from MPI_BOTTOM.
 */
#include "common.h"

enum { KINDS = 5 };
static MPI_Datatype pairs[KINDS]; /* each has two ints of message */
static const char* const pair_names[KINDS] = {"plain", "gap", "swapped", "absolute", "resized"};
static char* base; /* of absolute types */
static size_t pair_extent[KINDS];

static void make_types(void) {
  MPI_Type_contiguous(2, MPI_INT, &pairs[0]);
  MPI_Type_vector(2, 1, 3, MPI_INT, &pairs[1]);
  const int one[2] = {1, 1};
  const MPI_Aint back[2] = {4, 0};
  const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, one, back, ints, &pairs[2]);
  MPI_Aint where[2];
  MPI_Get_address(base, &where[0]);
  where[1] = where[0] + 12;
  MPI_Datatype loose;
  MPI_Type_create_hindexed(2, one, where, MPI_INT, &loose);
  MPI_Type_create_resized(loose, where[0], 16, &pairs[3]);
  MPI_Type_free(&loose);
  MPI_Type_create_resized(pairs[1], -8, 32, &pairs[4]);
  for (int i = 0; i < KINDS; ++i) {
    MPI_Aint lower, extent;
    MPI_Type_commit(&pairs[i]);
    MPI_Type_get_extent(pairs[i], &lower, &extent);
    pair_extent[i] = (size_t)extent;
  }
}

#define ROOM (3u << 20)
static char* heap_buffers[2];

struct side {
  int kind;
  size_t bytes; /* of the whole buffer */
  char* memory;
  void* buffer; /* for MPI */
  MPI_Datatype type;
};

/* Room for `pairs_total` pairs in one of the forms; the absolute one has only one home. */
static struct side make_side(int which, int kind, int place, size_t pairs_total,
                             char (*stack)[SMALL_BUFFER]) {
  struct side s = {.kind = kind};
  s.bytes = pairs_total * pair_extent[kind] + 64;
  if (s.bytes > ROOM) MPI_Abort(MPI_COMM_WORLD, 4);
  s.memory = s.bytes > SMALL_BUFFER || place == ON_HEAP ? heap_buffers[which]
             : place == ON_STACK                        ? stack[which]
                                                        : static_buffers[which];
  if (kind == 3) s.memory = base;
  s.buffer = kind == 3 ? MPI_BOTTOM : s.memory + (kind == 4 ? 8 : 0);
  s.type = pairs[kind];
  return s;
}

struct setting {
  MPI_Comm comm;
  const char* name;
  int rank, size, root, count, salt, place;
};

static void show(const struct setting* t, const char* what, const struct side* s, int in_place) {
  record(s->memory, s->bytes, "%s %s n=%d root=%d %s in_place=%d at=%d", t->name, what, t->count, t->root,
         pair_names[s->kind], in_place, t->place);
}

static void one_count(const struct setting* t, char (*stack)[SMALL_BUFFER]) {
  const int n = t->count, p = t->size;
  const int send_kind = (t->rank + t->salt) % 3, receive_kind = (t->rank * 2 + t->salt) % KINDS;
  struct side out = make_side(0, send_kind, t->place, (size_t)n * p, stack);
  struct side in = make_side(1, receive_kind, (t->place + 1) % PLACES, (size_t)n * p, stack);
  const int at_root = t->rank == t->root;
#define RESET()                                                   \
  (fill(out.memory, out.bytes, (uint64_t)t->rank * 77 + t->salt), \
   fill(in.memory, in.bytes, (uint64_t)t->rank * 99 + t->salt))
  RESET();
  MPI_Bcast(in.buffer, n, in.type, t->root, t->comm);
  show(t, "bcast", &in, 0);
  for (int in_place = 0; in_place < 2; ++in_place) {
    const void* send = in_place ? MPI_IN_PLACE : out.buffer;
    RESET();
    MPI_Gather(in_place && at_root ? MPI_IN_PLACE : out.buffer, n, out.type, in.buffer, n, in.type, t->root,
               t->comm);
    show(t, "gather", &in, in_place);
    RESET();
    MPI_Scatter(out.buffer, n, out.type, in_place && at_root ? MPI_IN_PLACE : in.buffer, n, in.type, t->root,
                t->comm);
    show(t, "scatter", &in, in_place);
    RESET();
    MPI_Allgather(send, n, out.type, in.buffer, n, in.type, t->comm);
    show(t, "allgather", &in, in_place);
    RESET();
    MPI_Alltoall(send, n, out.type, in.buffer, n, in.type, t->comm);
    show(t, "alltoall", &in, in_place);
  }
}

/* The v-forms: counts differ from rank to rank (some are 0), blocks lie in reverse order with gaps. */
static void one_vector(const struct setting* t, char (*stack)[SMALL_BUFFER]) {
  const int n = t->count, p = t->size;
  int mine[64], theirs[64], send_at[64], receive_at[64], each[64], each_at[64];
  for (int i = 0; i < p; ++i) {
    each[i] = (i + t->salt) % 3 == 0 ? 0 : n / (1 + i % 3);
    each_at[i] = (p - 1 - i) * (n + 1);
    mine[i] = (t->rank + 2 * i + t->salt) % 4 == 0 ? 0 : n / (1 + (t->rank + i) % 4);
    theirs[i] = (i + 2 * t->rank + t->salt) % 4 == 0 ? 0 : n / (1 + (t->rank + i) % 4);
    send_at[i] = i * (n + 1);
    receive_at[i] = (p - 1 - i) * (n + 2);
  }
  const int send_kind = (t->rank * 2 + t->salt) % 3, receive_kind = (t->rank + t->salt) % KINDS;
  struct side out = make_side(0, send_kind, t->place, (size_t)(n + 2) * p, stack);
  struct side in = make_side(1, receive_kind, (t->place + 1) % PLACES, (size_t)(n + 2) * p, stack);
  const int at_root = t->rank == t->root;
  for (int in_place = 0; in_place < 2; ++in_place) {
    const void* send = in_place ? MPI_IN_PLACE : out.buffer;
    RESET();
    MPI_Gatherv(in_place && at_root ? MPI_IN_PLACE : out.buffer, each[t->rank], out.type, in.buffer, each,
                each_at, in.type, t->root, t->comm);
    show(t, "gatherv", &in, in_place);
    RESET();
    MPI_Scatterv(out.buffer, each, each_at, out.type, in_place && at_root ? MPI_IN_PLACE : in.buffer,
                 each[t->rank], in.type, t->root, t->comm);
    show(t, "scatterv", &in, in_place);
    RESET();
    MPI_Allgatherv(send, each[t->rank], out.type, in.buffer, each, each_at, in.type, t->comm);
    show(t, "allgatherv", &in, in_place);
    RESET();
    /* In place, what two ranks exchange has one length. */
    for (int i = 0; i < p && in_place; ++i)
      theirs[i] = (i + t->rank + t->salt) % 4 == 0 ? 0 : n / (1 + (t->rank + i) % 4);
    MPI_Alltoallv(send, mine, send_at, out.type, in.buffer, theirs, receive_at, in.type, t->comm);
    show(t, "alltoallv", &in, in_place);
  }
}

/* A type of its own for each block: the same pairs lie in another way on both sides; blocks of nothing. */
static void each_its_own(const struct setting* t) {
  int mine[64], theirs[64], send_at[64], receive_at[64];
  MPI_Datatype send_types[64], receive_types[64];
  char *send = heap_buffers[0], *receive = heap_buffers[1];
  const int n = t->count, p = t->size, room = (n + 1) * 32 + 8;
  if ((size_t)room * p > ROOM) return;
  for (int i = 0; i < p; ++i) {
    mine[i] = (t->rank + i + t->salt) % 4 == 0 ? 0 : n / (1 + (t->rank + 2 * i) % 3);
    theirs[i] = (i + t->rank + t->salt) % 4 == 0 ? 0 : n / (1 + (i + 2 * t->rank) % 3);
    send_types[i] = pairs[t->salt % 2 ? 0 : (t->rank + i) % 3];
    receive_types[i] = pairs[t->salt % 3 ? (2 * t->rank + i) % 3 : 0];
    send_at[i] = (p - 1 - i) * room;
    receive_at[i] = (i + 1) % p * room;
  }
  for (int way = 0; way < 3; ++way) {
    for (int i = 0; i < p && way == 2; ++i) /* in place, what two ranks exchange has one length */
      theirs[i] = (i + t->rank + t->salt) % 4 == 0 ? 0 : n / (1 + (t->rank + i) % 4);
    fill(send, (size_t)room * p, (uint64_t)(t->rank * 3 + t->salt));
    fill(receive, (size_t)room * p, (uint64_t)(t->rank * 5 + t->salt + 1));
    MPI_Request request = MPI_REQUEST_NULL;
    if (way == 1)
      MPI_Ialltoallw(send, mine, send_at, send_types, receive, theirs, receive_at, receive_types, t->comm,
                     &request);
    else
      MPI_Alltoallw(way == 2 ? MPI_IN_PLACE : send, mine, send_at, send_types, receive, theirs, receive_at,
                    receive_types, t->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    record(receive, (size_t)room * p, "%s alltoallw n=%d way=%d salt=%d", t->name, n, way, t->salt);
  }
}

/* Displacements below the buffer. */
static void negative(const struct setting* t) {
  int counts[64], places[64];
  char *send = heap_buffers[0], *receive = heap_buffers[1];
  const int n = t->count * 8;
  fill(send, (size_t)n + 8, (uint64_t)t->rank + 5);
  fill(receive, (size_t)n * t->size + 8, (uint64_t)t->rank + 6);
  for (int i = 0; i < t->size; ++i) counts[i] = n, places[i] = -(i + 1) * n;
  MPI_Allgatherv(send, n, MPI_CHAR, receive + (size_t)n * t->size, counts, places, MPI_CHAR, t->comm);
  record(receive, (size_t)n * t->size + 8, "%s negative n=%d", t->name, n);
}

static void on_comm(MPI_Comm comm, const char* name, int full) {
  static const int counts[] = {0, 1, 7, 100, 600, 3000, 20000};
  char stack[2][SMALL_BUFFER];
  struct setting t = {.comm = comm, .name = name};
  MPI_Comm_rank(comm, &t.rank);
  MPI_Comm_size(comm, &t.size);
  for (int c = 0; c < 7; ++c) {
    if (t.size > 3 && c == 6) continue;
    for (int s = 0; s < (full ? KINDS : 2); ++s) {
      t.count = counts[c];
      t.salt = c + s;
      t.root = (c + 2 * s) % t.size;
      t.place = (c + s) % PLACES;
      one_count(&t, stack);
      one_vector(&t, stack);
      each_its_own(&t);
    }
    if (t.size > 1) negative(&t); /* Open MPI 4.1.4 and MPICH 4.0.2 differ on a communicator of one */
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_out(argv[1]);
  base = malloc(ROOM);
  for (int i = 0; i < 2; ++i) heap_buffers[i] = malloc(ROOM);
  make_types();
  MPI_Comm reversed, halves;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &halves);
  on_comm(MPI_COMM_WORLD, "world", 1);
  on_comm(reversed, "reversed", 0);
  on_comm(halves, "halves", 0);
  on_comm(MPI_COMM_SELF, "self", 0);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&halves);
  for (int i = 0; i < KINDS; ++i) MPI_Type_free(&pairs[i]);
  end_out();
  MPI_Finalize();
  return 0;
}
