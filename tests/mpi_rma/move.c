/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * move ROUNDS [tame|bytes]: MPI_Put, MPI_Get and the forms with a request, on windows of every kind, within
 * epochs of every kind, with datatypes of many layouts. Each rank writes to a slice of its own in every
 * rank's window and keeps a copy of what must be there, which MPI_Pack and MPI_Unpack change. Tame: where the
 * library has to do it, only bytes in one piece (MPICH 4.0 alone gets others wrong).
 */
#include "common.h"

enum { SLICE = 12288, TYPES = 8, MOST = 6144 };
enum epoch { FENCE, GENERAL, SHARED_LOCK, EXCLUSIVE_LOCK, ALL, LOCK_AFTER_FENCE, EPOCHS };

static char* model; /* rank after rank */
static MPI_Datatype types[TYPES];
static int tame, bytes_only;

static void make_types(void) {
  const int lengths[3] = {3, 1, 2}, places[3] = {0, 5, 9};
  const MPI_Aint offsets[2] = {0, 24};
  const int blocks[2] = {2, 3};
  const MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_INT};
  types[0] = MPI_BYTE;
  types[1] = MPI_DOUBLE;
  MPI_Type_contiguous(5, MPI_SHORT, &types[2]);
  MPI_Type_vector(3, 2, 4, MPI_INT, &types[3]);
  MPI_Type_indexed(3, lengths, places, MPI_FLOAT, &types[4]);
  MPI_Type_create_struct(2, blocks, offsets, parts, &types[5]);
  MPI_Type_create_resized(MPI_INT, 0, 12, &types[6]);
  types[7] = MPI_DOUBLE_INT;
  for (int i = 2; i < 7; ++i) MPI_Type_commit(&types[i]);
}

/* Elements of `type` that span no more than MOST bytes; their bytes. */
static int some(uint64_t* state, MPI_Datatype type, int* bytes) {
  MPI_Aint lower, extent;
  int size;
  MPI_Type_get_true_extent(type, &lower, &extent);
  MPI_Aint whole = extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  const int most = (int)((MOST - whole) / extent) + 1;
  const int count = below(state, 4) == 0 ? below(state, most) : below(state, 6);
  *bytes = count * size;
  return count;
}

struct pending {
  char *memory, *expected;
};

/* One operation on `target`; a get is checked by finish() when it is complete. */
static struct pending operate(uint64_t* state, const struct window* w, int target, int unit,
                              int with_request) {
  const int puts = below(state, 2), plain = bytes_only || (tame && (w->kind == PRIVATE || w->kind == MIXED));
  const int i = plain ? 0 : below(state, TYPES);
  MPI_Datatype here = types[i], there = types[i];
  int bytes, count = some(state, there, &bytes), here_count = count, packed = 0, size;
  MPI_Type_size(there, &size);
  if (below(state, 3) == 0) here = MPI_BYTE, here_count = bytes; /* another layout of the same bytes */
  const int offset = below(state, (SLICE - MOST) / unit - 1) * unit;
  char *buffer = malloc(MOST + 64), *stream = malloc((size_t)bytes + 1), *expected = malloc(MOST + 64);
  char* slice = model + (size_t)target * SLICE + offset;
  for (int j = 0; j < MOST + 64; ++j) buffer[j] = (char)next_random(state);
  memcpy(expected, buffer, MOST + 64);
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Aint place = ((MPI_Aint)rank * SLICE + offset) / unit;
  if (puts) {
    MPI_Pack(buffer, here_count, here, stream, bytes, &packed, MPI_COMM_SELF);
    packed = 0;
    MPI_Unpack(stream, bytes, &packed, slice, count, there, MPI_COMM_SELF);
    if (with_request)
      MPI_Rput(buffer, here_count, here, target, place, count, there, w->win, &request);
    else
      MPI_Put(buffer, here_count, here, target, place, count, there, w->win);
  } else {
    MPI_Pack(slice, count, there, stream, bytes, &packed, MPI_COMM_SELF);
    packed = 0;
    MPI_Unpack(stream, bytes, &packed, expected, here_count, here, MPI_COMM_SELF);
    if (with_request)
      MPI_Rget(buffer, here_count, here, target, place, count, there, w->win, &request);
    else
      MPI_Get(buffer, here_count, here, target, place, count, there, w->win);
  }
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(stream);
  return (struct pending){buffer, expected};
}

static void finish(struct pending p, const char* kind, int epoch) {
  CHECK(memcmp(p.memory, p.expected, MOST + 64) == 0, "wrong bytes from a window (%s, epoch %d)", kind,
        epoch);
  free(p.memory);
  free(p.expected);
}

static void run_epoch(uint64_t* state, const struct window* w, enum epoch epoch, int unit, MPI_Group all) {
  struct pending* done = malloc(sizeof(struct pending) * (size_t)ranks);
  const int first = below(state, ranks);
  switch (epoch) {
    case FENCE:
      MPI_Win_fence(0, w->win);
      for (int i = 0; i < ranks; ++i) done[i] = operate(state, w, (first + i) % ranks, unit, 0);
      MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
      break;
    case GENERAL:
      MPI_Win_post(all, 0, w->win);
      MPI_Win_start(all, 0, w->win);
      for (int i = 0; i < ranks; ++i) done[i] = operate(state, w, (first + i) % ranks, unit, 0);
      MPI_Win_complete(w->win);
      MPI_Win_wait(w->win);
      break;
    case LOCK_AFTER_FENCE: MPI_Win_fence(0, w->win); /* fallthrough */
    case SHARED_LOCK:
    case EXCLUSIVE_LOCK:
      for (int i = 0; i < ranks; ++i) {
        const int target = (first + i) % ranks;
        MPI_Win_lock(epoch == EXCLUSIVE_LOCK ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w->win);
        if (below(state, 2)) {
          finish(operate(state, w, target, unit, 1), kind_names[w->kind], epoch);
          MPI_Win_flush(target, w->win);
        }
        done[i] = operate(state, w, target, unit, 0);
        MPI_Win_unlock(target, w->win);
      }
      break;
    default:
      MPI_Win_lock_all(0, w->win);
      for (int i = 0; i < ranks; ++i) {
        done[i] = operate(state, w, (first + i) % ranks, unit, below(state, 2));
        if (below(state, 2)) MPI_Win_flush((first + i) % ranks, w->win);
      }
      if (below(state, 2)) MPI_Win_flush_all(w->win);
      MPI_Win_unlock_all(w->win);
  }
  for (int i = 0; i < ranks; ++i) finish(done[i], kind_names[w->kind], epoch);
  free(done);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  bytes_only = argc > 2 && !strcmp(argv[2], "bytes");
  tame = argc > 2 && !strcmp(argv[2], "tame");
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  make_types();
  model = malloc((size_t)ranks * SLICE);
  for (int kind = 0; kind < KINDS; ++kind)
    for (int unit = 1; unit <= 8; unit *= 8) {
      struct window w = make_window(kind, (size_t)ranks * SLICE, unit, MPI_COMM_WORLD);
      memset(model, 0, (size_t)ranks * SLICE);
      uint64_t common = (uint64_t)(kind * 8 + unit), state = common * 977 + (uint64_t)rank;
      for (int round = 0; round < rounds; ++round)
        run_epoch(&state, &w, (enum epoch)below(&common, EPOCHS), unit, all);
      /* The owner's view. */
      MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
      for (int i = 0; i < ranks; ++i) {
        char* slice = malloc(SLICE);
        MPI_Sendrecv(model + (size_t)((rank + i) % ranks) * SLICE, SLICE, MPI_CHAR, (rank + i) % ranks, 1,
                     slice, SLICE, MPI_CHAR, (rank + ranks - i) % ranks, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(memcmp(slice, w.memory + (size_t)((rank + ranks - i) % ranks) * SLICE, SLICE) == 0,
              "wrong bytes in a window (%s)", kind_names[kind]);
        free(slice);
      }
      MPI_Win_unlock(rank, w.win);
      MPI_Barrier(MPI_COMM_WORLD);
      free_window(&w);
    }
  for (int i = 2; i < 7; ++i) MPI_Type_free(&types[i]);
  MPI_Group_free(&all);
  MPI_Finalize();
  return 0;
}
