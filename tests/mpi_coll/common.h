/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The common parts of this suite's programs: they write one line for every result, a label and a hash of all
 * bytes that a call may or may not have written, to a file of their rank. The suite runs each program with
 * the plain library and with ours and compares the files: the library itself is the oracle. Values are small
 * integers, so that sums and products of floats are exact in any order.
 */
#ifndef NIGH_TESTS_MPI_COLL_COMMON_H
#define NIGH_TESTS_MPI_COLL_COMMON_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE* out_file;
static int world_rank, world_size;

static inline void start_out(const char* folder) {
  char path[4096];
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  snprintf(path, sizeof path, "%s/rank%d", folder, world_rank);
  out_file = fopen(path, "w");
  setvbuf(out_file, NULL, _IOLBF, 0);
  if (!out_file) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static inline uint64_t hash_bytes(const void* data, size_t bytes) {
  const unsigned char* at = data;
  uint64_t hash = 1469598103934665603u, word;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  for (; bytes; --bytes) hash = (hash ^ *at++) * 1099511628211u;
  return hash;
}

static inline void record(const void* data, size_t bytes, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(out_file, format, list);
  va_end(list);
  fprintf(out_file, " %016llx\n", (unsigned long long)hash_bytes(data, bytes));
}

static inline void end_out(void) {
  if (fclose(out_file)) MPI_Abort(MPI_COMM_WORLD, 2);
}

/* A stream of numbers that every rank can make alike. */
static inline uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* The place of a buffer decides how peers reach it. */
enum place { ON_HEAP, ON_STACK, STATIC_DATA, PLACES };
#define SMALL_BUFFER (64 << 10)
static _Alignas(64) char static_buffers[4][SMALL_BUFFER];

struct buffers {
  char* of[4];
  int place;
  size_t bytes;
};

/* The stack ones are the caller's; sizes above SMALL_BUFFER go to the heap wherever they were wanted. */
static inline struct buffers get_buffers(int place, size_t bytes, char (*stack)[SMALL_BUFFER]) {
  struct buffers b = {.place = bytes > SMALL_BUFFER ? ON_HEAP : place, .bytes = bytes};
  for (int i = 0; i < 4; ++i) {
    b.of[i] = b.place == ON_STACK      ? stack[i]
              : b.place == STATIC_DATA ? static_buffers[i]
                                       : malloc(bytes + 64);
    if (!b.of[i]) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return b;
}
static inline void drop_buffers(struct buffers* b) {
  if (b->place == ON_HEAP)
    for (int i = 0; i < 4; ++i) free(b->of[i]);
}

static inline void fill(void* data, size_t bytes, uint64_t seed) {
  unsigned char* at = data;
  uint64_t state = seed * 7919 + 13, word;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    word = next_random(&state);
    memcpy(at, &word, 8);
  }
  word = next_random(&state);
  memcpy(at, &word, bytes);
}

#endif
