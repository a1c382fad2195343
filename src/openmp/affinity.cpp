// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The affinity calls as the program makes them. Three rules:
//   - What the program sets on a thread is that thread's own mask from then on, in force until the thread
//   enters its next
//     region, where the plan binds it again; what the thread starts gets its own mask.
//   - Inside a region the program reads the truth. Outside, it reads the thread's own mask: that is what
//   anything it sizes by
//     the answer (a thread pool, OpenBLAS) will get.
//   - An OpenMP runtime that counts processors counts the thread's own mask, wherever it asks.
// Raw system calls are not seen.
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "openmp/callsite.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"

namespace nigh::preload {

static void note_set(bool self, size_t size, const cpu_set_t* set, void* caller) {
  if (!cured(Cure::kSetAffinity) || from_runtime(caller)) return;
  if (!self) {  // another thread's TLS is out of reach: all threads look again at their next region
    g.epoch.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (is_bound()) used(Cure::kSetAffinity);
  memset(&t.own, 0, sizeof t.own);
  memcpy(&t.own, set, size < sizeof t.own ? size : sizeof t.own);
  t.has_own = true;
  t.held = kKeep;
}

static void answer(bool self, size_t size, cpu_set_t* set, void* caller) {
  if (!self || !is_bound()) return;
  const bool runtime = from_runtime(caller);
  if (!runtime && t.node) return;
  if (!cure_now(runtime ? Cure::kNumProcs : Cure::kAffinity)) return;
  memset(set, 0, size);
  memcpy(set, &own_mask(), size < sizeof(Mask) ? size : sizeof(Mask));
}

static bool is_self(pid_t tid) { return tid == 0 || tid == nigh_raw_gettid(); }

}  // namespace nigh::preload

using namespace nigh::preload;

NIGH_EXPORT int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t* set) noexcept {
  const int rc = NIGH_NEXT(sched_setaffinity)(tid, size, set);
  if (rc == 0) note_set(is_self(tid), size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* set) noexcept {
  const int rc = NIGH_NEXT(pthread_setaffinity_np)(thread, size, set);
  if (rc == 0) note_set(pthread_equal(thread, pthread_self()), size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int sched_getaffinity(pid_t tid, size_t size, cpu_set_t* set) noexcept {
  const int rc = NIGH_NEXT(sched_getaffinity)(tid, size, set);
  if (rc == 0) answer(is_self(tid), size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t* set) noexcept {
  const int rc = NIGH_NEXT(pthread_getaffinity_np)(thread, size, set);
  if (rc == 0) answer(pthread_equal(thread, pthread_self()), size, set, __builtin_return_address(0));
  return rc;
}
