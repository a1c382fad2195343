/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program of the message API, in C, whose ranks are processes: every rank talks to every other with buffers
 * of the heap, the stack and static data, in one piece and not, blocking and not, and dies where it is told
 * to.
 *
 *     nigh run -n 3 -- talk [all | death | time] */
#include <nigh/message.h>
#include <nigh/space.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;
static char static_in[100000], static_out[100000];

#define EXPECT(condition)                                                                   \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "talk: rank %d, line %d: %s is wrong\n", rank, __LINE__, #condition); \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)

static void fill(char* data, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i) data[i] = (char)(i * 7 + (i >> 9) + (size_t)seed * 13);
}
static int holds(const char* data, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i)
    if (data[i] != (char)(i * 7 + (i >> 9) + (size_t)seed * 13)) return 0;
  return 1;
}

static void round_of(char* out, char* in, size_t bytes, int tag) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  nigh_status status;
  fill(out, bytes, rank + tag);
  memset(in, 0, bytes);
  EXPECT(nigh_sendrecv(out, bytes, to, tag, in, bytes, from, tag, &status) == NIGH_OK);
  EXPECT(status.source == from && status.tag == tag && status.bytes == bytes);
  EXPECT(holds(in, bytes, from + tag));
}

static void everybody(void) {
  nigh_request* requests = calloc((size_t)size * 2, sizeof *requests);
  char* out = malloc((size_t)size * 50000);
  char* in = malloc((size_t)size * 50000);
  for (int peer = 0; peer < size; ++peer) {
    fill(out + peer * 50000, 50000, rank * 100 + peer);
    EXPECT(nigh_irecv(in + peer * 50000, 50000, peer, 3, &requests[peer]) == NIGH_OK);
  }
  for (int peer = 0; peer < size; ++peer)
    EXPECT(nigh_isend(out + peer * 50000, 50000, peer, 3, &requests[size + peer]) == NIGH_OK);
  EXPECT(nigh_waitall((size_t)size * 2, requests, NULL) == NIGH_OK);
  for (int peer = 0; peer < size; ++peer) EXPECT(holds(in + peer * 50000, 50000, peer * 100 + rank));
  int there = 1;
  EXPECT(nigh_iprobe(NIGH_ANY_SOURCE, 3, &there, NULL) == NIGH_OK && !there);
  free(requests);
  free(out);
  free(in);
}

static void strided(void) {
  nigh_block* block = malloc(sizeof *block);
  *block = (nigh_block){.offset = 4, .bytes = 4};
  const nigh_layout column = {.blocks = block, .block_count = 1, .extent = 12, .element_bytes = 4};
  enum { count = 20000 };
  int32_t* matrix = calloc(count * 3, sizeof *matrix);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < count; ++i) matrix[3 * i + 1] = rank * 1000000 + i;
  EXPECT(nigh_send_layout(matrix, &column, count * 4, to, 9) == NIGH_OK);
  EXPECT(nigh_recv_layout(matrix, &column, count * 4, from, 9, NULL) == NIGH_OK);
  for (int i = 0; i < count; ++i)
    EXPECT(matrix[3 * i + 1] == from * 1000000 + i && matrix[3 * i] == 0 && matrix[3 * i + 2] == 0);
  free(matrix);
  free(block);
}

static void all(void) {
  char stack_out[60000], stack_in[60000];
  for (int tag = 0; tag < 20; ++tag)
    for (size_t bytes = 0; bytes <= sizeof stack_in; bytes = bytes * 3 + 1) {
      char* out = malloc(bytes + 1);
      char* in = malloc(bytes + 1);
      round_of(out, in, bytes, tag);
      round_of(stack_out, stack_in, bytes, tag);
      round_of(static_out, static_in, bytes, tag);
      free(out);
      free(in);
    }
  everybody();
  strided();
  EXPECT(nigh_send("x", 1, size, 0) == NIGH_ERR_ARGUMENT);
  EXPECT(strlen(nigh_error_text(NIGH_ERR_ARGUMENT)) > 0);
}

/* Rank 1 is killed while rank 0 waits for it; the others then say good bye to each other. */
static void death(void) {
  char byte = 1;
  if (rank == 1) raise(SIGKILL);
  EXPECT(nigh_recv(&byte, 1, 1, 0, NULL) == NIGH_ERR_PEER_DEAD);
  if (rank == 0)
    EXPECT(nigh_send(&byte, 1, 2, 4) == NIGH_OK);
  else if (rank == 2)
    EXPECT(nigh_recv(&byte, 1, 0, 4, NULL) == NIGH_OK);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* One way, us, buffers rewritten and read. Not a test: for whoever changes this room. */
static void timing(void) {
  static const size_t sizes[] = {0, 8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
  char* out = calloc(4 << 20, 1);
  char* in = calloc(4 << 20, 1);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    const size_t bytes = sizes[s];
    const int rounds = bytes < 4096 ? 2000 : bytes < 100000 ? 300 : 30;
    double best = 1e9;
    for (int k = 0; k < 9; ++k) {
      const double start = now();
      for (int i = 0; i < rounds; ++i)
        for (int turn = 0; turn < 2; ++turn)
          if (turn == rank) {
            for (size_t at = 0; at < bytes; at += 64) ((volatile char*)out)[at] = (char)i;
            nigh_send(out, bytes, 1 - rank, 1);
          } else if (rank < 2) {
            nigh_recv(in, bytes, 1 - rank, 1, NULL);
            for (size_t at = 0; at < bytes; at += 64) (void)((volatile char*)in)[at];
          }
      const double one = (now() - start) / (2.0 * rounds);
      if (one < best) best = one;
    }
    if (rank == 0) printf("%9zu bytes %10.3f us\n", bytes, best);
  }
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "all";
  EXPECT(nigh_send("x", 1, 0, 0) == NIGH_ERR_NO_SPACE);
  if (nigh_message_init() != NIGH_OK) {
    fprintf(stderr, "talk: no space: %s\n", nigh_space_why());
    return 3;
  }
  rank = nigh_rank();
  size = nigh_size();
  if (strcmp(what, "all") == 0) all();
  if (strcmp(what, "death") == 0) death();
  if (strcmp(what, "time") == 0) timing();
  return 0;
}
