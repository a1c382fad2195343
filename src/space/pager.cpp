// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See pager.hpp. The kernel's view of the slot (protection, what is mapped) is changed only here, under one
// lock, together with the ranges that mirror it.
#include "space/pager.hpp"

#include "space/huge.hpp"
#include "space/limits.hpp"
#include "space/sites.hpp"
#include "space/slot.hpp"

namespace nigh::space {

static constinit Lock g_lock;
static constinit Ranges g_free;      // of the slot
static constinit Ranges g_holes;     // of the slot, in use, but mapped over by others
static constinit Ranges g_overflow;  // free addresses of the overflow range
static constinit std::uint64_t g_used = 0;

constexpr std::size_t kCheckedBytes = std::size_t{1} << 20;  // below this no limit is asked for

void pager_start() {
  const MemoryState& s = g_slot.state;
  g_free.add(s.origin + kHeaderBytes, s.slot + s.span);
  g_overflow.add(kOverflowFirst, kOverflowEnd);
}

// The file's pages, or after a fork fresh ones, at their place. `how`: MAP_FIXED or MAP_FIXED_NOREPLACE.
static bool lay(std::uintptr_t lo, std::size_t bytes, int prot, int how) {
  const MemoryState& s = g_slot.state;
  if (g_slot.private_now)
    return sys::raw_map(lo, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0) == static_cast<long>(lo);
  if (!fd_is_ours()) return false;  // closed by the program: the slot can't grow any more
  const long at =
      sys::raw_map(lo, bytes, prot, MAP_SHARED | MAP_NORESERVE | how, s.fd, static_cast<long>(lo - s.slot));
  if (at == static_cast<long>(lo)) huge_opened(lo, bytes);
  return at == static_cast<long>(lo);
}

// Opens a range that is free. The caller holds the lock.
static bool open_range(std::uintptr_t lo, std::size_t bytes, int prot) {
  if (!g_free.remove(lo, lo + bytes)) return false;
  if (!lay(lo, bytes, prot, MAP_FIXED_NOREPLACE)) {
    g_free.add(lo, lo + bytes);
    return false;
  }
  g_used += bytes;
  g_slot.count.extents.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Gives the pages back. Older kernels want the range to be writable for it.
static bool empty_range(std::uintptr_t lo, std::size_t bytes) {
  huge_forget(lo, bytes);
  sites_emptied(lo, bytes);
  if (g_slot.private_now) return sys::raw_advise(lo, bytes, MADV_DONTNEED) == 0;
  return sys::raw_advise(lo, bytes, MADV_REMOVE) == 0;
}

// The same for a range of which parts may not be mapped, or not be ours: then by the file, since what lies
// over a hole may be a file of the program.
static void empty_file(std::uintptr_t lo, std::size_t bytes) {
  huge_forget(lo, bytes);
  sites_emptied(lo, bytes);
  if (g_slot.private_now) return;
  if (!g_holes.touches(lo, lo + bytes)) {
    const long rc = sys::raw_advise(lo, bytes, MADV_REMOVE);
    if (rc == 0 || rc == -ENOMEM) return;  // ENOMEM: parts were not mapped, the others are done
  }
  if (fd_is_ours()) sys::raw_punch(g_slot.state.fd, lo - g_slot.state.slot, bytes);
}

static void close_range(std::uintptr_t lo, std::size_t bytes) {
  empty_file(lo, bytes);
  if (g_slot.nodes > 1 && !g_holes.touches(lo, lo + bytes)) sys::raw_default_policy(lo, bytes);
  sys::raw_unmap(lo, bytes);
  g_holes.remove(lo, lo + bytes);
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
  const std::uint64_t before = g_free.bytes();
  close_range(lo, bytes);
  if (g_free.add(lo, lo + bytes)) g_used -= g_free.bytes() - before;
}

bool pager_empty(std::uintptr_t lo, std::size_t bytes) { return empty_range(lo, bytes); }

bool pager_renew(std::uintptr_t lo, std::size_t bytes, int prot) {
  Holding lock(g_lock);
  if (!fd_is_ours()) return false;
  empty_file(lo, bytes);
  if (!lay(lo, bytes, prot, MAP_FIXED)) return false;
  const std::uint64_t before = g_free.bytes();
  g_free.remove(lo, lo + bytes);
  g_holes.remove(lo, lo + bytes);
  g_used += before - g_free.bytes();
  return true;
}

void pager_note_hole(std::uintptr_t lo, std::size_t bytes) {
  {
    Holding lock(g_lock);
    const std::uint64_t before = g_free.bytes();
    g_free.remove(lo, lo + bytes);
    g_used += before - g_free.bytes();
    g_holes.add(lo, lo + bytes);
    empty_file(lo, bytes);
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
const Ranges& pager_holes() { return g_holes; }

}  // namespace nigh::space
