/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of PUs as variables of the environment hold them, "0-5,8", for code in a user's process: plain C,
 * libc and nothing else. Nothing but digits, '-' and ',' is one.
 */
#ifndef NIGH_SYS_CPU_LIST_H
#define NIGH_SYS_CPU_LIST_H

/* Digits of a number up to `most`; -1: none, or a larger one. */
static inline long nigh_cpu_number(const char** at, long most) {
  long value = 0;
  const char* text = *at;
  if (*text < '0' || *text > '9') return -1;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + (*text - '0');
    if (value > most) return -1;
  }
  *at = text;
  return value;
}

/* The next range of the list at *at, which moves behind it. 0: that is no list. After the last, **at is 0. */
static inline int nigh_next_cpus(const char** at, long most, long* first, long* last) {
  *first = *last = nigh_cpu_number(at, most);
  if (*first >= 0 && **at == '-') {
    ++*at;
    *last = nigh_cpu_number(at, most);
  }
  if (*first < 0 || *last < *first || (**at != ',' && **at != '\0')) return 0;
  if (**at == '\0') return 1;
  ++*at;
  return **at != '\0';
}

#endif
