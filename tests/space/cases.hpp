// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One program, many cases, one per process: each prints what a program can observe and nothing that depends
// on addresses or time, so that its output with the library preloaded must equal its output without.
#pragma once

#include <unistd.h>
#include <cstdio>
#include <cstdlib>

struct Case {
  const char* name;
  void (*run)();
  Case* next;
  Case(const char* name, void (*run)());
};

#define CASE(name)                                 \
  static void case_##name();                       \
  static Case register_##name(#name, case_##name); \
  static void case_##name()

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(stdout);                                                \
      _exit(1);                                                           \
    }                                                                     \
  } while (0)

// True if the space is expected to be on here (the suite says so), and if an address is in our slot.
bool expect_shared();
bool in_slot(const void* data);
// Runs `access` and tells whether it was a fault.
bool faults(void (*access)(volatile char*), void* data);
inline void read_byte(volatile char* at) { (void)*at; }
inline void write_byte(volatile char* at) { *at = 1; }
// The exit status of a child; 1000 + signal if one ended it.
int status_of(pid_t child);
