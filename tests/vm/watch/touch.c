/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * touch MODE: a program whose traffic is known. Buffer 0 lies on node 4 and is used by two threads on the
 * CPUs 0 and 1, buffer 1 on node 5, used by two threads on the CPUs 2 and 3; none of these CPUs is on 4 or 5.
 * Says "buffer N ADDRESS BYTES" and "thread TID N" on stdout, then touches until it is killed. MODE measure:
 * under the policy MPOL_BIND | MPOL_F_NUMA_BALANCING over the memory's nodes, which lets the kernel look but
 * not move.
 */
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MPOL_F_NUMA_BALANCING
#define MPOL_F_NUMA_BALANCING (1 << 13)
#endif

enum { buffers = 2, threads = 4, page = 4096 };
static const size_t bytes = 8 << 20, alignment = 2 << 20;
static volatile char* data[buffers];
static int write_too;

static void policy(int mode, unsigned long nodes) {
  if (syscall(SYS_set_mempolicy, mode, &nodes, 65UL) == 0) return;
  perror("touch: set_mempolicy");
  exit(2);
}

static void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("touch: sched_setaffinity"), exit(2);
}

static void* touch(void* argument) {
  int number = (int)(intptr_t)argument;
  volatile char* mine = data[number / 2];
  run_on(number);
  printf("thread %ld %d\n", syscall(SYS_gettid), number / 2);
  fflush(stdout);
  const size_t pages = bytes / page;
  uint64_t random = (uint64_t)number + 1;
  for (char sum = 0;; ++sum) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const size_t at = (random >> 33) % pages * page + 64 * (size_t)number;
    sum = (char)(sum + mine[at]);
    if (write_too) mine[at] = sum;
    for (volatile int work = 0; work < 10000; ++work) continue;
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int measure = argc > 1 && strcmp(argv[1], "measure") == 0;
  write_too = !measure;
  run_on(6);
  for (int b = 0; b < buffers; ++b) {
    char* got = mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return 2;
    got = (char*)(((uintptr_t)got + alignment - 1) & ~(uintptr_t)(alignment - 1));
    madvise(got, bytes, MADV_NOHUGEPAGE);
    policy(MPOL_BIND, 1UL << (4 + b));
    memset(got, 1, bytes);
    data[b] = got;
    printf("buffer %d %lu %zu\n", b, (unsigned long)(uintptr_t)got, bytes);
  }
  if (measure)
    policy(MPOL_BIND | MPOL_F_NUMA_BALANCING, 3UL << 4);
  else
    policy(MPOL_DEFAULT, 0);
  pthread_t ids[threads];
  for (int t = 0; t < threads; ++t)
    if (pthread_create(&ids[t], NULL, touch, (void*)(intptr_t)t) != 0) return 2;
  for (int t = 0; t < threads; ++t) pthread_join(ids[t], NULL);
  return 0;
}
