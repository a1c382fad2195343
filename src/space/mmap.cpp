// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The program's own mmap and its kin. Anonymous private memory comes from the slot and behaves as the
// kernel's does; everything else is the kernel's, untouched: shared, huge, low, growing or locked memory,
// code (a program that makes code must not have it where peers write), files, and whatever wants an address
// outside the slot. Something of that kind laid over the slot by MAP_FIXED is a hole, which peers don't see.
// The same calls made by syscall() come here, too (syscall.S), and with them those of libraries that have put
// themselves in the place of these functions.
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "space/huge.hpp"
#include "space/libc_heap.hpp"
#include "space/pager.hpp"
#include "space/sites.hpp"
#include "space/slot.hpp"
#include "sys/raw_file.hpp"

#define NIGH_ENTRY __attribute__((visibility("default")))

namespace nigh::space {

constexpr std::uintptr_t kFailed = ~std::uintptr_t{0};

static std::uintptr_t answer(long value) {
  if (!sys::is_error(value)) return static_cast<std::uintptr_t>(value);
  errno = static_cast<int>(-value);
  return kFailed;
}
static int status(long value) {
  if (!sys::is_error(value)) return 0;
  errno = static_cast<int>(-value);
  return -1;
}

static std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }
static bool bad_range(std::uintptr_t lo, std::size_t bytes) {
  return (lo & (kPage - 1)) != 0 || bytes == 0 || pages(bytes) < bytes || lo + pages(bytes) < lo;
}
// The slot takes part: it is on, and shared (in the child of a fork everything is the kernel's).
static bool active() {
  return (phase() != Phase::unborn || start() == Phase::on) && phase() == Phase::on && !g_slot.private_now;
}

// The part of [lo, hi) within the slot.
static Range in_part(std::uintptr_t lo, std::size_t bytes) {
  const MemoryState& s = g_slot.state;
  Range part = {.lo = lo, .hi = lo + bytes};
  if (part.lo < s.slot) part.lo = s.slot;
  if (part.hi > s.slot + s.span) part.hi = s.slot + s.span;
  if (part.lo >= part.hi) part = {};
  return part;
}

static bool is_ordinary(int prot, int flags) {
  constexpr int special = MAP_SHARED | MAP_HUGETLB | MAP_32BIT | MAP_GROWSDOWN | MAP_LOCKED;
  return (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_PRIVATE) != 0 && (flags & special) == 0 &&
         (prot & PROT_EXEC) == 0;
}

static std::uintptr_t mapped(std::uintptr_t lo, std::size_t bytes, int flags) {
  if ((flags & MAP_POPULATE) != 0) sys::raw_advise(lo, bytes, sys::kPopulateWrite);
  return lo;
}

// At an address within the slot that the program insists on.
static std::uintptr_t map_fixed(std::uintptr_t lo, std::size_t bytes, int prot, int flags, int fd,
                                long offset) {
  const Range part = in_part(lo, bytes);
  const bool inside = part.lo == lo && part.hi == lo + bytes;
  if ((flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE) {
    if (inside && is_ordinary(prot, flags) && pager_take_at(lo, bytes, prot)) return mapped(lo, bytes, flags);
    const std::uintptr_t other = answer(sys::raw_map(lo, bytes, prot, flags, fd, offset));
    if (other == lo) pager_note_hole(part.lo, part.hi - part.lo);
    return other;
  }
  if (inside && is_ordinary(prot, flags) && pager_renew(lo, bytes, prot)) return mapped(lo, bytes, flags);
  const std::uintptr_t at = answer(sys::raw_map(lo, bytes, prot, flags, fd, offset));
  if (at == lo) pager_note_hole(part.lo, part.hi - part.lo);
  return at;
}

static std::uintptr_t map(std::uintptr_t hint, std::size_t bytes, int prot, int flags, int fd, long offset) {
  constexpr int insists = MAP_FIXED | MAP_FIXED_NOREPLACE;
  const bool sound = bytes != 0 && pages(bytes) >= bytes;
  if (!active() || !sound || is_libcs_mapping(flags))
    return answer(sys::raw_map(hint, bytes, prot, flags, fd, offset));
  if ((flags & insists) != 0) {
    const bool there = (hint & (kPage - 1)) == 0 && in_part(hint, pages(bytes)).hi != 0;
    if (there) return map_fixed(hint, pages(bytes), prot, flags, fd, offset);
    return answer(sys::raw_map(hint, bytes, prot, flags, fd, offset));
  }
  const std::size_t whole = pages(bytes);
  const bool ordinary =
      is_ordinary(prot, flags) && whole <= g_slot.total && (hint == 0 || in_slot(hint, whole));
  const Site site = ordinary ? site_of(0, whole) : Site{};
  if (ordinary && (!site.is_shared() || !site_affords(site, 0, whole))) {
    const std::uintptr_t at =
        answer(sys::raw_map(in_slot(hint, whole) ? 0 : hint, bytes, prot, flags, fd, offset));
    if (at != kFailed) site_made(site, at, whole);
    return at;
  }
  if (ordinary) {
    const std::uintptr_t wish = hint & ~(kPage - 1);
    if (wish != 0 && pager_take_at(wish, whole, prot)) return mapped(wish, whole, flags);
    const std::uintptr_t lo = pager_take(whole, whole >= kHugePage ? kHugePage : kPage, prot);
    if (lo != 0) {
      site_made(site, lo, whole);
      return mapped(lo, whole, flags);
    }
    g_slot.count.private_extents.fetch_add(1, std::memory_order_relaxed);
    g_slot.count.private_bytes.fetch_add(whole, std::memory_order_relaxed);
  }
  return answer(sys::raw_map(in_slot(hint, whole) ? 0 : hint, bytes, prot, flags, fd, offset));
}

static int unmap(std::uintptr_t lo, std::size_t bytes) {
  const Range part = !active() || bad_range(lo, bytes) ? Range{} : in_part(lo, pages(bytes));
  if (part.hi == 0) return status(sys::raw_unmap(lo, bytes));
  const std::uintptr_t hi = lo + pages(bytes);
  // The header and the colour in front of it are nobody's to unmap.
  const std::uintptr_t first = g_slot.state.origin + kHeaderBytes;
  const std::uintptr_t from = part.lo > first ? part.lo : first;
  if (from < part.hi) site_freed(from, part.hi - from);
  if (from < part.hi) pager_give(from, part.hi - from);
  if (lo < part.lo) sys::raw_unmap(lo, part.lo - lo);
  if (part.hi < hi) sys::raw_unmap(part.hi, hi - part.hi);
  return 0;
}

// The protection of the page at `address`; -1: nothing is mapped there.
static int protection(std::uintptr_t address) {
  sys::RawLines lines("/proc/self/maps");
  sys::RawMapping map;
  while (const char* line = lines.next())
    if (sys::parse_mapping(line, map) && map.lo <= address && address < map.hi) return map.prot;
  return lines.ok() ? -1 : PROT_READ | PROT_WRITE;
}

// Copies what was ever touched. The descriptor tells it; without it all is copied.
static void copy_data(std::uintptr_t from, std::uintptr_t to, std::size_t bytes) {
  const std::uint64_t begin = from - g_slot.state.slot, end = begin + bytes;
  if (!fd_is_ours()) {
    __builtin_memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return;
  }
  for (std::uint64_t at = begin; at < end;) {
    const long data = sys::raw_seek_data(g_slot.state.fd, at);
    if (data < 0 || static_cast<std::uint64_t>(data) >= end) return;
    auto hole =
        static_cast<std::uint64_t>(sys::raw_seek_hole(g_slot.state.fd, static_cast<std::uint64_t>(data)));
    if (hole > end) hole = end;
    const std::uint64_t first = static_cast<std::uint64_t>(data) - begin;
    __builtin_memcpy(reinterpret_cast<void*>(to + first), reinterpret_cast<void*>(from + first),
                     hole - static_cast<std::uint64_t>(data));
    at = hole;
  }
}

struct Move {
  std::uintptr_t from;
  std::size_t old_bytes, bytes;
  int flags;
  std::uintptr_t to;
};

// Shared mappings can't be moved to another place of the file, so the data moves.
static std::uintptr_t move(const Move& m, int prot) {
  const bool keep_old = (m.flags & MREMAP_DONTUNMAP) != 0;
  std::uintptr_t to = 0;
  if ((m.flags & MREMAP_FIXED) != 0)
    to = map(m.to, m.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  else
    to = map(0, m.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (to == kFailed) return to;
  const std::size_t kept = m.old_bytes < m.bytes ? m.old_bytes : m.bytes;
  if ((prot & PROT_READ) == 0) sys::raw_protect(m.from, m.old_bytes, PROT_READ | PROT_WRITE);
  copy_data(m.from, to, kept);
  if (keep_old) {
    pager_empty(m.from, m.old_bytes);
    sys::raw_protect(m.from, m.old_bytes, prot);
  } else {
    pager_give(m.from, m.old_bytes);
  }
  if (prot != (PROT_READ | PROT_WRITE)) sys::raw_protect(to, m.bytes, prot);
  return to;
}

static std::uintptr_t remap_in_slot(Move m) {
  constexpr int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  const bool may_move = (m.flags & MREMAP_MAYMOVE) != 0, fixed = (m.flags & MREMAP_FIXED) != 0;
  if ((m.flags & ~known) != 0 || ((fixed || (m.flags & MREMAP_DONTUNMAP) != 0) && !may_move))
    return answer(-EINVAL);
  if (m.old_bytes == 0 || m.bytes == 0 || pages(m.bytes) < m.bytes) return answer(-EINVAL);
  m.old_bytes = pages(m.old_bytes);
  m.bytes = pages(m.bytes);
  if (!pager_is_ours(m.from, m.old_bytes)) return answer(-EFAULT);
  if (fixed && m.to < m.from + m.old_bytes && m.from < m.to + m.bytes) return answer(-EINVAL);
  if ((m.flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) == 0) {
    if (m.bytes < m.old_bytes) pager_give(m.from + m.bytes, m.old_bytes - m.bytes);
    if (m.bytes <= m.old_bytes) return m.from;
    const int prot = protection(m.from);
    if (pager_take_at(m.from + m.old_bytes, m.bytes - m.old_bytes, prot)) return m.from;
    if (!may_move) return answer(-ENOMEM);
    return move(m, prot);
  }
  return move(m, protection(m.from));
}

static std::uintptr_t remap(const Move& m) {
  if (!active() || bad_range(m.from, m.old_bytes == 0 ? 1 : m.old_bytes))
    return answer(sys::raw_remap(m.from, m.old_bytes, m.bytes, m.flags, m.to));
  const std::size_t old_bytes = pages(m.old_bytes);
  if (in_slot(m.from, old_bytes) && !pager_has_hole(m.from, old_bytes)) return remap_in_slot(m);
  const std::uintptr_t at = answer(sys::raw_remap(m.from, m.old_bytes, m.bytes, m.flags, m.to));
  if (at != kFailed) {
    const Range part = in_part(at, pages(m.bytes));
    if (part.hi != 0) pager_note_hole(part.lo, part.hi - part.lo);
  }
  return at;
}

// Advice that only private memory can have (the child of a fork finds zeros): the kernel's memory is laid
// there.
static int wipe_on_fork(std::uintptr_t lo, std::size_t bytes) {
  if (!pager_is_ours(lo, bytes)) return status(-ENOMEM);
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  const long aside = sys::raw_map(0, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (sys::is_error(aside)) return status(aside);
  const auto from = static_cast<std::uintptr_t>(aside);
  const int prot = protection(lo);
  copy_data(lo, from, bytes);
  if (prot != (PROT_READ | PROT_WRITE)) sys::raw_protect(from, bytes, prot);
  const long at = sys::raw_remap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, lo);
  if (sys::is_error(at)) return status(at);
  pager_note_hole(lo, bytes);
  return status(sys::raw_advise(lo, bytes, MADV_WIPEONFORK));
}

static int advise(std::uintptr_t lo, std::size_t bytes, int advice) {
  if (!active() || bad_range(lo, bytes) || !in_slot(lo, pages(bytes)) || pager_has_hole(lo, pages(bytes)))
    return status(sys::raw_advise(lo, bytes, advice));
  bytes = pages(bytes);
  switch (advice) {
    case MADV_DONTNEED:
    case sys::kDontNeedLocked:
    case MADV_FREE:  // may be lost at any time: now
      if (!pager_is_ours(lo, bytes)) return status(-ENOMEM);
      return pager_empty(lo, bytes) ? 0 : status(-EINVAL);
    case MADV_REMOVE: return status(-EINVAL);  // as for private memory
    case MADV_WIPEONFORK: return wipe_on_fork(lo, bytes);
    case MADV_KEEPONFORK: return 0;
    case MADV_HUGEPAGE: {
      const int rc = status(sys::raw_advise(lo, bytes, advice));
      if (rc == 0 && bytes >= kHugePage) huge_block(lo, bytes);
      return rc;
    }
    default: return status(sys::raw_advise(lo, bytes, advice));
  }
}

// The peers' slots are mapped whole, and locking fills them with memory to their ends. Locked when touched is
// all that is asked of them; our own memory is then touched.
static int lock_all(int flags) {
  if (!active() || (flags & MCL_ONFAULT) != 0) return status(sys::raw_lock_all(flags));
  const int rc = status(sys::raw_lock_all(flags | MCL_ONFAULT));
  if (rc != 0 || (flags & MCL_CURRENT) == 0) return rc;
  sys::RawLines lines("/proc/self/maps");
  sys::RawMapping map;
  while (const char* line = lines.next()) {
    if (!sys::parse_mapping(line, map) || map.prot == PROT_NONE) continue;
    const bool region = map.lo < kRegionEnd && map.hi > kRegionFirst;
    if (region && !in_slot(map.lo, map.hi - map.lo)) continue;
    const bool writes = (map.prot & PROT_WRITE) != 0;
    sys::raw_advise(map.lo, map.hi - map.lo, writes ? sys::kPopulateWrite : sys::kPopulateRead);
  }
  return rc;
}

}  // namespace nigh::space

using namespace nigh::space;  // NOLINT(google-build-using-namespace)

static std::uintptr_t at(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
static void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

extern "C" {

NIGH_ENTRY void* mmap(void* hint, size_t bytes, int prot, int flags, int fd, off_t offset) noexcept {
  return pointer(map(at(hint), bytes, prot, flags, fd, offset));
}
NIGH_ENTRY void* mmap64(void* hint, size_t bytes, int prot, int flags, int fd, off64_t offset) noexcept {
  return pointer(map(at(hint), bytes, prot, flags, fd, offset));
}
NIGH_ENTRY int munmap(void* lo, size_t bytes) noexcept { return unmap(at(lo), bytes); }
NIGH_ENTRY int madvise(void* lo, size_t bytes, int advice) noexcept { return advise(at(lo), bytes, advice); }
NIGH_ENTRY int mlockall(int flags) noexcept { return lock_all(flags); }
NIGH_ENTRY void* mremap(void* from, size_t old_bytes, size_t bytes, int flags, ...) noexcept {
  Move m = {.from = at(from), .old_bytes = old_bytes, .bytes = bytes, .flags = flags, .to = 0};
  if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
    va_list rest;
    va_start(rest, flags);
    m.to = at(va_arg(rest, void*));
    va_end(rest);
  }
  return pointer(remap(m));
}

// Called from syscall.S, for the numbers that it sends here; returns the result of syscall().
__attribute__((visibility("hidden"))) long nigh_space_syscall(long number, long a, long b, long c, long d,
                                                              long e, long f) noexcept {
  const auto lo = static_cast<std::uintptr_t>(a);
  const auto bytes = static_cast<std::size_t>(b);
  switch (number) {
    case SYS_mmap:
      return static_cast<long>(
          map(lo, bytes, static_cast<int>(c), static_cast<int>(d), static_cast<int>(e), f));
    case SYS_munmap: return unmap(lo, bytes);
    case SYS_mremap:
      return static_cast<long>(remap({.from = lo,
                                      .old_bytes = bytes,
                                      .bytes = static_cast<std::size_t>(c),
                                      .flags = static_cast<int>(d),
                                      .to = static_cast<std::uintptr_t>(e)}));
    case SYS_madvise: return advise(lo, bytes, static_cast<int>(c));
    default: return lock_all(static_cast<int>(a));
  }
}
}
