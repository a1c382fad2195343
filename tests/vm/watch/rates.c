/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rates MIB THREAD...: threads that touch memory at rates of their own, until they are killed. A THREAD is
 * NODE:WORK:NODE[,NODE...]: where it runs, how much it computes between two touches (in thousands of steps),
 * and the nodes of its memory, each as often as it is named ("0:1:4,4,5": two of three touches go to 4).
 * Every node that is named has one buffer of MIB, shared by all that name it, in the addresses that
 * access_count counts.
 *
 * Says "ready" when all threads touch. The policy is MPOL_BIND | MPOL_F_NUMA_BALANCING over the memory's
 * nodes: the kernel looks, but has nowhere to move to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../plugin/marker.h"

#ifndef MPOL_F_NUMA_BALANCING
#define MPOL_F_NUMA_BALANCING (1 << 13)
#endif

enum { most_nodes = 64, most_targets = 8, most_threads = 16, page = 4096 };
// Between buffers: the kernel must not make one mapping of two.
static const size_t distance = (size_t)1 << 30;

struct toucher {
  int number, node, count;
  long work;
  volatile char* targets[most_targets];
};
static struct toucher threads[most_threads];
static volatile char* buffers[most_nodes];
static unsigned long used;  // nodes of memory, as a mask
static size_t bytes;
static pthread_barrier_t all_run;

static void fail(const char* what) {
  fprintf(stderr, "rates: %s: %s\n", what, strerror(errno));
  exit(2);
}

static void policy(int mode, unsigned long nodes) {
  if (syscall(SYS_set_mempolicy, mode, &nodes, 65UL) != 0) fail("set_mempolicy");
}

static void run_on_node(int node) {
  cpu_set_t set;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    unsigned where = 0;
    if (sched_setaffinity(0, sizeof set, &set) != 0) continue;
    if (syscall(SYS_getcpu, NULL, &where, NULL) == 0 && (int)where == node) return;
  }
  fail("no CPU on a node");
}

static volatile char* buffer_on(int node) {
  if (node < 0 || node >= most_nodes) fail("no such node");
  if (buffers[node] != NULL) return buffers[node];
  char* wanted = (char*)(uintptr_t)COUNTED_START + (size_t)node * distance;
  char* got =
      mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) fail("mmap");
  madvise(got, bytes, MADV_NOHUGEPAGE);
  policy(MPOL_BIND, 1UL << node);
  memset(got, 1, bytes);
  used |= 1UL << node;
  return buffers[node] = got;
}

static void* touch(void* argument) {
  const struct toucher* me = argument;
  run_on_node(me->node);
  pthread_barrier_wait(&all_run);
  uint64_t random = (uint64_t)me->number + 1;
  for (unsigned turn = 0;; ++turn) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    (void)me->targets[turn % (unsigned)me->count][(random >> 33) % (bytes / page) * page];
    for (long work = me->work; work > 0; --work) __asm__ volatile("");  // in registers: no traffic
  }
  return NULL;
}

static void read_thread(struct toucher* thread, const char* text) {
  char* at = (char*)text;
  thread->node = (int)strtol(at, &at, 10);
  if (*at++ != ':') fail(text);
  thread->work = 1000 * strtol(at, &at, 10);
  if (*at != ':') fail(text);
  while (*at != '\0' && thread->count < most_targets) {
    const char* from = ++at;
    thread->targets[thread->count++] = buffer_on((int)strtol(from, &at, 10));
    if (at == from) fail(text);
  }
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 2 + most_threads) {
    fprintf(stderr, "usage: rates MIB NODE:WORK:NODE[,NODE...]...\n");
    return 2;
  }
  bytes = (size_t)atol(argv[1]) << 20;
  const int count = argc - 2;
  pthread_barrier_init(&all_run, NULL, (unsigned)count + 1);
  for (int i = 0; i < count; ++i) threads[i].number = i, read_thread(&threads[i], argv[2 + i]);
  policy(MPOL_BIND | MPOL_F_NUMA_BALANCING, used);
  pthread_t id;
  for (int i = 0; i < count; ++i)
    if (pthread_create(&id, NULL, touch, &threads[i]) != 0) fail("pthread_create");
  pthread_barrier_wait(&all_run);
  printf("ready\n");
  fflush(stdout);
  for (;;) pause();
}
