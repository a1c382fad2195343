/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Page faults, and memory that is left behind (front.py, case_memory).
 *   trials  a call that allocates less each time, as for the panels of a matrix that is factorised
 *   sparse  large blocks of MPI_Alloc_mem, of which little is touched
 *   send    a message of 2 MiB soon after the start
 *   once    many blocks that are kept, each sent once
 *   again   blocks that are made, sent and freed
 *   turns   large blocks that are sent and others that are not, by turns
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { LARGEST = 1 << 20, LEAST = 64 << 10, MESSAGE = 2 << 20 };

static long faults(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

static long kib_of(const char* word) {
  char line[200];
  long kib = -1;
  const size_t length = strlen(word);
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, word, length) == 0 && line[length] == ':') kib = strtol(line + length + 1, NULL, 10);
  if (status != NULL) fclose(status);
  return kib;
}
static long shared_kib(void) { return kib_of("RssShmem"); }

static void use(size_t bytes) {
  char* const block = malloc(bytes);
  memset(block, 1, bytes);
  if (block[bytes / 2] != 1) abort();
  free(block);
}

static void pass(char* block, int bytes, int rank) {
  if (rank == 0) MPI_Send(block, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(block, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_soon(int rank) {
  char* const block = malloc(MESSAGE);
  memset(block, rank, MESSAGE);
  pass(block, MESSAGE, rank);
  free(block);
}

static char* made(size_t bytes) {
  char* const block = malloc(bytes);
  memset(block, 1, bytes);
  return block;
}

static void send_once(int rank) {
  enum { COUNT = 200, BLOCK = 256 << 10 };
  static char* kept[COUNT];
  for (int i = 0; i < COUNT; i++) pass(kept[i] = made(BLOCK), BLOCK, rank);
  if (rank == 0) printf("once %ld\n", shared_kib());
  for (int i = 0; i < COUNT; i++) free(kept[i]);
}

static void send_again(int rank) {
  enum { COUNT = 400, BLOCK = 256 << 10 };
  for (int i = 0; i < COUNT; i++) {
    char* const block = made(BLOCK);
    pass(block, BLOCK, rank);
    free(block);
  }
}

static void by_turns(int rank) {
  enum { BLOCK = 16 << 20, TURNS = 3, SENDS = 11 };
  const long before = kib_of("VmRSS");
  for (int i = 0; i < TURNS; i++) {
    char* const own = malloc(BLOCK);
    memset(own, 1, BLOCK);
    if (rank == 0 && i == TURNS - 1) printf("turns %ld\n", kib_of("VmRSS") - before);
    free(own);
    char* const sent = malloc(BLOCK);
    memset(sent, 1, BLOCK);
    for (int k = 0; k < SENDS; k++) pass(sent, BLOCK, rank);
    if (rank == 0 && i == TURNS - 1) printf("sent %ld\n", kib_of("VmRSS") - before);
    free(sent);
  }
}

/* Blocks of this size are fresh pages without us, too. */
static void use_little(void) {
  enum { BLOCK = 40 << 20, PAGES = 10 };
  char* block = NULL;
  MPI_Alloc_mem(BLOCK, MPI_INFO_NULL, &block);
  for (int i = 0; i < PAGES; i++) {
    char* const page = block + (long)BLOCK / PAGES * i;
    if (*page != 0) printf("byte %d\n", *page);
    *page = 1;
  }
  MPI_Free_mem(block);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long memory = shared_kib(), before = faults();
  if (argc > 1 && strcmp(argv[1], "trials") == 0) {
    for (size_t bytes = LARGEST; bytes > LEAST; bytes -= bytes / 7) use(bytes);
  } else if (argc > 1 && strcmp(argv[1], "sparse") == 0) {
    for (int i = 0; i < 50; i++) use_little();
  } else if (argc > 1 && strcmp(argv[1], "once") == 0) {
    send_once(rank);
  } else if (argc > 1 && strcmp(argv[1], "again") == 0) {
    send_again(rank);
  } else if (argc > 1 && strcmp(argv[1], "turns") == 0) {
    by_turns(rank);
  } else {
    send_soon(rank);
  }
  const long took = faults() - before;
  const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
  nanosleep(&pause, NULL);
  char* volatile const later = malloc(LEAST); /* the next call that is looked at */
  if (rank == 0) printf("faults %ld kept %ld\n", took, shared_kib() - memory);
  free(later);
  MPI_Finalize();
  return 0;
}
