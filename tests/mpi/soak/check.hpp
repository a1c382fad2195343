// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The report of a failure: the seed, the rank, the batch, the operation in words, and the fault; then the job
// is aborted. The operation that is under way is kept in plain sight, so that the watchdog of a hanging job
// can name it from a signal handler.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace soak {

struct Where {  // one per thread that communicates
  std::uint64_t seed = 0;
  int rank = 0;
  int batch = 0;
  char operation[256] = "start";
};
extern thread_local Where where;

void operation(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
void require(int code, const char* call);  // an MPI call that must succeed
#define MPI_OK(call) ::soak::require((call), #call)
#define EXPECT(condition)                                     \
  do {                                                        \
    if (!(condition)) ::soak::fail("not so: %s", #condition); \
  } while (false)

// Aborts the job with its operations in words when no batch ends for `seconds`.
void watch_for_stalls(int seconds);
void progress();

}  // namespace soak
