// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// hogs churn-1|churn-64|grow|small|cross|fork: what programs do to a heap, with nothing sent but the sum at
// the end. Each takes 1 to 5 s on a machine of 2026.
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long sum;
static unsigned long next = 88172645463325252;
static unsigned long random_number(void) { return next ^= next << 13, next ^= next >> 7, next ^= next << 17; }

static void touch(volatile char* block, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4096) block[i] = (char)(i >> 12), sum += (unsigned char)block[i];
}

// Allocated, touched, freed.
static void churn(size_t bytes, long times) {
  while (times-- > 0) {
    char* block = malloc(bytes);
    touch(block, bytes);
    free(block);
  }
}

static void grow(void) {
  for (int i = 0; i < 30; i++) {
    char* block = NULL;
    size_t before = 0;
    for (size_t bytes = 1024; bytes < 64 << 20; bytes += bytes / 2) {
      block = realloc(block, bytes);
      memset(block + before, 1, bytes - before);
      before = bytes;
    }
    sum += (unsigned char)block[before - 1];
    free(block);
  }
}

static void small(void) {
  enum { live = 20000 };
  static char* blocks[live];
  for (long i = 0; i < 20000000; i++) {
    char** block = &blocks[random_number() % live];
    free(*block);
    *block = malloc(random_number() % 2000 + 8);
    **block = 1;
  }
  for (int i = 0; i < live; i++) free(blocks[i]);
}

// One thread makes blocks, another frees them.
enum { ring = 1024 };
static char* volatile handed[ring];
static void* freer(void* unused) {
  for (long i = 0; i < 4000000; i++) {
    char* block;
    while ((block = __atomic_exchange_n(&handed[i % ring], NULL, __ATOMIC_ACQUIRE)) == NULL) sched_yield();
    free(block);
  }
  return unused;
}
static void cross(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, freer, NULL);
  for (long i = 0; i < 4000000; i++) {
    char* block = malloc(random_number() % 30000 + 8);
    *block = 1;
    while (handed[i % ring] != NULL) sched_yield();
    __atomic_store_n(&handed[i % ring], block, __ATOMIC_RELEASE);
  }
  pthread_join(thread, NULL);
}

static void forks(void) {
  const size_t bytes = (size_t)1 << 30;
  char* block = malloc(bytes);
  touch(block, bytes);
  for (int i = 0; i < 10; i++) {
    const pid_t child = fork();
    if (child == 0) _exit(block[4096] != 1);
    int status = 1;
    waitpid(child, &status, 0);
    sum += (unsigned)status;
  }
  free(block);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "churn-1") == 0) churn(1 << 20, 400000);
  if (strcmp(how, "churn-64") == 0) churn(64 << 20, 60);
  if (strcmp(how, "grow") == 0) grow();
  if (strcmp(how, "small") == 0) small();
  if (strcmp(how, "cross") == 0) cross();
  if (strcmp(how, "fork") == 0) forks();
  unsigned long all = 0;
  MPI_Reduce(&sum, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%s: sum %lu\n", how, all);
  MPI_Finalize();
  return 0;
}
