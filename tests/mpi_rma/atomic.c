/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * atomic [threads]: what must be atomic on a window. Every sum of all ranks' operations is known beforehand,
 * every ticket is drawn once, and what a lock protects is never seen half done. With threads, several of a
 * rank do it at once.
 */
#include <pthread.h>

#include "common.h"

/* --- the accumulate family --- */

enum { ELEMENTS = 3000, REPEATS = 6 };

struct typed {
  MPI_Datatype type;
  int bytes, is_pair, is_float;
};

static void fill(const struct typed* t, char* at, int from, int i) {
  const int value = (from * 7 + i * 3) % 5 + 1;
  if (t->type == MPI_INT || t->type == MPI_UNSIGNED) *(int*)at = value;
  if (t->type == MPI_SHORT) *(short*)at = (short)value;
  if (t->type == MPI_SIGNED_CHAR || t->type == MPI_BYTE) *at = (char)value;
  if (t->type == MPI_LONG) *(long*)at = value;
  if (t->type == MPI_FLOAT) *(float*)at = (float)value;
  if (t->type == MPI_DOUBLE) *(double*)at = value;
  if (t->type == MPI_LONG_DOUBLE) *(long double*)at = value;
  if (t->type == MPI_C_DOUBLE_COMPLEX) ((double*)at)[0] = value, ((double*)at)[1] = 0;
  if (t->type == MPI_2INT) ((int*)at)[0] = value, ((int*)at)[1] = from + 1;
  if (t->type == MPI_SHORT_INT) *(short*)at = (short)value, *(int*)(at + 4) = from + 1;
  if (t->type == MPI_DOUBLE_INT) *(double*)at = value, *(int*)(at + 8) = from + 1;
}

static int same(const struct typed* t, const char* a, const char* b) {
  if (t->type == MPI_SHORT_INT) return *(short*)a == *(short*)b && *(int*)(a + 4) == *(int*)(b + 4);
  if (t->type == MPI_LONG_DOUBLE) return *(long double*)a == *(long double*)b;
  return memcmp(a, b, t->type == MPI_DOUBLE_INT ? 12 : (size_t)t->bytes) == 0;
}

/* All ranks at once on the elements of rank `target`. */
static void accumulate_all(const struct window* w, const struct typed* t, MPI_Op op, int target, int how) {
  const size_t bytes = (size_t)ELEMENTS * (size_t)t->bytes;
  char *mine = calloc(1, bytes), *expected = calloc(1, bytes), *other = calloc(1, bytes);
  if (rank == target) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w->win);
    for (int i = 0; i < ELEMENTS; ++i) fill(t, w->memory + (size_t)i * (size_t)t->bytes, 9, i);
    MPI_Win_unlock(rank, w->win);
  }
  for (int i = 0; i < ELEMENTS; ++i) {
    fill(t, mine + (size_t)i * (size_t)t->bytes, rank, i);
    fill(t, expected + (size_t)i * (size_t)t->bytes, 9, i);
  }
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < ELEMENTS; ++i) fill(t, other + (size_t)i * (size_t)t->bytes, from, i);
    for (int repeat = 0; repeat < (op == MPI_PROD ? 1 : REPEATS); ++repeat)
      MPI_Reduce_local(other, expected, ELEMENTS, t->type, op);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (how == 0)
    MPI_Win_fence(0, w->win);
  else if (how == 1)
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
  else
    MPI_Win_lock_all(0, w->win);
  for (int repeat = 0; repeat < (op == MPI_PROD ? 1 : REPEATS); ++repeat) {
    const int cut = repeat * 401 + rank * 37 + 1;
    if (how == 2 && repeat % 2) { /* element by element at the start */
      char* result = calloc(2, 64);
      for (int i = 0; i < 5; ++i)
        MPI_Fetch_and_op(mine + (size_t)i * (size_t)t->bytes, result, t->type, target, i, op, w->win),
            MPI_Win_flush(target, w->win);
      free(result);
      MPI_Accumulate(mine + 5 * (size_t)t->bytes, ELEMENTS - 5, t->type, target, 5, ELEMENTS - 5, t->type, op,
                     w->win);
    } else if (how == 1 && repeat % 2) {
      MPI_Get_accumulate(mine, cut, t->type, other, cut, t->type, target, 0, cut, t->type, op, w->win);
      MPI_Accumulate(mine + (size_t)cut * (size_t)t->bytes, ELEMENTS - cut, t->type, target, cut,
                     ELEMENTS - cut, t->type, op, w->win);
    } else { /* every third element, then the others */
      MPI_Datatype third, pairs;
      MPI_Type_vector(ELEMENTS / 3, 1, 3, t->type, &third);
      MPI_Type_vector(ELEMENTS / 3, 2, 3, t->type, &pairs);
      MPI_Type_commit(&third);
      MPI_Type_commit(&pairs);
      MPI_Accumulate(mine, 1, third, target, 0, 1, third, op, w->win);
      MPI_Accumulate(mine + t->bytes, 1, pairs, target, 1, 1, pairs, op, w->win);
      MPI_Type_free(&third);
      MPI_Type_free(&pairs);
    }
  }
  if (how == 0)
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
  else if (how == 1)
    MPI_Win_unlock(target, w->win);
  else
    MPI_Win_unlock_all(w->win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == target) {
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win);
    for (int i = 0; i < ELEMENTS; ++i)
      CHECK(same(t, w->memory + (size_t)i * (size_t)t->bytes, expected + (size_t)i * (size_t)t->bytes),
            "element %d of type of %d bytes is wrong (%s, epoch %d)", i, t->bytes, kind_names[w->kind], how);
    MPI_Win_unlock(rank, w->win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(mine);
  free(expected);
  free(other);
}

static void accumulates(enum kind kind) {
  const struct typed types[] = {
      {MPI_INT, 4, 0, 0},         {MPI_UNSIGNED, 4, 0, 0},     {MPI_SHORT, 2, 0, 0},
      {MPI_SIGNED_CHAR, 1, 0, 0}, {MPI_LONG, 8, 0, 0},         {MPI_FLOAT, 4, 0, 1},
      {MPI_DOUBLE, 8, 0, 1},      {MPI_LONG_DOUBLE, 16, 0, 1}, {MPI_C_DOUBLE_COMPLEX, 16, 0, 2},
      {MPI_2INT, 8, 1, 0},        {MPI_DOUBLE_INT, 16, 1, 0},  {MPI_BYTE, 1, 0, 3},
      {MPI_SHORT_INT, 8, 1, 0}};
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BXOR, MPI_LAND, MPI_MINLOC, MPI_MAXLOC};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    struct window w =
        make_window(kind, (size_t)ELEMENTS * (size_t)types[i].bytes, types[i].bytes, MPI_COMM_WORLD);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
      const int of_pairs = ops[o] == MPI_MINLOC || ops[o] == MPI_MAXLOC;
      const int of_bits = ops[o] == MPI_BXOR, logical = ops[o] == MPI_LAND;
      if (of_pairs != types[i].is_pair) continue;
      if ((of_bits || logical) && types[i].is_float && !(of_bits && types[i].is_float == 3)) continue;
      if (types[i].is_float == 3 && !of_bits) continue;
      if (types[i].is_float == 2 && ops[o] != MPI_SUM && ops[o] != MPI_PROD) continue;
      if (ops[o] == MPI_PROD && types[i].bytes < 4) continue;
      accumulate_all(&w, &types[i], ops[o], (int)(i + o) % ranks, (int)(i + o) % 3);
    }
    free_window(&w);
  }
}

/* Bytes between the elements are the program's. */
static void holes(enum kind kind) {
  struct part {
    double value;
    int index, own;
  };
  struct window w = make_window(kind, 16 * sizeof(struct part), 1, MPI_COMM_WORLD);
  struct part* parts = (struct part*)w.memory;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w.win);
  for (int i = 0; i < 16; ++i) parts[i] = (struct part){100, 1000, 77 + i};
  MPI_Win_unlock(rank, w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  struct part mine[16];
  for (int i = 0; i < 16; ++i) mine[i] = (struct part){i + rank, rank, -5};
  MPI_Win_fence(0, w.win);
  for (int i = 0; i < ranks; ++i)
    MPI_Accumulate(mine, 16, MPI_DOUBLE_INT, i, 0, 16, MPI_DOUBLE_INT, MPI_MINLOC, w.win);
  MPI_Win_fence(0, w.win);
  for (int i = 0; i < 16; ++i)
    CHECK(parts[i].value == i && parts[i].index == 0 &&
              (parts[i].own == 77 + i || kind == PRIVATE || kind == MIXED),
          "a pair or the bytes behind it are wrong (%s)", kind_names[kind]);
  MPI_Barrier(MPI_COMM_WORLD);
  free_window(&w);
}

/* --- tickets, locks --- */

enum { DRAWS = 400 };
static struct window shared_window;
static long* drawn;

static long draw(int how, int target, MPI_Win win) {
  const long one = 1, none = 0;
  long now = 0, seen = 0, next = 0;
  switch (how) {
    case 0:
      MPI_Fetch_and_op(&one, &now, MPI_LONG, target, 0, MPI_SUM, win);
      MPI_Win_flush(target, win);
      return now;
    case 1:
      MPI_Get_accumulate(&one, 1, MPI_LONG, &now, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_flush(target, win);
      return now;
    case 2: {
      MPI_Request request;
      MPI_Rget_accumulate(&one, 1, MPI_LONG, &now, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win,
                          &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return now;
    }
    default:
      MPI_Fetch_and_op(&none, &now, MPI_LONG, target, 0, MPI_NO_OP, win);
      MPI_Win_flush(target, win);
      for (;;) {
        next = now + 1;
        MPI_Compare_and_swap(&next, &now, &seen, MPI_LONG, target, 0, win);
        MPI_Win_flush(target, win);
        if (seen == now) return now;
        now = seen;
      }
  }
}

static void* draw_many(void* argument) {
  const int thread = *(int*)argument;
  for (int i = 0; i < DRAWS; ++i) drawn[thread * DRAWS + i] = draw((i + thread) % 4, 0, shared_window.win);
  return NULL;
}

static void tickets(enum kind kind, int threads) {
  const int total = DRAWS * threads * ranks;
  shared_window = make_window(kind, 64, 8, MPI_COMM_WORLD);
  drawn = malloc(sizeof(long) * (size_t)(DRAWS * threads));
  int numbers[8];
  pthread_t ids[8];
  MPI_Win_lock_all(0, shared_window.win);
  for (int i = 0; i < threads; ++i) numbers[i] = i;
  for (int i = 1; i < threads; ++i) pthread_create(&ids[i], NULL, draw_many, &numbers[i]);
  draw_many(&numbers[0]);
  for (int i = 1; i < threads; ++i) pthread_join(ids[i], NULL);
  MPI_Win_unlock_all(shared_window.win);
  long* all = malloc(sizeof(long) * (size_t)total);
  MPI_Gather(drawn, DRAWS * threads, MPI_LONG, all, DRAWS * threads, MPI_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    char* seen = calloc(1, (size_t)total);
    for (int i = 0; i < total; ++i) {
      CHECK(all[i] >= 0 && all[i] < total && !seen[all[i]], "ticket %ld was drawn twice (%s)", all[i],
            kind_names[kind]);
      seen[all[i]] = 1;
    }
    free(seen);
  }
  free(all);
  free(drawn);
  free_window(&shared_window);
}

/* Two counters that are equal whenever nobody holds the lock for one. */
static void locks(enum kind kind, int rounds) {
  struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
  uint64_t state = (uint64_t)(rank * 31 + (int)kind);
  long added[64] = {0};
  for (int i = 0; i < rounds; ++i) {
    const int target = below(&state, ranks), what = below(&state, 8);
    long two[2] = {0, 0};
    if (what < 4) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win);
      MPI_Get(two, 2, MPI_LONG, target, 0, 2, MPI_LONG, w.win);
      MPI_Win_flush(target, w.win);
      CHECK(two[0] == two[1], "an exclusive lock is not exclusive (%s)", kind_names[kind]);
      ++two[0], ++two[1], ++added[target];
      MPI_Put(&two[0], 1, MPI_LONG, target, 0, 1, MPI_LONG, w.win);
      MPI_Put(&two[1], 1, MPI_LONG, target, 1, 1, MPI_LONG, w.win);
      MPI_Win_unlock(target, w.win);
    } else if (what < 6) {
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
      MPI_Get(two, 2, MPI_LONG, target, 0, 2, MPI_LONG, w.win);
      MPI_Win_unlock(target, w.win);
    } else if (what == 6) { /* several locks at once, in one order on all ranks */
      const int other = below(&state, ranks);
      long more[2] = {0, 0};
      MPI_Win_lock(MPI_LOCK_SHARED, target < other ? target : other, 0, w.win);
      if (target != other) MPI_Win_lock(MPI_LOCK_SHARED, target < other ? other : target, 0, w.win);
      MPI_Get(two, 2, MPI_LONG, target, 0, 2, MPI_LONG, w.win);
      MPI_Get(more, 2, MPI_LONG, other, 0, 2, MPI_LONG, w.win);
      MPI_Win_unlock(other, w.win);
      if (target != other) MPI_Win_unlock(target, w.win);
      CHECK(more[0] == more[1], "a lock was shared with an exclusive one (%s)", kind_names[kind]);
    } else {
      MPI_Win_lock_all(0, w.win);
      MPI_Get(two, 2, MPI_LONG, target, 0, 2, MPI_LONG, w.win);
      MPI_Win_unlock_all(w.win);
    }
    CHECK(two[0] == two[1], "a lock was shared with an exclusive one (%s, %d)", kind_names[kind], what);
  }
  long sums[64];
  MPI_Allreduce(added, sums, ranks, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
  CHECK(*(long*)w.memory == sums[rank], "%ld of %ld additions under a lock (%s)", *(long*)w.memory,
        sums[rank], kind_names[kind]);
  MPI_Win_unlock(rank, w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  free_window(&w);
}

/* Rank 0 wants locks for itself while the others have the lock of all, or share one, one after the other. */
static void fairness(enum kind kind) {
  struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
  for (int how = 0; how < 2; ++how) {
    const long done = how + 1;
    long seen = 0;
    if (rank == 0) {
      for (int i = 0; i < 10; ++i) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        if (i == 9) MPI_Put(&done, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
        MPI_Win_unlock(0, w.win);
      }
    } else {
      while (seen != done) {
        if (how == 0) MPI_Win_lock_all(0, w.win);
        if (how == 1) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
        for (int i = 0; i < 20; ++i) {
          MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
          MPI_Win_flush(0, w.win);
        }
        if (how == 0) MPI_Win_unlock_all(w.win);
        if (how == 1) MPI_Win_unlock(0, w.win);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free_window(&w);
}

int main(int argc, char** argv) {
  const int threads = argc > 1 && !strcmp(argv[1], "threads") ? 3 : 1;
  int level;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int ours_only = argc > 2; /* windows that the library has to serve are left out */
  for (int kind = 0; kind < KINDS; ++kind) {
    if (ours_only && (kind == PRIVATE || kind == MIXED)) continue;
    if (threads == 1) accumulates(kind);
    if (threads == 1) holes(kind);
    tickets(kind, threads);
    locks(kind, threads == 1 ? 400 : 50);
    if (kind != PRIVATE && kind != MIXED && threads == 1) fairness(kind);
  }
  MPI_Finalize();
  return 0;
}
