/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of this process, and the most of it since the last question: the need of a transpose in place
 * beside the matrix is the difference. */
#ifndef NIGH_TESTS_RESIDENT_H
#define NIGH_TESTS_RESIDENT_H

#include <stdio.h>
#include <string.h>

/* KiB; name: "VmRSS:", or "VmHWM:", the most. -1: not told. */
static long resident(const char* name) {
  FILE* status = fopen("/proc/self/status", "r");
  char text[200];
  long out = -1;
  while (status != NULL && fgets(text, sizeof text, status) != NULL)
    if (strncmp(text, name, strlen(name)) == 0) sscanf(text + strlen(name), "%ld", &out);
  if (status != NULL) fclose(status);
  return out;
}

/* From now on. 0: the kernel refuses. */
static int forget_most_resident(void) {
  FILE* refs = fopen("/proc/self/clear_refs", "w");
  const int written = refs != NULL && fputs("5", refs) >= 0;
  return refs != NULL && fclose(refs) == 0 && written;
}

#endif
