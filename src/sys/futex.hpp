// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Sleeping on a word of memory that several processes share (futex(2), not private). A sleeper always gives a
// time limit: wakers don't fence, so a wake-up can be missed and then costs that long, and the sleeper can
// look whether its peer still lives.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "sys/raw.h"

namespace nigh::sys {

// Returns when woken, when the word is no longer `expected`, on a signal, or after the limit; the caller
// looks again.
inline void futex_wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, long limit_ns) {
  timespec limit = {.tv_sec = limit_ns / 1000000000, .tv_nsec = limit_ns % 1000000000};
  nigh_raw_syscall6(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT, static_cast<long>(expected),
                    reinterpret_cast<long>(&limit), 0, 0);
}

inline void futex_wake_all(const std::atomic<std::uint32_t>* word) {
  nigh_raw_syscall6(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

inline void yield_cpu() { nigh_raw_syscall6(SYS_sched_yield, 0, 0, 0, 0, 0, 0); }

}  // namespace nigh::sys
