/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The common parts of the trap programs. Each looks at itself (its threads' masks, its results), prints
 * "right" or the fault, and exits with 0 or 1. None knows of nigh: trap.sh runs it with a cure and without.
 */
#ifndef NIGH_TRAP_H
#define NIGH_TRAP_H

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The caller's real mask, past every libc wrapper. */
static inline int mask_size(void) {
  unsigned long words[128];
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof words, words);
  int n = 0;
  for (long i = 0; i < bytes * 8; i++) n += words[i / 64] >> (i % 64) & 1;
  return n;
}

/* The one CPU the caller may run on; -1: it may run on several. */
static inline int only_cpu(void) { return mask_size() == 1 ? sched_getcpu() : -1; }

static int trap_wrong;

static inline void expect(const char* what, long seen, long wanted) {
  if (seen == wanted) return;
  printf("wrong: %s is %ld, not %ld\n", what, seen, wanted);
  __atomic_store_n(&trap_wrong, 1, __ATOMIC_RELAXED);
}

static inline int verdict(void) {
  if (!trap_wrong) puts("right");
  fflush(stdout);
  return trap_wrong;
}

#endif
