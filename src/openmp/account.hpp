// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The account that --explain prints at the end: findings, actions and observations. Nothing is collected
// unless NIGH_EXPLAIN is set.
#pragma once

#include <atomic>

#include "openmp/core.hpp"

namespace nigh::preload {

// Observations at one node: the number of entries, the PU on which the thread then really was, and its
// caller.
struct Visits {
  static constexpr int kThreads = 16;
  std::atomic<unsigned> count;
  std::atomic<unsigned> elsewhere;  // entries on another PU than planned
  std::atomic<int> seen;            // the last PU seen + 1
  std::atomic<int> thread[kThreads];
  std::atomic<unsigned> more_threads;  // entries by threads that did not fit in there
};

void account_begin(char* wish);  // the value of NIGH_EXPLAIN, in place
void account_end();
void account_forget();  // in a forked child: its own account starts empty
void account_stripped(const char* entry);
void account_runtime(const char* name, const char* path, const char* version);
void account_bound(int place);
void account_refused();
void account_thread_made(void* caller);

// A copy of the counters, for printing.
struct Tally {
  unsigned outer, inner, bindings, refused, threads, moved;
};
Tally account_tally();

struct Runtime {
  const char* name;
  char path[512];
  char version[64];
};
constexpr int kRuntimes = 4;
int account_runtimes(const Runtime** list);
int account_stripped_entries(const char* const** list);

// Every root there is, for every plan: account_print walks the trees.
const Plan* all_plans();

void print_account(bool json);

}  // namespace nigh::preload
