// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The atomics that the protocols between ranks are made of, and what those protocols do besides: pause,
// yield, sleep, touch payload. In a build for the model checker (tests/model) NIGH_MODEL names a header that
// brings checked ones under the same names, so that the very code that runs between processes is explored in
// all its interleavings and with all the stale values that its memory orders allow.
#pragma once

#ifdef NIGH_MODEL
#include NIGH_MODEL
#else

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sys/futex.hpp"

namespace nigh::message {

template <class T>
using atomic = std::atomic<T>;

// Payload that another rank may look at is about to be read, or has been written (for the model).
inline void note_read(const void*, std::size_t) {}
inline void note_write(const void*, std::size_t) {}

// One look of a busy wait found nothing.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}
inline std::int64_t read_clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}
inline std::int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }
inline std::int64_t process_cpu_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
inline std::int64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
inline void yield_cpu() { sys::yield_cpu(); }
inline int current_cpu() { return sched_getcpu(); }

inline void sleep_on(const atomic<std::uint32_t>* word, std::uint32_t expected, long limit_ns) {
  sys::futex_wait(word, expected, limit_ns);
}
inline void wake_all(const atomic<std::uint32_t>* word) { sys::futex_wake_all(word); }

}  // namespace nigh::message
#endif
