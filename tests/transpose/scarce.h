/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that gets no more memory than it has, but for a little. */
#ifndef NIGH_TESTS_SCARCE_H
#define NIGH_TESTS_SCARCE_H

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* So many bytes more; returns the limit before. Where /proc can't be read nothing is limited, and what a test
 * wants to fail succeeds. */
static rlim_t limit_memory(rlim_t room) {
  struct rlimit limit;
  unsigned long pages = 0;
  FILE* statm = fopen("/proc/self/statm", "r");
  const int told = statm != NULL && fscanf(statm, "%lu", &pages) == 1;
  if (statm != NULL) fclose(statm);
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  if (told) limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + room;
  setrlimit(RLIMIT_AS, &limit);
  return before;
}

static void unlimit_memory(rlim_t before) {
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_AS, &limit);
}

#endif
