/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank of a job, as small as can be: joins the space, writes a pattern into every peer's heap and checks
 * what the peers wrote into its own, by plain addresses and by nigh_remote_address. What it is to do besides
 * is said by its arguments, NAME=VALUE each: see the table in main. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "nigh/space.h"

static int g_rank, g_size;

static void fail(const char* what) {
  char why[400];
  snprintf(why, sizeof why, "rank %d: %s; why: %s\n", g_rank, what, nigh_space_why());
  if (write(2, why, strlen(why)) < 0) _exit(4);
  _exit(3);
}

static void pause_ms(long ms) {
  struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {}
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* "NAME=" among the arguments, or the default. */
static long option(char** argv, const char* name, long otherwise) {
  size_t length = strlen(name);
  for (char** at = argv + 1; *at != NULL; ++at)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return strtol(*at + length + 1, NULL, 10);
  return otherwise;
}

enum { sizes_count = 9 };
static const size_t sizes[sizes_count] = {24, 1000, 14000, 16384, 20000, 65536, 100000, 1000000, 3000000};

/* The page that a rank shows its peers. */
struct Board {
  _Atomic(uint64_t) written[1024];
  _Atomic(uint32_t) arrived, left;
  char* text;               /* its own heap memory, for peers to write into */
  char* large;              /* 8 MiB of it, as all ranks have */
  char* sizes[sizes_count]; /* of `sizes` bytes each, the same */
};

/* All reachable ranks meet at rank `home`'s board. */
static void meet(_Atomic(uint32_t)* counter, int expected) {
  atomic_fetch_add(counter, 1);
  for (int i = 0; atomic_load(counter) < (uint32_t)expected; ++i) {
    if (i > 20000) fail("the others did not come to the meeting");
    pause_ms(1);
  }
}

static struct Board* board_of(int rank) {
  struct Board* board = NULL;
  for (int i = 0; (board = nigh_space_published(rank)) == NULL; ++i) {
    if (i > 20000) fail("a peer did not publish");
    pause_ms(1);
  }
  return board;
}

static long g_static[1024]; /* reached by peers with --share data */

static void check_static(int share) {
  for (int rank = 0; rank < g_size; ++rank) {
    if (!nigh_space_reachable(rank)) continue;
    long* theirs = nigh_remote_address(rank, &g_static[g_rank]);
    if (rank == g_rank ? theirs != &g_static[g_rank] : (theirs != NULL) != share)
      fail("static data is shared although it should not be, or the reverse");
    if (theirs != NULL) *theirs = 7 * g_rank + rank;
  }
}

static void exchange(struct Board* mine, int reached, int share) {
  int home = 0;
  while (!nigh_space_reachable(home)) ++home;
  struct Board* first = board_of(home);
  check_static(share);
  for (int rank = 0; rank < g_size; ++rank) {
    if (!nigh_space_reachable(rank)) continue;
    struct Board* theirs = board_of(rank);
    if ((rank == g_rank) != (theirs == mine)) fail("a wrong address was published");
    if (nigh_remote_address(rank, mine->large) != theirs->large)
      fail("blocks of ranks that allocate alike do not correspond");
    for (int i = 0; i < sizes_count; ++i)
      if (nigh_remote_address(rank, mine->sizes[i]) != theirs->sizes[i])
        fail("small or middling blocks of ranks that allocate alike do not correspond");
    atomic_store(&theirs->written[g_rank], 1000003u * (uint64_t)g_rank + (uint64_t)rank);
    memset(theirs->text + 64 * g_rank, 'A' + g_rank % 26, 64); /* a plain pointer of another process */
  }
  meet(&first->left, reached);
  for (int rank = 0; rank < g_size; ++rank) {
    if (!nigh_space_reachable(rank)) continue;
    if (atomic_load(&mine->written[rank]) != 1000003u * (uint64_t)rank + (uint64_t)g_rank)
      fail("a word that a peer wrote is not there");
    if (share && g_static[rank] != 7 * rank + g_rank)
      fail("a static variable that a peer wrote is not there");
    for (int i = 0; i < 64; ++i)
      if (mine->text[64 * rank + i] != 'A' + rank % 26) fail("text that a peer wrote is not there");
  }
  for (int rank = 0; rank < g_size; ++rank)
    if (!nigh_space_alive(rank) && nigh_space_reachable(rank)) fail("a living rank counts as dead");
  meet(&first->arrived, reached); /* nobody leaves while others still read */
}

static volatile sig_atomic_t g_signals;
static void count_signal(int signal) { (void)signal, ++g_signals; }

int main(int argc, char** argv) {
  (void)argc;
  g_rank = nigh_space_rank();
  g_size = nigh_space_size();
  long who = option(argv, "who", -1); /* the rank that die, never, late, status .. are about */
  int me = who < 0 || who == g_rank;
  long timeout = option(argv, "timeout", 20000);
  if (me && option(argv, "nodump", 0)) prctl(PR_SET_DUMPABLE, 0);
  if (me && option(argv, "close", 0)) close(0), close(1), close(2);
  if (option(argv, "storm", 0)) { /* signals all the time, without SA_RESTART */
    struct sigaction act = {.sa_handler = count_signal};
    sigaction(SIGALRM, &act, NULL);
    ualarm(500, 500);
  }
  if (me && option(argv, "never", 0)) {
    pause_ms(option(argv, "never", 0));
    return (int)option(argv, "status", 0);
  }
  if (me && option(argv, "die", 0)) raise(SIGKILL);
  if (me) pause_ms(option(argv, "late", 0));
  struct Board* mine = nigh_space_alloc(sizeof *mine, 4096);
  if (mine == NULL) fail("no memory of the space");
  memset(mine, 0, sizeof *mine);
  mine->text = malloc(64 * 1024);
  if (mine->text == NULL || nigh_space_global(mine->text, 64 * 1024) != mine->text)
    fail("malloc is not in the space");
  memset(mine->text, 0, 64 * 1024);
  mine->large = malloc((size_t)8 << 20);
  for (int i = 0; i < sizes_count; ++i) mine->sizes[i] = malloc(sizes[i]);

  nigh_space_publish(mine);
  double begun = now_ms();
  int joined = nigh_space_join((int)timeout);
  double took = now_ms() - begun;
  ualarm(0, 0);
  if (option(argv, "apart", 0)) { /* is expected to stand aside */
    if (joined == 0) fail("it joined");
    printf("rank %d stands aside: %s\n", g_rank, nigh_space_why());
    return 0;
  }
  if (joined != 0) fail("did not join");
  int reached = 0;
  for (int rank = 0; rank < g_size; ++rank) reached += nigh_space_reachable(rank);
  long expected = option(argv, "reach", g_size);
  if (expected >= 0 && reached != expected) fail("another number of ranks is within reach");
  if (!option(argv, "alone", 0)) exchange(mine, reached, option(argv, "share", 0) != 0);
  if (option(argv, "hold", 0)) {
    printf("rank %d holds\n", g_rank), fflush(stdout);
    pause_ms(option(argv, "hold", 0));
  }
  if (!option(argv, "quiet", 0))
    printf("rank %d reaches %d in %.1f ms: %s\n", g_rank, reached, took, nigh_space_why());
  return 0;
}
