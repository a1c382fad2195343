// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "space/trim.hpp"

#include <errno.h>
#include <malloc.h>

#include <atomic>

#include "space/budget.hpp"
#include "space/layout.hpp"
#include "space/sites.hpp"
#include "sys/raw_file.hpp"

extern "C" {
int nigh_je_mallctl(const char*, void*, size_t*, void*, size_t);
// Since glibc 2.33.
extern struct mallinfo2 mallinfo2(void) noexcept __attribute__((weak));
}

namespace nigh::space {

static constinit Budget g_returns{64 * kMiB, 16 * kMiB};
constexpr std::int64_t kLeastShare = 8;  // less than an eighth of the process's memory stays
constexpr int kSkips = 15;               // large blocks, after less than that was found; to ask takes 3 us
static constinit std::atomic<int> g_skips{0};
static constinit std::atomic<std::int64_t> g_idle{0};  // bytes of large blocks that are free in our heap

void trim_note(std::int64_t bytes) {
  if (g_idle.fetch_add(bytes, std::memory_order_relaxed) + bytes < 0)
    g_idle.store(0, std::memory_order_relaxed);
}

// Bytes of the process that are in memory.
static std::int64_t resident() {
  char text[128];
  const long got = sys::raw_read_file("/proc/self/statm", text, sizeof text);
  std::int64_t pages = 0;
  const char* at = text;
  const char* const end = text + (got > 0 ? got : 0);
  while (at < end && *at != ' ') ++at;  // the first number is the address space's
  for (++at; at < end && *at >= '0' && *at <= '9'; ++at) pages = 10 * pages + (*at - '0');
  return pages * kPage;
}

static bool may_return(std::int64_t bytes) {
  if (g_skips.load(std::memory_order_relaxed) > 0) {
    g_skips.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  if (bytes * kLeastShare >= resident()) return g_returns.pay(static_cast<std::size_t>(bytes));
  g_skips.store(kSkips, std::memory_order_relaxed);
  return false;
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
