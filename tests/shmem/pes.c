/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSHMEM as a program uses it, each group of functions checked against values that every PE can work out.
 * Exit status 0 and one line "ok NAME" for each group from PE 0; a wrong value names the place. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n;
static long failures;

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      failures++;                                                                \
      fprintf(stderr, "PE %d, line %d: not so: %s\n", me, __LINE__, #condition); \
    }                                                                            \
  } while (0)

/* static and global data are symmetric, too */
static long in_bss[8];
static double in_data[4] = {1.5, 2.5, 3.5, 4.5};
int global_word = 7;

/* Only symmetric objects are accessible, on any PE, our own included. */
static void accessible(void) {
  long on_stack = 1;
  long* on_heap = malloc(sizeof *on_heap);
  char *a = shmem_malloc(1000), *b = shmem_malloc(100);
  for (int pe = 0; pe < n; pe++) {
    const void* symmetric[] = {a, a + 500, a + 999, b, in_bss, &in_bss[7], &in_data[2], &global_word};
    const void* others[] = {&on_stack,          on_heap, "a constant", a + 1000, b + 100,
                            (void*)&accessible, NULL,    (void*)-1,    stdout};
    for (size_t i = 0; i < sizeof symmetric / sizeof *symmetric; i++) {
      CHECK(shmem_addr_accessible(symmetric[i], pe) == 1);
      CHECK(shmem_ptr(symmetric[i], pe) != NULL || pe / 2 != me / 2); /* two nodes may be pretended */
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      CHECK(shmem_addr_accessible(others[i], pe) == 0 && shmem_ptr(others[i], pe) == NULL);
  }
  CHECK(!shmem_addr_accessible(a, n) && !shmem_addr_accessible(a, -1) && shmem_ptr(a, n) == NULL);
  shmem_free(a);
  CHECK(!shmem_addr_accessible(a, me) && !shmem_ptr(a, me) && shmem_addr_accessible(b, me));
  shmem_barrier_all();
  shmem_free(b);
  free(on_heap);
}

static void memory(void) {
  char* a = shmem_malloc(1000);
  double* b = shmem_align(4096, 100 * sizeof *b);
  int* c = shmem_calloc(50, sizeof *c);
  CHECK(a && b && c && (size_t)b % 4096 == 0);
  for (int i = 0; i < 50; i++) CHECK(c[i] == 0);
  CHECK(shmem_addr_accessible(a, (me + 1) % n) && shmem_ptr(a, me) == a);
  CHECK(!shmem_pe_accessible(n) && shmem_pe_accessible(n - 1));
  memset(a, 'x', 1000);
  a = shmem_realloc(a, 200000);
  CHECK(a && a[0] == 'x' && a[999] == 'x');
  int* peer = shmem_ptr(c, (me + 1) % n);
  if (peer) /* not that of a PE on another node */
    *peer = me + 1;
  else
    shmem_int_p(c, me + 1, (me + 1) % n);
  shmem_barrier_all();
  CHECK(*c == (me + n - 1) % n + 1);
  shmem_free(c);
  shmem_free(b);
  shmem_free(a);
  CHECK(shmem_malloc(0) == NULL);
}

static void puts_and_gets(void) {
  int right = (me + 1) % n, left = (me + n - 1) % n;
  enum { count = 3000 };
  long* data = shmem_malloc(count * sizeof *data);
  long mine[count], got[count];
  for (int i = 0; i < count; i++) mine[i] = me * 10000L + i;
  shmem_long_put(data, mine, count, right);
  shmem_barrier_all();
  for (int i = 0; i < count; i++) CHECK(data[i] == left * 10000L + i);
  shmem_getmem(got, data, sizeof got, right);
  for (int i = 0; i < count; i++) CHECK(got[i] == me * 10000L + i);
  shmem_barrier_all();
  shmem_long_iput(data, mine, 2, 3, 10, right);
  shmem_long_p(&data[1], -me, right);
  shmem_quiet();
  shmem_barrier_all();
  for (int i = 0; i < 10; i++) CHECK(data[2 * i] == left * 10000L + 3 * i);
  CHECK(data[1] == -left && shmem_long_g(&data[1], right) == -me);
  shmem_long_iget(got, data, 3, 2, 10, me);
  for (int i = 0; i < 10; i++) CHECK(got[3 * i] == data[2 * i]);
  shmem_barrier_all();
  double pair[2] = {9.0 + me, 8.0};
  shmem_put(in_data, pair, 2, right); /* generic, to static data */
  shmem_p(&global_word, 100 + me, right);
  shmem_long_put_nbi(in_bss, mine, 8, right);
  shmem_barrier_all();
  CHECK(in_data[0] == 9.0 + left && in_data[1] == 8.0 && in_data[2] == 3.5);
  CHECK(global_word == 100 + left && in_bss[7] == left * 10000L + 7);
  CHECK(shmem_g(&global_word, right) == 100 + me);
  shmem_free(data);
}

static void atomics(void) {
  long* counter = shmem_calloc(4, sizeof *counter);
  double* real = shmem_calloc(1, sizeof *real);
  for (int i = 0; i < 1000; i++) shmem_long_atomic_add(counter, 1, 0);
  shmem_atomic_inc(counter + 1, 0);
  unsigned* bits = shmem_calloc(1, sizeof *bits);
  shmem_uint_atomic_or(bits, 1U << me, 0);
  shmem_barrier_all();
  if (me == 0) CHECK(counter[0] == 1000L * n && counter[1] == n && *bits == (1U << n) - 1);
  long winner = shmem_long_atomic_compare_swap(counter + 2, 0, me + 1, 0);
  shmem_barrier_all();
  CHECK(winner == 0 ? shmem_long_g(counter + 2, 0) == me + 1 : shmem_long_g(counter + 2, 0) == winner);
  shmem_barrier_all();
  CHECK(shmem_atomic_swap(real, 2.5 + me, me) == 0.0 && shmem_atomic_fetch(real, me) == 2.5 + me);
  CHECK(shmem_long_atomic_fetch_inc(counter + 3, me) == 0 && counter[3] == 1);
  shmem_barrier_all();
  shmem_free(bits);
  shmem_free(real);
  shmem_free(counter);
}

static void waits_and_locks(void) {
  int right = (me + 1) % n;
  int* flags = shmem_calloc((size_t)n, sizeof *flags);
  uint64_t* signal = shmem_calloc(1, sizeof *signal);
  long* text = shmem_calloc(16, sizeof *text);
  for (int pe = 0; pe < n; pe++) shmem_int_p(&flags[me], me + 1, pe);
  shmem_int_wait_until_all(flags, (size_t)n, NULL, SHMEM_CMP_GT, 0);
  for (int pe = 0; pe < n; pe++) CHECK(flags[pe] == pe + 1);
  size_t any = shmem_int_wait_until_any(flags, (size_t)n, NULL, SHMEM_CMP_EQ, n);
  CHECK(any == (size_t)n - 1 && shmem_test(&flags[0], SHMEM_CMP_EQ, 1) == 1);
  long words[16];
  for (int i = 0; i < 16; i++) words[i] = me * 100 + i;
  shmem_long_put_signal(text, words, 16, signal, 5, SHMEM_SIGNAL_SET, right);
  CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 5) == 5);
  for (int i = 0; i < 16; i++) CHECK(text[i] == ((me + n - 1) % n) * 100 + i);
  static long lock, guarded;
  shmem_barrier_all();
  for (int i = 0; i < 50; i++) {
    shmem_set_lock(&lock);
    long seen = shmem_long_g(&guarded, 0);
    shmem_long_p(&guarded, seen + 1, 0);
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  CHECK(shmem_long_g(&guarded, 0) == 50L * n);
  shmem_barrier_all();
  if (me == 0) CHECK(shmem_test_lock(&lock) == 0);
  shmem_barrier_all();
  if (me != 0) CHECK(shmem_test_lock(&lock) == 1);
  shmem_barrier_all();
  if (me == 0) shmem_clear_lock(&lock);
  shmem_free(text);
  shmem_free(signal);
  shmem_free(flags);
}

static void collectives(void) {
  size_t each = 700;
  long* in = shmem_malloc(each * (size_t)n * sizeof *in);
  long* out = shmem_malloc(each * (size_t)n * sizeof *out);
  for (size_t i = 0; i < each; i++) in[i] = me * 1000 + (long)i;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, each);
  for (size_t i = 0; i < each; i++) CHECK(out[i] == 1000L * n * (n - 1) / 2 + (long)i * n);
  shmem_max_reduce(SHMEM_TEAM_WORLD, out, in, each);
  CHECK(out[5] == (n - 1) * 1000 + 5);
  shmem_long_broadcast(SHMEM_TEAM_WORLD, out, in, each, n - 1);
  CHECK(out[3] == (n - 1) * 1000 + 3);
  shmem_long_fcollect(SHMEM_TEAM_WORLD, out, in, each);
  for (int pe = 0; pe < n; pe++) CHECK(out[(size_t)pe * each + 1] == pe * 1000 + 1);
  shmem_long_collect(SHMEM_TEAM_WORLD, out, in, (size_t)me + 1);
  for (int pe = 0, at = 0; pe < n; at += ++pe) CHECK(out[at] == pe * 1000);
  for (int pe = 0; pe < n; pe++)
    for (size_t i = 0; i < 10; i++) in[(size_t)pe * 10 + i] = me * 100 + pe * 10 + (long)i;
  shmem_long_alltoall(SHMEM_TEAM_WORLD, out, in, 10);
  for (int pe = 0; pe < n; pe++) CHECK(out[pe * 10 + 9] == pe * 100 + me * 10 + 9);
  shmem_barrier_all();
  for (int i = 0; i < 3 * 2 * n; i++) in[i] = me * 100 + i;
  shmem_alltoalls(SHMEM_TEAM_WORLD, out, in, 2, 3, 2);
  for (int pe = 0; pe < n; pe++) CHECK(out[pe * 4 + 2] == pe * 100 + me * 6 + 3);
  long psync[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  in[0] = me + 1;
  shmem_barrier_all();
  if (me % 2 == 0) { /* the even PEs, as an active set */
    shmem_long_sum_to_all(out, in, 1, 0, 1, (n + 1) / 2, work, psync);
    long sum = 0;
    for (int pe = 0; pe < n; pe += 2) sum += pe + 1;
    CHECK(out[0] == sum);
  }
  shmem_barrier_all();
  shmem_free(out);
  shmem_free(in);
}

static void teams(void) {
  shmem_team_t even = SHMEM_TEAM_INVALID, row, column;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even) == 0);
  CHECK((even != SHMEM_TEAM_INVALID) == (me % 2 == 0));
  if (even != SHMEM_TEAM_INVALID) {
    CHECK(shmem_team_my_pe(even) == me / 2 && shmem_team_n_pes(even) == (n + 1) / 2);
    CHECK(shmem_team_translate_pe(even, shmem_team_my_pe(even), SHMEM_TEAM_WORLD) == me);
    shmem_team_sync(even);
  }
  CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) == 0);
  CHECK(shmem_team_my_pe(row) == me % 2 && shmem_team_my_pe(column) == me / 2);
  shmem_sync(row);
  shmem_ctx_t ctx;
  CHECK(shmem_team_create_ctx(row, 0, &ctx) == 0);
  shmem_ctx_int_p(ctx, &global_word, me, me);
  CHECK(shmem_g(ctx, &global_word, me) == me);
  shmem_ctx_destroy(ctx);
  shmem_team_destroy(column);
  shmem_team_destroy(row);
  shmem_team_destroy(even);
  for (int i = 0; i < 20; i++) { /* made and destroyed again and again */
    shmem_team_t again;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &again) == 0);
    shmem_team_sync(again);
    shmem_team_destroy(again);
  }
}

/* what is hard between nodes; on one node it holds as well */
static void traffic(void) {
  int right = (me + 1) % n, left = (me + n - 1) % n;
  enum { count = 400000 };
  int* data = shmem_malloc(2 * count * sizeof *data);
  int* mine = malloc(count * sizeof *mine);
  for (int i = 0; i < count; i++) mine[i] = me + i;
  shmem_int_put_nbi(data, mine, count, right);
  shmem_barrier_all();
  for (int i = 0; i < count; i++) CHECK(data[i] == left + i);
  shmem_int_get_nbi(mine, data, count, right);
  shmem_quiet();
  for (int i = 0; i < count; i++) CHECK(mine[i] == me + i);
  shmem_barrier_all();
  shmem_int_iput(data, mine, 2, 3, count / 3, right);
  shmem_barrier_all();
  for (int i = 0; i < count / 3; i++) CHECK(data[2 * i] == left + 3 * i);
  free(mine);
  /* every PE changes a word of every PE: neighbours by instructions, the others by their errands */
  long* words = shmem_calloc(4, sizeof *words);
  static long drawn, all;
  drawn = 0;
  for (int i = 0; i < 100; i++)
    for (int pe = 0; pe < n; pe++) {
      drawn += shmem_long_atomic_fetch_inc(words, pe);
      shmem_long_atomic_add(words + 1, 2, (me + pe) % n);
    }
  shmem_barrier_all();
  CHECK(words[0] == 100L * n && words[1] == 200L * n);
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &drawn, 1);
  CHECK(all == n * (100L * n) * (100L * n - 1) / 2); /* each number was drawn once */
  for (long i = 1; i <= 50; i++) {                   /* a token goes round */
    if (me > 0) shmem_long_wait_until(words + 2, SHMEM_CMP_EQ, i);
    shmem_long_p(words + 2, i, right);
    shmem_quiet();
    if (me == 0) shmem_long_wait_until(words + 2, SHMEM_CMP_EQ, i);
  }
  if (me == n - 1) /* the others are already making a team, and must answer */
    for (int i = 0; i < 100; i++) CHECK(shmem_long_atomic_fetch_inc(words + 3, 0) == i);
  shmem_team_t backwards;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &backwards) == 0);
  CHECK(shmem_team_my_pe(backwards) == n - 1 - me);
  shmem_long_max_reduce(backwards, &all, words + 3, 1);
  CHECK(all == 100);
  shmem_team_destroy(backwards);
  shmem_free(words);
  shmem_free(data);
}

static void group(const char* name, void (*run)(void)) {
  run();
  shmem_barrier_all();
  if (me == 0) printf("ok %s\n", name);
}

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  if (argc > 1 && !strcmp(argv[1], "exit")) {
    if (me == n - 1) shmem_global_exit(atoi(argv[2]));
    static int never;
    shmem_int_wait_until(&never, SHMEM_CMP_NE, 0);
  }
  if (argc > 1 && !strcmp(argv[1], "killed")) {
    if (me == n - 1) raise(SIGKILL);
    shmem_barrier_all();
  }
  if (argc > 1 && !strcmp(argv[1], "stack")) {
    int local = 0;
    shmem_int_p(&local, 1, (me + 1) % n);
  }
  if (argc > 1 && !strcmp(argv[1], "dead")) { /* a lock whose holder has gone */
    static long lock;
    if (me == 0) {
      shmem_set_lock(&lock);
      fflush(stdout);
      _Exit(0);
    }
    while (shmem_test_lock(&lock) == 0) shmem_clear_lock(&lock);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    printf("ok dead\n");
    fflush(stdout);
    _Exit(0);
  }
  group("accessible", accessible);
  group("memory", memory);
  group("puts and gets", puts_and_gets);
  group("atomics", atomics);
  group("waits and locks", waits_and_locks);
  group("collectives", collectives);
  group("teams", teams);
  group("traffic", traffic);
  shmem_finalize();
  return failures != 0;
}
