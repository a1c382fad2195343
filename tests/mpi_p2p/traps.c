// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the traps for point-to-point: all, or those whose names are given. Four ranks.
#include "traps.h"

#include <stdarg.h>
#include <time.h>

const int sizes[] = {0,    1,    8,    192,   239,   WIRE,  241,    256,    1024,    3999,   4000,
                     4096, 8191, 8192, 16384, 65536, 65537, 262144, 300001, 1048576, 4194304};
const int size_count = sizeof sizes / sizeof *sizes;
int rank, ranks, failures, strict;

void check(int ok, const char* condition, const char* file, int line) {
  if (ok) return;
  if (++failures <= 5) fprintf(stderr, "rank %d: %s:%d: %s does not hold\n", rank, file, line, condition);
}

static unsigned char byte_at(size_t i, unsigned seed) {
  const unsigned long x = (i + 1) * 0x9e3779b97f4a7c15ul ^ seed * 0xc2b2ae3d27d4eb4ful;
  return (unsigned char)(x >> 37 ^ x >> 9);
}

void fill(void* data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i) ((unsigned char*)data)[i] = byte_at(i, seed);
}

int filled(const void* data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i)
    if (((const unsigned char*)data)[i] != byte_at(i, seed)) return 0;
  return 1;
}

void* heap(size_t bytes) {
  void* data = malloc(bytes ? bytes : 1);
  if (!data) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(data, 0xee, bytes);
  return data;
}

void say(const char* format, ...) {
  if (rank != 0) return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

void pause_ms(int ms) {
  const struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000l};
  nanosleep(&time, NULL);
}

int count_of(const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  return count;
}

static const struct {
  const char* name;
  Trap run;
} traps[] = {
#define X(name) {#name, name},
    TRAPS(X)
#undef X
};

// By the arguments: NAME... of traps, or -NAME... of those to leave out.
static int wanted(const char* name, int argc, char** argv) {
  int others = 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
    if (argv[i][0] == '-' && strcmp(argv[i] + 1, name) == 0) return 0;
    if (argv[i][0] != '-') others = 0;
  }
  return others;
}

// The last thing that this program does: a send whose handle is freed and that is received when its sender is
// already in MPI_Finalize.
static void leave_one_behind(void) {
  const size_t bytes = 100000;
  char* data = heap(bytes);
  if (rank == 0) {
    MPI_Request request;
    fill(data, bytes, 77);
    MPI_Isend(data, (int)bytes, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  } else if (rank == 1) {
    pause_ms(30);
    MPI_Recv(data, (int)bytes, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(filled(data, bytes, 77));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  strict = getenv("TRAPS_STRICT") != NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof traps / sizeof *traps; ++i) {
    if (!wanted(traps[i].name, argc, argv)) continue;
    if (getenv("TRAPS_VERBOSE") && rank == 0) fprintf(stderr, "%s\n", traps[i].name);
    const int before = failures;
    traps[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = failures - before, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    say("%s: %s\n", traps[i].name, all == 0 ? "ok" : "FAILED");
  }
  leave_one_behind();
  MPI_Finalize();
  return failures != 0;
}
