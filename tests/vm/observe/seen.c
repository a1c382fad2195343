// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The note book of the observers: a small table under one lock. It asks the kernel directly
// (sched_getaffinity and getcpu by their system calls), because libraries that bind threads may also dress up
// the C functions.
#define _GNU_SOURCE
#include "seen.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most_levels = 8, most_rows = 4096, most_cpus = 1024, most_threads = 64 };

struct row {
  int levels;
  int path[most_levels];
  cpu_set_t mask;
  cpu_set_t cpus;  // where getcpu saw it
  int times;
  int threads;
  pid_t ids[most_threads];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row rows[most_rows];
static int row_count;

static struct row* find(const int* path, int levels, const cpu_set_t* mask) {
  for (int i = 0; i < row_count; ++i) {
    struct row* row = &rows[i];
    if (row->levels == levels && memcmp(row->path, path, sizeof(int) * (size_t)levels) == 0 &&
        CPU_EQUAL(&row->mask, mask))
      return row;
  }
  if (row_count == most_rows) {
    fprintf(stderr, "observer: more than %d different sights\n", most_rows);
    exit(1);
  }
  struct row* row = &rows[row_count++];
  row->levels = levels;
  memcpy(row->path, path, sizeof(int) * (size_t)levels);
  row->mask = *mask;
  return row;
}

void seen_note(const int* path, int levels) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  unsigned cpu = 0;
  if (syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask) < 0 ||
      syscall(SYS_getcpu, &cpu, NULL, NULL) != 0) {
    perror("observer");
    exit(1);
  }
  const pid_t id = (pid_t)syscall(SYS_gettid);
  pthread_mutex_lock(&lock);
  struct row* row = find(path, levels, &mask);
  CPU_SET(cpu, &row->cpus);
  ++row->times;
  int i = 0;
  while (i < row->threads && row->ids[i] != id) ++i;
  if (i == row->threads && i < most_threads) row->ids[row->threads++] = id;
  pthread_mutex_unlock(&lock);
}

static void print_set(const cpu_set_t* set) {
  const char* comma = "";
  for (int first = 0; first < most_cpus; ++first) {
    if (!CPU_ISSET((size_t)first, set)) continue;
    int last = first;
    while (last + 1 < most_cpus && CPU_ISSET((size_t)last + 1, set)) ++last;
    printf(last > first ? "%s%d-%d" : "%s%d", comma, first, last);
    comma = ",";
    first = last;
  }
}

void seen_print(void) {
  for (int i = 0; i < row_count; ++i) {
    printf("path ");
    for (int level = 0; level < rows[i].levels; ++level)
      printf("%s%d", level ? "." : "", rows[i].path[level]);
    printf(" mask ");
    print_set(&rows[i].mask);
    printf(" times %d cpus ", rows[i].times);
    print_set(&rows[i].cpus);
    printf(" threads %d\n", rows[i].threads);
  }
  fflush(stdout);
}

static int first_thread = -1;
static int turns_taken;

void seen_turns(int first) {
  first_thread = getenv("OBSERVER_TURNS") != NULL ? first : -1;
  __atomic_store_n(&turns_taken, 0, __ATOMIC_RELEASE);
}

void seen_await(int thread, int n) {
  if (first_thread < 0) return;
  const int mine = (thread + n - first_thread % n) % n;
  while (__atomic_load_n(&turns_taken, __ATOMIC_ACQUIRE) != mine) sched_yield();
}

void seen_next(void) { __atomic_add_fetch(&turns_taken, 1, __ATOMIC_ACQ_REL); }

int seen_sizes(const char* text, int* sizes, int most) {
  int levels = 0;
  while (levels < most) {
    char* end = NULL;
    const long size = strtol(text, &end, 10);
    if (end == text || size < 1 || size > 1024) return 0;
    sizes[levels++] = (int)size;
    if (*end == '\0') return levels;
    if (*end != ',') return 0;
    text = end + 1;
  }
  return 0;
}
