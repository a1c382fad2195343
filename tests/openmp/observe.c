/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Called by a thread inside nested regions, from C or Fortran: prints its path and the PUs it may run on as
 * the kernel says, "0.1 : 4", one line in one write. Compiled as it is, never instrumented. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

void observe(void) {
  char line[1024];
  int at = 0, levels = omp_get_level();
  cpu_set_t mask;
  for (int level = 1; level <= levels; ++level)
    at += sprintf(line + at, "%s%d", level > 1 ? "." : "", omp_get_ancestor_thread_num(level));
  at += sprintf(line + at, " :");
  sched_getaffinity(0, sizeof mask, &mask);
  for (int pu = 0; pu < CPU_SETSIZE && at < 1000; ++pu)
    if (CPU_ISSET(pu, &mask)) at += sprintf(line + at, " %d", pu);
  line[at++] = '\n';
  if (write(1, line, (size_t)at) != at) _exit(9);
}

void observe_(void) { observe(); }
