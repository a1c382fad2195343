/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * known_accesses: makes known numbers of accesses between markers and prints what access_count must have
 * written, in its format. Where a CPU and a page are is the guest kernel's word (getcpu, move_pages), so that
 * nothing has to be believed about the addresses that QEMU gives a plugin. Three pairs of markers: another
 * number for every pair of nodes; loads of pages on node 6 from node 0; the same after the pages were moved
 * to node 2.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "marker.h"

enum { nodes = 8, page = 4096, pages = 8192, many = 262144 };

static volatile char* memory_of[nodes];
static long loads[nodes][nodes], stores[nodes][nodes];

static void fail(const char* what) {
  fprintf(stderr, "known_accesses: %s: %s\n", what, strerror(errno));
  exit(2);
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

// Every page of `memory` must be on `node`; with `move` it is moved there first.
static void must_be_on(int node, volatile char* memory, int move) {
  static void* addresses[pages];
  static int to[pages], status[pages];
  for (int at = 0; at < pages; ++at) addresses[at] = (char*)memory + (size_t)at * page, to[at] = node;
  if (move && syscall(SYS_move_pages, 0, (unsigned long)pages, addresses, to, status, 2) != 0)
    fail("move_pages");
  if (syscall(SYS_move_pages, 0, (unsigned long)pages, addresses, NULL, status, 0) != 0) fail("move_pages");
  for (int at = 0; at < pages; ++at)
    if (status[at] != node) fail("a page is on another node");
}

static volatile char* memory_on(int node) {
  void* wanted = (char*)(uintptr_t)COUNTED_START + (size_t)node * pages * page;
  char* got = mmap(wanted, (size_t)pages * page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) fail("mmap");
  madvise(got, (size_t)pages * page, MADV_NOHUGEPAGE);
  const unsigned long mask = 1UL << node;
  if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 65UL) != 0) fail("set_mempolicy");
  for (int at = 0; at < pages; ++at) got[(size_t)at * page] = 1;
  if (syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL) != 0) fail("set_mempolicy");
  must_be_on(node, got, 0);
  return got;
}

// So many accesses, spread over all pages.
static void access_memory(volatile char* memory, long load, long store) {
  for (long at = 0; at < load; ++at) (void)memory[(size_t)(at * 61 % pages) * page + 64];
  for (long at = 0; at < store; ++at) memory[(size_t)(at * 61 % pages) * page + 128] = 1;
}

static void print_matrix(const char* name, long matrix[nodes][nodes]) {
  printf(", \"%s\": [", name);
  for (int from = 0; from < nodes; ++from) {
    printf(from == 0 ? "[" : ", [");
    for (int to = 0; to < nodes; ++to) printf(to == 0 ? "%ld" : ", %ld", matrix[from][to]);
    printf("]");
  }
  printf("]");
}

static void print_expected(void) {
  printf("{\"unknown\": 0");
  print_matrix("loads", loads);
  print_matrix("stores", stores);
  printf("}\n");
  memset(loads, 0, sizeof loads);
  memset(stores, 0, sizeof stores);
}

int main(void) {
  for (int node = 0; node < nodes; ++node) memory_of[node] = memory_on(node);
  marker_begin();
  for (int from = 0; from < nodes; ++from) {
    run_on_node(from);
    for (int to = 0; to < nodes; ++to) {
      loads[from][to] = 500 + 1000 * from + 100 * to;
      stores[from][to] = 1 + 10 * from + to;
      access_memory(memory_of[to], loads[from][to], stores[from][to]);
    }
  }
  marker_end();
  print_expected();
  run_on_node(0);
  marker_begin();
  access_memory(memory_of[6], many, 0);
  marker_end();
  loads[0][6] = many;
  print_expected();
  must_be_on(2, memory_of[6], 1);
  marker_begin();
  access_memory(memory_of[6], many, 0);
  marker_end();
  loads[0][2] = many;
  print_expected();
  return 0;
}
