/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rest errors|life|progress: what calls on windows return when they are wrong (printed, to be
 * compared with the library alone); windows that come and go, and what is said of them; and that a rank which
 * does nothing but look into a window lets all else go on.
 */
#include "common.h"

static MPI_Win win;

static void report(const char* what, int code) {
  int class = 0;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  if (rank == 0)
    printf("%s: %s\n", what,
           code == MPI_SUCCESS         ? "no error"
           : class == MPI_ERR_RMA_SYNC ? "RMA_SYNC"
                                       : "an error");
}

static void errors(void) {
  double value = 1, result = 2;
  struct window w = make_window(ALLOCATED, 64, 8, MPI_COMM_WORLD);
  win = w.win;
  const int next = (rank + 1) % ranks;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  report("put outside an epoch", MPI_Put(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win));
  report("get outside an epoch", MPI_Get(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win));
  report("accumulate outside an epoch",
         MPI_Accumulate(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_SUM, win));
  report("flush outside an epoch", MPI_Win_flush(next, win));
  report("flush of all outside an epoch", MPI_Win_flush_all(win));
  report("unlock without a lock", MPI_Win_unlock(next, win));
  report("unlock of all without a lock", MPI_Win_unlock_all(win));
  report("complete without a start", MPI_Win_complete(win));
  report("a lock of no kind", MPI_Win_lock(-77, next, 0, win));
  report("a lock of nobody", MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win));
  report("a lock", MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  report("a put under it", MPI_Put(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win));
  report("a second lock of the same rank", MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  report("a fence under it", MPI_Win_fence(0, win));
  report("a put of a negative count", MPI_Put(&value, -1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win));
  report("a put of no type", MPI_Put(&value, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_DOUBLE, win));
  report("a put to a rank that is none", MPI_Put(&value, 1, MPI_DOUBLE, ranks, 0, 1, MPI_DOUBLE, win));
  report("a put to nobody", MPI_Put(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, win));
  report("an accumulate of no operation",
         MPI_Accumulate(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_OP_NULL, win));
  report("flush", MPI_Win_flush(next, win));
  report("unlock", MPI_Win_unlock(next, win));
  report("a second unlock", MPI_Win_unlock(next, win));
  report("a lock of all", MPI_Win_lock_all(0, win));
  report("a lock under it", MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  report("sync", MPI_Win_sync(win));
  report("unlock of all", MPI_Win_unlock_all(win));
  MPI_Barrier(MPI_COMM_WORLD);
  report("a put after all that", (MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win),
                                  MPI_Put(&result, 1, MPI_DOUBLE, next, 1, 1, MPI_DOUBLE, win)));
  report("its unlock", MPI_Win_unlock(next, win));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(((double*)w.memory)[1] == 2, "a put after errors is lost");
  free_window(&w);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  void* memory = NULL;
  report("a window of a negative size",
         MPI_Win_allocate(-5, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  report("a window of a unit of 0", MPI_Win_create(&value, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int deleted;
static int on_delete(MPI_Win w, int keyval, void* value, void* extra) {
  (void)w, (void)keyval, (void)extra;
  deleted += *(int*)value;
  return MPI_SUCCESS;
}

static void look_at(MPI_Win w, void* memory, MPI_Aint size, int unit, int flavor) {
  void* value;
  int found;
  MPI_Win_get_attr(w, MPI_WIN_BASE, &value, &found);
  CHECK(found && (size == 0 || value == memory), "another base");
  MPI_Win_get_attr(w, MPI_WIN_SIZE, &value, &found);
  CHECK(found && *(MPI_Aint*)value == size, "another size");
  MPI_Win_get_attr(w, MPI_WIN_DISP_UNIT, &value, &found);
  CHECK(found && *(int*)value == unit, "another unit");
  MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &value, &found);
  CHECK(found && *(int*)value == flavor, "flavor %d, not %d", *(int*)value, flavor);
}

static void life(void) {
  MPI_Comm comms[3];
  int keyval, weight = 1, wanted = 0;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &comms[2]);
  for (int round = 0; round < 16; ++round) {
    MPI_Win wins[6];
    long* memory[6];
    int sizes[6], me[6], allocated[6];
    for (int i = 0; i < 6; ++i) {
      MPI_Comm comm = comms[(i + round) % 3];
      MPI_Comm_rank(comm, &me[i]);
      MPI_Comm_size(comm, &sizes[i]);
      const int some = round % 2 == 0 || me[i] == 0; /* else no bytes */
      const MPI_Aint size = some ? (MPI_Aint)sizeof(long) * 64 : 0;
      allocated[i] = i % 2 || sizes[i] == 1; /* Open MPI 4.1 creates none of one rank */
      if (allocated[i]) {
        MPI_Win_allocate(size, 8, MPI_INFO_NULL, comm, &memory[i], &wins[i]);
        look_at(wins[i], memory[i], size, 8, MPI_WIN_FLAVOR_ALLOCATE);
      } else {
        MPI_Alloc_mem((MPI_Aint)sizeof(long) * 64, MPI_INFO_NULL, &memory[i]);
        MPI_Win_create(memory[i], size, 4, MPI_INFO_NULL, comm, &wins[i]);
        look_at(wins[i], memory[i], size, 4, MPI_WIN_FLAVOR_CREATE);
      }
      MPI_Win_set_attr(wins[i], keyval, &weight);
      ++wanted;
      if (size) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me[i], 0, wins[i]);
        memset(memory[i], 0, (size_t)size);
        MPI_Win_unlock(me[i], wins[i]);
      }
      MPI_Barrier(comm);
    }
    for (int i = 0; i < 6; ++i) { /* all add to the first */
      const long one = 1;
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, wins[i]);
      MPI_Accumulate(&one, 1, MPI_LONG, 0, allocated[i] ? 3 : 6, 1, MPI_LONG, MPI_SUM, wins[i]);
      MPI_Win_unlock(0, wins[i]);
    }
    for (int k = 0; k < 6; ++k) {
      const int i = (k * 5 + round) % 6;
      MPI_Barrier(comms[(i + round) % 3]);
      if (me[i] == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, wins[i]);
        CHECK(memory[i][3] == sizes[i], "%ld of %d additions in window %d of round %d", memory[i][3],
              sizes[i], i, round);
        MPI_Win_unlock(0, wins[i]);
      }
      MPI_Barrier(comms[(i + round) % 3]);
      MPI_Win_free(&wins[i]);
      CHECK(wins[i] == MPI_WIN_NULL, "the handle is left");
      if (!allocated[i]) MPI_Free_mem(memory[i]);
    }
  }
  CHECK(deleted == wanted, "%d of %d attributes were deleted", deleted, wanted);
  MPI_Win_free_keyval(&keyval);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&comms[i]);
}

static void progress(void) {
  enum { LARGE = 3 << 20 };
  char* data = malloc(LARGE);
  struct window w = make_window(ALLOCATED, 64, 8, MPI_COMM_WORLD);
  for (int round = 1; round <= 6; ++round) {
    MPI_Request request = MPI_REQUEST_NULL, also = MPI_REQUEST_NULL;
    long seen = 0;
    memset(data, round, LARGE);
    if (rank == 0) {
      for (int i = 1; i < ranks; ++i) {
        if (round % 2) MPI_Isend(data, LARGE, MPI_CHAR, i, 5, MPI_COMM_WORLD, i == 1 ? &request : &also);
        if (i > 1 && round % 2) MPI_Wait(&also, MPI_STATUS_IGNORE);
      }
    } else if (round % 2) {
      if (rank == 1) MPI_Barrier(MPI_COMM_SELF);
      MPI_Recv(data, LARGE, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(data[LARGE - 1] == round, "wrong message");
    }
    if (round % 2 == 0) MPI_Ibcast(data, LARGE, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    if (round % 2 == 0 && rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, w.win);
    const long one = 1;
    if (rank != 0) MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, w.win);
    if (rank == 0)
      while (seen < (long)round * (ranks - 1)) {
        if (round < 3) {
          MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
          MPI_Win_flush(0, w.win);
        } else if (round < 5) {
          MPI_Fetch_and_op(NULL, &seen, MPI_LONG, 0, 0, MPI_NO_OP, w.win);
          MPI_Win_flush_local_all(w.win);
        } else {
          MPI_Win_sync(w.win);
          seen = *(volatile long*)w.memory;
        }
      }
    MPI_Win_unlock_all(w.win);
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free_window(&w);
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && !strcmp(argv[1], "errors")) errors();
  if (argc > 1 && !strcmp(argv[1], "life")) life();
  if (argc > 1 && !strcmp(argv[1], "progress")) progress();
  MPI_Finalize();
  return 0;
}
