// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See pager.hpp. The kernel's view of the slot (protection, what is mapped) is changed only here, under one
// lock, together with the ranges that mirror it.
#include "space/pager.hpp"

#include "space/huge.hpp"
#include "space/limits.hpp"
#include "space/slot.hpp"

namespace nigh::space {

static constinit Lock g_lock;
static constinit Ranges g_free;      // of the slot
static constinit Ranges g_holes;     // of the slot, in use, but mapped over by others
static constinit Ranges g_overflow;  // free addresses of the overflow range
static constinit std::uint64_t g_used = 0;

constexpr std::size_t kCheckedBytes = std::size_t{1} << 20;  // below this no limit is asked for
constexpr int kOpen = PROT_READ | PROT_WRITE;

void pager_start() {
  const MemoryState& s = g_slot.state;
  sys::raw_protect(s.origin, kHeaderBytes, kOpen);
  g_free.add(s.origin + kHeaderBytes, s.slot + s.span);
  g_overflow.add(kOverflowFirst, kOverflowEnd);
}

// Opens a range that is free. The caller holds the lock.
static bool open_range(std::uintptr_t lo, std::size_t bytes, int prot) {
  if (!g_free.remove(lo, lo + bytes)) return false;
  const bool mapped =
      g_slot.private_now
          ? !sys::is_error(sys::raw_map(lo, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))
          : sys::raw_protect(lo, bytes, prot) == 0;
  if (!mapped) {  // too many mappings
    g_free.add(lo, lo + bytes);
    return false;
  }
  if (!g_slot.private_now) {
    sys::raw_advise(lo, bytes, MADV_DODUMP);
    huge_opened(lo, bytes);
  }
  g_used += bytes;
  g_slot.count.extents.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Gives the pages back. Older kernels want the range to be writable for it.
static bool empty_range(std::uintptr_t lo, std::size_t bytes) {
  huge_forget(lo, bytes);
  if (g_slot.private_now) return sys::raw_advise(lo, bytes, MADV_DONTNEED) == 0;
  return sys::raw_advise(lo, bytes, MADV_REMOVE) == 0;
}

static bool empty_closed(std::uintptr_t lo, std::size_t bytes) {
  if (empty_range(lo, bytes)) return true;
  sys::raw_protect(lo, bytes, kOpen);
  return empty_range(lo, bytes);
}

// Lays the memfd over holes again, closed. False: the descriptor is gone, the hole stays.
static bool close_holes(std::uintptr_t lo, std::uintptr_t hi) {
  if (!g_holes.touches(lo, hi)) return true;
  if (!fd_is_ours()) return false;
  const long at = sys::raw_map(lo, hi - lo, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                               g_slot.state.fd, static_cast<long>(lo - g_slot.state.slot));
  if (sys::is_error(at)) return false;
  sys::raw_advise(lo, hi - lo, MADV_DONTDUMP);
  g_holes.remove(lo, hi);
  return true;
}

static void close_range(std::uintptr_t lo, std::size_t bytes) {
  if (g_slot.private_now) {
    sys::raw_unmap(lo, bytes);
    return;
  }
  empty_closed(lo, bytes);
  if (g_slot.nodes > 1) sys::raw_default_policy(lo, bytes);
  sys::raw_protect(lo, bytes, PROT_NONE);
  sys::raw_advise(lo, bytes, MADV_DONTDUMP);
}

std::uintptr_t pager_take(std::size_t bytes, std::size_t align, int prot) {
  if (bytes == 0 || bytes > g_slot.state.span) return 0;
  const bool reservation = prot == PROT_NONE;
  if (bytes >= kCheckedBytes && !reservation && !affordable(bytes, g_used)) return 0;
  Holding lock(g_lock);
  const std::uintptr_t lo = g_free.fit(bytes, align);
  return lo != 0 && open_range(lo, bytes, prot) ? lo : 0;
}

bool pager_take_at(std::uintptr_t lo, std::size_t bytes, int prot) {
  if (bytes >= kCheckedBytes && !affordable(bytes, g_used)) return false;
  Holding lock(g_lock);
  return g_free.contains(lo, lo + bytes) && open_range(lo, bytes, prot);
}

// Parts that are free already stay as they are: munmap of nothing succeeds.
void pager_give(std::uintptr_t lo, std::size_t bytes) {
  Holding lock(g_lock);
  const std::uintptr_t hi = lo + bytes;
  if (!close_holes(lo, hi)) {
    sys::raw_protect(lo, bytes, PROT_NONE);
    return;
  }
  const std::uint64_t before = g_free.bytes();
  close_range(lo, bytes);
  if (g_free.add(lo, hi)) g_used -= g_free.bytes() - before;
}

bool pager_empty(std::uintptr_t lo, std::size_t bytes) { return empty_range(lo, bytes); }

bool pager_renew(std::uintptr_t lo, std::size_t bytes, int prot) {
  Holding lock(g_lock);
  if (!close_holes(lo, lo + bytes)) return false;
  empty_closed(lo, bytes);
  const std::uint64_t before = g_free.bytes();
  if (!g_free.remove(lo, lo + bytes)) return false;
  g_used += before - g_free.bytes();
  if (sys::raw_protect(lo, bytes, prot) != 0) return false;
  sys::raw_advise(lo, bytes, MADV_DODUMP);
  huge_opened(lo, bytes);
  return true;
}

void pager_note_hole(std::uintptr_t lo, std::size_t bytes) {
  {
    Holding lock(g_lock);
    const std::uint64_t before = g_free.bytes();
    g_free.remove(lo, lo + bytes);
    g_used += before - g_free.bytes();
    g_holes.add(lo, lo + bytes);
    huge_forget(lo, bytes);
    if (fd_is_ours()) sys::raw_punch(g_slot.state.fd, lo - g_slot.state.slot, bytes);
  }
  g_slot.count.holes.fetch_add(1, std::memory_order_relaxed);
  patched();
}

bool pager_is_ours(std::uintptr_t lo, std::size_t bytes) {
  Holding lock(g_lock);
  return !g_free.touches(lo, lo + bytes) && !g_holes.touches(lo, lo + bytes);
}

bool pager_has_hole(std::uintptr_t lo, std::size_t bytes) {
  Holding lock(g_lock);
  return g_holes.touches(lo, lo + bytes);
}

std::uint64_t pager_used() { return g_used; }

// Private memory, as malloc would have had it without us: the kernel refuses what it would have refused.
static std::uintptr_t take_overflow(std::size_t bytes, std::size_t align) {
  Holding lock(g_lock);
  for (int tries = 0; tries < 64; ++tries) {
    const std::uintptr_t lo = g_overflow.fit(bytes, align);
    if (lo == 0) return 0;
    const long at = sys::raw_map(lo, bytes, kOpen, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != static_cast<long>(lo) && at != -EEXIST) return 0;
    g_overflow.remove(lo, lo + bytes);  // ours now, or somebody else's
    if (at != static_cast<long>(lo)) continue;
    g_slot.count.private_extents.fetch_add(1, std::memory_order_relaxed);
    g_slot.count.private_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return lo;
  }
  return 0;
}

std::uintptr_t pager_heap(std::uintptr_t hint, std::size_t bytes) {
  if (hint != 0 && in_slot(hint, bytes) && pager_take_at(hint, bytes, kOpen)) return hint;
  const std::size_t align = bytes >= kHugePage ? kHugePage : kPage;
  const std::uintptr_t lo = pager_take(bytes, align, kOpen);
  return lo != 0 ? lo : take_overflow(bytes, align);
}

void pager_heap_give(std::uintptr_t lo, std::size_t bytes) {
  if (in_slot(lo, bytes)) {
    pager_give(lo, bytes);
    return;
  }
  sys::raw_unmap(lo, bytes);
  Holding lock(g_lock);
  g_overflow.add(lo, lo + bytes);
}

void pager_before_fork() { g_lock.lock(); }
void pager_after_fork() { g_lock.unlock(); }
void pager_in_child() { g_lock.reset(); }
const Ranges& pager_free() { return g_free; }

}  // namespace nigh::space
