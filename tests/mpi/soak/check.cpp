// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Failures and stalls. All threads' operations are reachable from the watchdog through a small table, because
// the signal arrives on whichever thread the kernel likes.
#include "check.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace soak {

namespace {
constexpr int most_threads = 64;
std::atomic<Where*> all[most_threads];
std::atomic<int> known = 0;
std::atomic<long> done = 0;
long seen = -1;
int patience = 0;

void enlist() {
  thread_local bool listed = false;
  if (listed) return;
  listed = true;
  int index = known.fetch_add(1);
  if (index < most_threads) all[index] = &where;
}

void on_alarm(int) {
  long now = done.load();
  if (now != seen) {
    seen = now;
    alarm(static_cast<unsigned>(patience));
    return;
  }
  for (int i = 0; i < known.load() && i < most_threads; ++i) {
    const Where* at = all[i].load();
    if (at == nullptr) continue;
    char text[512];
    int length =
        snprintf(text, sizeof text, "soak: STALL seed %llu rank %d batch %d pid %d: %s\n",
                 static_cast<unsigned long long>(at->seed), at->rank, at->batch, getpid(), at->operation);
    if (write(2, text, static_cast<std::size_t>(length)) < 0) _exit(3);
  }
  sleep(2);  // let the other ranks say theirs
  if (getenv("SOAK_STOP_ON_STALL") != nullptr) pause();
  _exit(3);
}
}  // namespace

thread_local Where where;

void operation(const char* format, ...) {
  enlist();
  va_list list;
  va_start(list, format);
  vsnprintf(where.operation, sizeof where.operation, format, list);
  va_end(list);
  static const bool trace = getenv("SOAK_TRACE") != nullptr;
  if (trace) fprintf(stderr, "soak: rank %d batch %d: %s\n", where.rank, where.batch, where.operation);
}

void fail(const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fprintf(stderr, "soak: FAIL seed %llu rank %d batch %d: %s: %s\n",
          static_cast<unsigned long long>(where.seed), where.rank, where.batch, where.operation, text);
  fflush(stderr);
  if (getenv("SOAK_CORE") != nullptr) abort();
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

void require(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("%.120s returned %d: %s", call, code, text);
}

void watch_for_stalls(int seconds) {
  patience = seconds;
  std::signal(SIGALRM, on_alarm);
  alarm(static_cast<unsigned>(seconds));
}
void progress() { done.fetch_add(1); }

}  // namespace soak
