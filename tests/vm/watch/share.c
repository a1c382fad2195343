/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * share PASSES MIB GROUP...: a program whose sharing is known and whose result never changes. A group is
 * nodes of CPUs and the node of its memory, "0,5:0": two threads on each of the nodes work on one buffer,
 * which lies where the colon says. The last CPU of a list of nodes is no matter: threads are bound to whole
 * nodes, as a launcher would, and are moved by whoever watches.
 *
 * Each thread updates every page of its group's buffer PASSES times, in an order of its own; updates commute,
 * so the sum is the same wherever and whenever they happen. At the end: where each thread is and was, where
 * the pages are, and the sum:
 *
 *     group 0 threads 471:1 472:1 473:0 474:0 pages 0:256 kernel 0 sum 1f3a...
 *
 * With SHARE_BIND in the environment each buffer is bound to its node (mbind), and at the end of the line
 * stands the node of a page that is touched only then: "late 0".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most_groups = 4, most_nodes = 8, per_node = 2, page = 4096, region = 2 << 20 };

struct group {
  int nodes[most_nodes], count, memory;
  _Atomic uint64_t* data;
};
struct worker {
  struct group* group;
  int number, node, last_node, tid;
  long moved_by_kernel;
};

static struct group groups[most_groups];
static int group_count;
static long passes;
static size_t bytes;
static int bind_memory;

static void fail(const char* what) {
  fprintf(stderr, "share: %s: %s\n", what, strerror(errno));
  exit(2);
}

static void bind_to_node(int node) {
  char path[64], list[256] = "";
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
  FILE* file = fopen(path, "r");
  if (file == NULL || fgets(list, sizeof list, file) == NULL) fail(path);
  fclose(file);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (char* at = list; *at != '\0' && *at != '\n';) {
    long first = strtol(at, &at, 10), last = first;
    if (*at == '-') last = strtol(at + 1, &at, 10);
    for (; first <= last; ++first) CPU_SET((size_t)first, &set);
    if (*at == ',') ++at;
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");
}

// numa_pages_migrated of the calling thread: what the kernel's balancing moved because of it.
static long moved_by_kernel(void) {
  FILE* file = fopen("/proc/thread-self/sched", "r");
  if (file == NULL) return 0;
  char line[256];
  long moved = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    const char* colon = strchr(line, ':');
    if (strncmp(line, "numa_pages_migrated", 19) == 0 && colon != NULL) moved = atol(colon + 1);
  }
  fclose(file);
  return moved;
}

static void* work(void* argument) {
  struct worker* me = argument;
  bind_to_node(me->node);
  me->tid = (int)syscall(SYS_gettid);
  const size_t pages = bytes / page;
  // Steps through the pages by a stride without common factor: each once a pass, every thread in another
  // order.
  const size_t stride = 2 * (size_t)me->number + 2 * pages / 5 / 2 * 2 + 1;
  size_t at = (size_t)me->number * 37 % pages;
  for (long pass = 0; pass < passes; ++pass)
    for (size_t k = 0; k < pages; ++k, at = (at + stride) % pages) {
      atomic_fetch_add_explicit(&me->group->data[at * page / 8 + (size_t)me->number],
                                (uint64_t)(pass * 7 + me->number + 1), memory_order_relaxed);
      for (volatile int spin = 0; spin < 2000; ++spin) continue;
    }
  unsigned cpu = 0, node = 0;
  syscall(SYS_getcpu, &cpu, &node, NULL);
  me->last_node = (int)node;
  me->moved_by_kernel = moved_by_kernel();
  return NULL;
}

static void read_group(const char* text) {
  struct group* group = &groups[group_count++];
  char* at = (char*)text;
  do {
    group->nodes[group->count++] = (int)strtol(at, &at, 10);
  } while (*at++ == ',' && group->count < most_nodes);
  group->memory = atoi(at);
  char* raw = mmap(NULL, bytes + region, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) fail("mmap");
  group->data = (void*)(((uintptr_t)raw + region - 1) / region * region);
  madvise((void*)group->data, bytes, MADV_NOHUGEPAGE);
  unsigned long node = 1UL << group->memory;
  if (bind_memory && syscall(SYS_mbind, group->data, bytes + page, 2 /* MPOL_BIND */, &node, 65UL, 0) != 0)
    fail("mbind");
  bind_to_node(group->memory);  // first touch
  memset((void*)group->data, 0, bytes);
}

static int node_of(void* address) {
  int status = -1;
  return syscall(SYS_move_pages, 0, 1UL, &address, NULL, &status, 0) == 0 ? status : -1;
}

static void print_group(int number, const struct worker* workers, int count) {
  const struct group* group = &groups[number];
  printf("group %d threads", number);
  for (int i = 0; i < count; ++i)
    if (workers[i].group == group) printf(" %d:%d", workers[i].tid, workers[i].last_node);
  int by_node[64] = {0};
  for (size_t at = 0; at < bytes; at += page) {
    const int node = node_of((char*)(uintptr_t)group->data + at);
    if (node >= 0 && node < 64) ++by_node[node];
  }
  printf(" pages");
  for (int node = 0; node < 64; ++node)
    if (by_node[node] > 0) printf(" %d:%d", node, by_node[node]);
  long moved = 0;
  for (int i = 0; i < count; ++i) moved += workers[i].group == group ? workers[i].moved_by_kernel : 0;
  uint64_t sum = 14695981039346656037ULL;
  for (size_t i = 0; i < bytes / 8; ++i) sum = (sum ^ group->data[i]) * 1099511628211ULL;
  printf(" kernel %ld sum %016llx", moved, (unsigned long long)sum);
  if (bind_memory) {
    char* late = (char*)(uintptr_t)group->data + bytes;
    *(volatile char*)late = 1;
    printf(" late %d", node_of(late));
  }
  printf("\n");
}

int main(int argc, char** argv) {
  if (argc < 4 || argc > 3 + most_groups) {
    fprintf(stderr, "usage: share PASSES MIB NODES:MEMORY...\n");
    return 2;
  }
  passes = atol(argv[1]);
  bytes = (size_t)atol(argv[2]) << 20;
  bind_memory = getenv("SHARE_BIND") != NULL;
  for (int i = 3; i < argc; ++i) read_group(argv[i]);
  static struct worker workers[most_groups * most_nodes * per_node];
  static pthread_t threads[most_groups * most_nodes * per_node];
  int count = 0;
  for (int g = 0; g < group_count; ++g)
    for (int n = 0; n < groups[g].count * per_node; ++n)
      workers[count++] = (struct worker){&groups[g], n, groups[g].nodes[n / per_node], -1, 0, 0};
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, work, &workers[i]);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  for (int g = 0; g < group_count; ++g) print_group(g, workers, count);
  return 0;
}
