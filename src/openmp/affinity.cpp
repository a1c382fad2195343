// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The affinity calls as the program makes them. Four rules:
//   - What the program sets on a thread is that thread's own mask from then on, in force until the thread
//   enters its next
//     region, where the plan binds it again; what the thread starts gets its own mask.
//   - Inside a region the program reads the truth. Outside, it reads the thread's own mask: that is what
//   anything it sizes
//     by the answer (a thread pool, OpenBLAS) will get.
//   - An OpenMP runtime that counts processors counts the thread's own mask, wherever it asks.
//   - Attributes of a thread (pthread_getattr_np) are there to make others like it: they always tell its own
//   mask.
// Raw system calls are not seen here; outside.cpp notices what they change.
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "openmp/automatic.hpp"
#include "openmp/callsite.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/libc.hpp"
#include "openmp/pins.hpp"

namespace nigh::preload {

static void note_set(bool self, size_t size, const cpu_set_t* set, void* caller) {
  if (!cured(Cure::kSetAffinity) || from_runtime(caller)) return;
  if (!self) {  // another thread's own mask is its own to write: all threads look again at their next region
    g.epoch.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (is_bound() || t.node) automatic_off("the program binds its threads itself");
  if (is_bound()) used(Cure::kSetAffinity);
  memset(&t.own, 0, sizeof t.own);
  memcpy(&t.own, set, size < sizeof t.own ? size : sizeof t.own);
  t.has_own = true;
  t.held = kKeep;
}

// `whose`: null for a thread that we don't know.
static bool bound(const Thread* whose) { return whose && whose->held > kKeep; }
static const Mask& own_of(const Thread& thread) { return thread.has_own ? thread.own : home(); }

static void answer(const Thread* whose, size_t size, cpu_set_t* set, void* caller) {
  if (!bound(whose)) return;
  const bool runtime = from_runtime(caller);
  if (!runtime && whose->node) return;
  if (!cure_now(runtime ? Cure::kNumProcs : Cure::kAffinity)) return;
  memset(set, 0, size);
  memcpy(set, &own_of(*whose), size < sizeof(Mask) ? size : sizeof(Mask));
}

// Our variable in another thread lies as far from its handle as ours from our own: both are in the thread's
// static block. Only a thread that was bound has noted its handle there, and only of such a thread is there
// anything to tell.
static const Thread* thread_of(pthread_t thread) {
  const auto self = (uintptr_t)pthread_self(), other = (uintptr_t)thread;
  if (other == self) return &t;
  const auto* there = reinterpret_cast<const Thread*>(reinterpret_cast<uintptr_t>(&t) + (other - self));
  return there->self == other ? there : nullptr;
}

static bool is_self(pid_t tid) { return tid == 0 || tid == nigh_raw_gettid(); }
static const Thread* thread_of_number(pid_t tid) {
  return is_self(tid) ? &t : tid == getpid() ? g.initial : nullptr;
}

}  // namespace nigh::preload

using namespace nigh::preload;

NIGH_EXPORT int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t* set) noexcept {
  if (is_self(tid) && from_runtime(__builtin_return_address(0)) && leave_out_pin()) return 0;
  const int rc = NIGH_NEXT(sched_setaffinity)(tid, size, set);
  if (rc == 0) note_set(is_self(tid), size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* set) noexcept {
  const bool self = pthread_equal(thread, pthread_self());
  if (self && from_runtime(__builtin_return_address(0)) && leave_out_pin()) return 0;
  const int rc = NIGH_NEXT(pthread_setaffinity_np)(thread, size, set);
  if (rc == 0) note_set(self, size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int sched_getaffinity(pid_t tid, size_t size, cpu_set_t* set) noexcept {
  const int rc = NIGH_NEXT(sched_getaffinity)(tid, size, set);
  if (rc == 0) answer(thread_of_number(tid), size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t* set) noexcept {
  const int rc = NIGH_NEXT(pthread_getaffinity_np)(thread, size, set);
  if (rc == 0) answer(thread_of(thread), size, set, __builtin_return_address(0));
  return rc;
}

NIGH_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t* attr) noexcept {
  const int rc = NIGH_NEXT(pthread_getattr_np)(thread, attr);
  if (rc || !bound(thread_of(thread)) || !cure_now(Cure::kAttributes)) return rc;
  const Mask& own = own_of(*thread_of(thread));
  pthread_attr_setaffinity_np(attr, sizeof own.word, reinterpret_cast<const cpu_set_t*>(own.word));
  return rc;
}
