// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "space/trim.hpp"

#include <errno.h>
#include <malloc.h>
#include <time.h>

#include <atomic>

#include "space/sites.hpp"

extern "C" {
int nigh_je_mallctl(const char*, void*, size_t*, void*, size_t);
// Since glibc 2.33.
extern struct mallinfo2 mallinfo2(void) noexcept __attribute__((weak));
}

namespace nigh::space {

constexpr std::int64_t kFirst = std::int64_t{64} << 20, kEachSecond = std::int64_t{16} << 20;
static constinit std::atomic<std::int64_t> g_idle{0};  // bytes of large blocks that are free in our heap
static constinit std::atomic<std::int64_t> g_returned{0};

void trim_note(std::int64_t bytes) {
  if (g_idle.fetch_add(bytes, std::memory_order_relaxed) + bytes < 0)
    g_idle.store(0, std::memory_order_relaxed);
}

static bool may_return(std::int64_t bytes) {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const std::int64_t earned = (used.tv_sec * 1000 + used.tv_nsec / 1'000'000) * kEachSecond / 1000;
  if (g_returned.load(std::memory_order_relaxed) + bytes > kFirst + earned) return false;
  g_returned.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void trim_for_ours(std::uintptr_t lo, std::size_t bytes) {
  if (!is_new_memory(lo, bytes)) return trim_note(-static_cast<std::int64_t>(bytes));
  if (&mallinfo2 == nullptr) return;
  const std::size_t idle = mallinfo2().keepcost;  // at the top of libc's heap
  if (idle < bytes || !may_return(static_cast<std::int64_t>(idle))) return;
  const int saved = errno;
  malloc_trim(0);
  errno = saved;
}

void trim_for_libcs(std::size_t bytes) {
  const std::int64_t idle = g_idle.load(std::memory_order_relaxed);
  if (idle < static_cast<std::int64_t>(bytes) || !may_return(idle)) return;
  g_idle.store(0, std::memory_order_relaxed);
  nigh_je_mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // of all arenas
}

}  // namespace nigh::space
