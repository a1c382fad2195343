/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * storm ROUNDS SEED: in each round every PE puts bytes of random length to every PE, in one of several ways,
 * meets the others, looks at what it got, and fetches what the others got. All know what all bytes must be.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { slot = 3 << 20, word = 8 };
static unsigned seed;

static unsigned mixed(unsigned a, unsigned b) {
  uint64_t x = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return (unsigned)(x >> 32);
}

/* what `from` puts to `to` in this round */
static unsigned code(int round, int from, int to) {
  return mixed(mixed(seed, (unsigned)round), (unsigned)(from * 1000 + to));
}
static size_t words(unsigned c) {
  static const unsigned most[] = {4, 300, 5000, 60000, slot / word};
  return mixed(c, 1) % most[mixed(c, 2) % 5];
}
static uint64_t value(unsigned c, size_t i) { return (uint64_t)c << 32 | (i * 2654435761u & 0xffffffffu); }

static int step_of(unsigned c, size_t n) { return n > 0 && n <= 100000 ? 1 + (int)(mixed(c, 5) % 3) : 1; }

static void put(unsigned c, uint64_t* to, uint64_t* from, int pe) {
  const size_t n = words(c);
  const int step = step_of(c, n);
  for (size_t i = 0; i < n; i++) from[i] = value(c, i);
  switch (mixed(c, 3) % 4) {
    case 0: shmem_put64_nbi(to, from, n, pe); break;
    case 1: shmem_iput64(to, from, step, 1, n, pe); break;
    default: shmem_put64(to, from, n, pe);
  }
}

static int wrong(unsigned c, const uint64_t* at, size_t n, const char* how, int round, int from, int to) {
  const int step = mixed(c, 3) % 4 == 1 ? step_of(c, words(c)) : 1;
  for (size_t i = 0; i < n; i++)
    if (at[i * (size_t)step] != value(c, i)) {
      printf("WRONG %s: round %d, PE %d to %d, word %zu of %zu: %llx\n", how, round, from, to, i, words(c),
             (unsigned long long)at[i * (size_t)step]);
      return 1;
    }
  return 0;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  uint64_t* in = shmem_malloc((size_t)n * slot);
  uint64_t* sum = shmem_calloc(2, sizeof *sum);
  uint64_t* out = malloc((size_t)n * slot);
  uint64_t* back = malloc(slot);
  int bad = 0;
  for (int round = 0; round < rounds && !bad; round++) {
    memset(in, 0xee, (size_t)n * slot);
    shmem_barrier_all();
    for (int k = 0; k < n; k++) {
      const int to = (me + k) % n;
      const unsigned c = code(round, me, to);
      put(c, in + (size_t)me * (slot / word), out + (size_t)to * (slot / word), to);
      shmem_atomic_add((unsigned long*)sum, mixed(c, 9) % 100, to);
    }
    if (round % 3 == 0) shmem_fence();
    shmem_barrier_all();
    for (int from = 0; from < n && !bad; from++) {
      const unsigned c = code(round, from, me);
      bad = wrong(c, in + (size_t)from * (slot / word), words(c), "put", round, from, me);
    }
    for (int k = 0; k < n && !bad; k++) { /* what the neighbour got from PE k */
      const int of = (me + 1) % n;
      const unsigned c = code(round, k, of);
      const size_t count = words(c);
      const size_t span =
          mixed(c, 3) % 4 == 1 && count > 0 ? (count - 1) * (size_t)step_of(c, count) + 1 : count;
      if (k % 2) {
        shmem_get64_nbi(back, in + (size_t)k * (slot / word), span, of);
        shmem_quiet();
      } else {
        shmem_get64(back, in + (size_t)k * (slot / word), span, of);
      }
      bad = wrong(c, back, count, "get", round, k, of);
    }
    shmem_barrier_all();
  }
  uint64_t wanted = 0;
  for (int round = 0; round < rounds; round++)
    for (int from = 0; from < n; from++) wanted += mixed(code(round, from, me), 9) % 100;
  if (!bad && *sum != wanted) bad = printf("WRONG sum of PE %d: %llu\n", me, (unsigned long long)*sum);
  if (bad) fflush(stdout), shmem_global_exit(1);
  shmem_barrier_all();
  if (me == 0) printf("ok storm %d rounds\n", rounds);
  shmem_finalize();
  return 0;
}
