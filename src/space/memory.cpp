// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of memory.hpp: peers' slots, the search for bytes, the account.
#include "space/memory.hpp"

#include <stdio.h>
#include <string.h>

#include "space/heap.hpp"
#include "space/huge.hpp"
#include "space/pager.hpp"
#include "space/process_space.hpp"
#include "space/sites.hpp"
#include "space/slot.hpp"

extern "C" {
void* nigh_je_memalign(size_t, size_t);
void nigh_je_free(void*);
}

namespace nigh::space {

const MemoryState& memory() {
  start();
  return g_slot.state;
}

SlotHeader* own_header() {
  return g_slot.state.on ? reinterpret_cast<SlotHeader*>(g_slot.state.origin) : nullptr;
}

// --- peers ---

static bool is_mapped(int rank) {
  const auto r = static_cast<unsigned>(rank);
  if (r >= kMaxRanks) return false;
  return (g_slot.peers[r / 64].load(std::memory_order_acquire) >> (r % 64) & 1) != 0;
}

SlotHeader* peer_header(int rank) {
  const MemoryState& s = g_slot.state;
  if (s.on && rank == s.rank) return own_header();
  return is_mapped(rank) ? reinterpret_cast<SlotHeader*>(slot_origin(rank, s.shift)) : nullptr;
}

// The header is read before anything is mapped at the slot: through a mapping of its pages alone.
static const char* refuse(int rank, int fd, const sys::FileIdentity& file) {
  const MemoryState& s = g_slot.state;
  if (file.inode == 0 || file.bytes < colour(rank) + kHeaderBytes || file.bytes > std::uint64_t{1} << s.shift)
    return "its file is not a slot";
  const long at = sys::raw_map(0, kPage, PROT_READ, MAP_SHARED, fd, static_cast<long>(colour(rank)));
  if (sys::is_error(at)) return "its file can't be mapped";
  const auto* header = reinterpret_cast<const SlotHeader*>(at);
  const char* why = nullptr;
  if (header->magic != SlotHeader::kMagic)
    why = "its file is not a slot";
  else if (header->abi != abi_version)
    why = "it has another version of nigh";
  else if (header->rank != rank || header->size != s.size ||
           header->shift != static_cast<std::uint32_t>(s.shift))
    why = "it is of another rank or another job";
  else if (header->span != file.bytes)
    why = "its slot is incomplete";
  sys::raw_unmap(static_cast<std::uintptr_t>(at), kPage);
  return why;
}

bool map_peer(int rank, int fd, const char** why) {
  const MemoryState& s = g_slot.state;
  *why = "there is no space here";
  if (!s.on || rank < 0 || rank >= s.size || rank == s.rank) return false;
  const sys::FileIdentity file = sys::raw_identity(fd);
  if ((*why = refuse(rank, fd, file)) != nullptr) return false;
  const std::uintptr_t slot = slot_start(rank, s.shift);
  const long at = sys::raw_map(slot, file.bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, fd, 0);
  if (at != static_cast<long>(slot)) {
    *why = "its slot's addresses are taken, or limited, in this process";
    if (!sys::is_error(at)) sys::raw_unmap(static_cast<std::uintptr_t>(at), file.bytes);
    return false;
  }
  sys::raw_advise(slot, file.bytes, MADV_DONTDUMP);
  sys::raw_advise(slot, file.bytes, MADV_DONTFORK);
  *why = "";
  const auto r = static_cast<unsigned>(rank);
  g_slot.peers[r / 64].fetch_or(std::uint64_t{1} << (r % 64), std::memory_order_release);
  return true;
}

void unmap_peer(int rank) {
  if (!is_mapped(rank)) return;
  const auto r = static_cast<unsigned>(rank);
  const std::uint64_t span = peer_header(rank)->span;
  g_slot.peers[r / 64].fetch_and(~(std::uint64_t{1} << (r % 64)), std::memory_order_release);
  const std::uint64_t most = std::uint64_t{1} << g_slot.state.shift;
  sys::raw_unmap(slot_start(rank, g_slot.state.shift), span < most ? span : most);
}

// --- our memory ---

void* slot_alloc(std::size_t bytes, std::size_t align) {
  const MemoryState& s = g_slot.state;
  if (!s.on) return nullptr;
  void* data = nigh_je_memalign(align < 16 ? 16 : align, bytes);
  if (data == nullptr || in_slot(reinterpret_cast<std::uintptr_t>(data), bytes)) return data;
  nigh_je_free(data);  // private: of no use here
  return nullptr;
}

void slot_free(void* data) {
  if (data != nullptr) nigh_je_free(data);
}

Window window() {
  const MemoryState& s = g_slot.state;
  if (!s.on) return {};
  return {.first = s.slot,
          .span = s.span,
          .patched = g_slot.patched.load(std::memory_order_acquire),
          .marks = site_marks()};
}

void learn_from_now_on() { sites_joined(); }

static const Alias* alias_of(std::uintptr_t lo, std::size_t bytes) {
  const SlotHeader* header = own_header();
  for (std::uint32_t i = 0; header != nullptr && i < header->alias_count; ++i) {
    const Alias& alias = header->aliases[i];
    if (lo >= alias.lo && lo < alias.hi && bytes <= alias.hi - lo) return &alias;
  }
  return nullptr;
}

static void* find_in_reach(const void* data, std::size_t bytes) {
  const auto lo = reinterpret_cast<std::uintptr_t>(data);
  const MemoryState& s = g_slot.state;
  if (!s.on) return nullptr;
  if (in_slot(lo, bytes)) {
    const bool hole =
        g_slot.patched.load(std::memory_order_acquire) && pager_has_hole(lo, bytes > 0 ? bytes : 1);
    return hole ? nullptr : const_cast<void*>(data);
  }
  if (const Alias* alias = alias_of(lo, bytes))
    return reinterpret_cast<void*>(s.slot + alias->offset + (lo - alias->lo));
  // A peer's memory is as global as ours.
  if (lo < kRegionFirst || lo >= kRegionEnd) return nullptr;
  const int rank = static_cast<int>((lo - kRegionFirst) >> s.shift);
  const std::uintptr_t end = slot_start(rank, s.shift) + (std::uintptr_t{1} << s.shift);
  return is_mapped(rank) && bytes <= end - lo ? const_cast<void*>(data) : nullptr;
}

void* find_global(const void* data, std::size_t bytes) {
  void* there = find_in_reach(data, bytes);
  if (there == nullptr && bytes >= Space::one_copy_bytes)
    site_missed(reinterpret_cast<std::uintptr_t>(data), bytes);
  return there;
}

static void* in_peer(const SlotHeader& peer, int rank, std::uint64_t offset) {
  return offset < peer.span ? reinterpret_cast<void*>(slot_start(rank, g_slot.state.shift) + offset)
                            : nullptr;
}

void* find_remote(int rank, const void* mine) {
  const MemoryState& s = g_slot.state;
  const SlotHeader* peer = peer_header(rank);
  const auto at = reinterpret_cast<std::uintptr_t>(mine);
  if (peer == nullptr) return nullptr;
  if (rank == s.rank) return find_in_reach(mine, 1);
  const Alias* alias = alias_of(at, 1);
  if (alias == nullptr && in_slot(at, 1)) {  // static data named by its address in the slot
    for (std::uint32_t i = 0; i < own_header()->alias_count && alias == nullptr; ++i) {
      const Alias& one = own_header()->aliases[i];
      const std::uint64_t offset = at - s.slot;
      if (offset >= one.offset && offset < one.offset + (one.hi - one.lo)) {
        alias = &one;
        break;
      }
    }
    if (alias == nullptr) return in_peer(*peer, rank, at - s.origin + colour(rank));
  }
  if (alias == nullptr) return nullptr;
  const std::uint64_t within = at - (in_slot(at, 1) ? s.slot + alias->offset : alias->lo);
  const std::uint32_t count = peer->alias_count < kMaxAliases ? peer->alias_count : kMaxAliases;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Alias& theirs = peer->aliases[i];
    if (theirs.module == alias->module && within < theirs.hi - theirs.lo)
      return in_peer(*peer, rank, theirs.offset + within);
  }
  return nullptr;
}

void set_listener(const Listener& listener) {
  g_slot.listener = listener;
  if (g_slot.patched.load(std::memory_order_acquire) && listener.patched != nullptr)
    listener.patched(listener.self);
}

void collapse_range(const void* data, std::size_t bytes) {
  huge_collapse(reinterpret_cast<std::uintptr_t>(data), bytes);
}

// --- the account ---

static unsigned long long load(const std::atomic<std::uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

int explain_memory(char* text, std::size_t bytes) {
  const MemoryState& s = g_slot.state;
  const SlotCounters& c = g_slot.count;
  if (!s.on) return snprintf(text, bytes, "memory: private, because %s\n", s.why);
  int n = snprintf(text, bytes, "memory: %llu MiB of heap and anonymous mmap shared in a slot of %llu GiB\n",
                   static_cast<unsigned long long>(pager_used() >> 20),
                   static_cast<unsigned long long>(s.span >> 30));
  auto add = [&](const char* format, unsigned long long a, unsigned long long b) {
    const std::size_t used = static_cast<std::size_t>(n) < bytes ? static_cast<std::size_t>(n) : bytes;
    n += snprintf(text + used, bytes - used, format, a, b);
  };
  const SiteCounts sites = site_counts();
  if (sites.all > 0)
    add("memory: places in the program whose blocks are shared, since they were sent: %llu; private: %llu\n",
        sites.send, sites.idle);
  if (sites.known > 0)
    add("memory: %llu of these places were known to send from earlier runs of the program\n", sites.known, 0);
  if (load(c.private_extents) > 0)
    add("memory: %llu extents (%llu MiB) are private: the slot or the memory left was too small\n",
        load(c.private_extents), load(c.private_bytes) >> 20);
  if (load(c.holes) > 0) add("memory: %llu times other memory was mapped over the slot\n", load(c.holes), 0);
  const std::size_t used = static_cast<std::size_t>(n) < bytes ? static_cast<std::size_t>(n) : bytes;
  n += huge_explain(text + used, bytes - used);
  if (load(c.collapsed) + load(c.not_collapsed) > 0)
    add("memory: %llu huge pages made, %llu refused\n", load(c.collapsed), load(c.not_collapsed));
  if (load(c.forks) > 0)
    add("memory: %llu forks waited %llu us for their copies\n", load(c.forks), load(c.fork_ns) / 1000);
  if (own_header()->alias_count > 0)
    add("memory: static data of %llu segments shared\n", own_header()->alias_count, 0);
  return n;
}

}  // namespace nigh::space
