// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of the address space. Each rank of a node owns one slot, at the same addresses in all ranks; the
// slot is its memfd, mapped from offset 0. Within the slot the rank's memory begins at its origin, which lies
// a little further for each rank, because equal address bits 12..27 in all ranks make a collective that reads
// all of them fight for the same ways of the first cache, which guesses them from those bits (6 to 9 times
// slower on Zen 4). It lies further by whole huge pages, so that ranks which allocate alike find the same
// distance from their origins at every alignment up to that.
//
//   64<<39            slot of rank 0                          slot of rank 1                       169<<39
//   |                 |colour|header|heap and anonymous mmap|  |colour|header|...                   |
//   kOverflowFirst          ^origin (fixed offset = VA - slot start: huge pages are congruent)
//
// Low slots belong to the sanitizers' shadows, those above 169 to position-independent programs and to mmap.
// The header is what ranks must find before they have agreed on anything; its layout is the ABI.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "space/space.hpp"

namespace nigh::space {

inline constexpr std::uintptr_t kRegionFirst = std::uintptr_t{64} << 39;
inline constexpr std::uintptr_t kRegionEnd = std::uintptr_t{169} << 39;
// Private memory of our allocator, for when the slot must not or can't grow.
inline constexpr std::uintptr_t kOverflowFirst = std::uintptr_t{56} << 39;
inline constexpr std::uintptr_t kOverflowEnd = std::uintptr_t{60} << 39;

inline constexpr int kMaxRanks = 1024;
inline constexpr int kMaxShift = 39;
inline constexpr std::uintptr_t kColourStep = 0x200000;
inline constexpr int kColours = 128;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Slots are 512 GiB for up to 105 ranks, and halved until all ranks fit.
constexpr int slot_shift(int size) {
  int shift = kMaxShift;
  while ((static_cast<std::uintptr_t>(size) << shift) > kRegionEnd - kRegionFirst) --shift;
  return shift;
}
constexpr std::uintptr_t slot_start(int rank, int shift) {
  return kRegionFirst + (static_cast<std::uintptr_t>(rank) << shift);
}
constexpr std::uintptr_t colour(int rank) {
  return static_cast<std::uintptr_t>(rank % kColours) * kColourStep;
}
constexpr std::uintptr_t slot_origin(int rank, int shift) { return slot_start(rank, shift) + colour(rank); }

static_assert(slot_shift(105) == 39 && slot_shift(106) == 38 && slot_shift(kMaxRanks) == 35);
static_assert(slot_start(104, 39) + (std::uintptr_t{1} << 39) == kRegionEnd);
static_assert(colour(127) < (std::uintptr_t{1} << 31),
              "the colour must stay small beside the smallest slot, 32 GiB");

// Local addresses [lo, hi) of static data that were moved into the slot: the same bytes lie at slot start +
// offset. Two ranks' entries mean the same variable where `module` (a hash of name, build id and segment)
// is equal.
struct Alias {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  std::uint64_t offset = 0;
  std::uint64_t module = 0;
};
inline constexpr int kMaxAliases = 512;

struct SlotHeader {
  static constexpr std::uint64_t kMagic = 0x65636170732e676eULL;  // "ng.space"

  std::uint64_t magic;  // written last, when the slot is ready
  std::uint32_t abi;    // process_space.hpp, abi_version
  std::int32_t rank;
  std::int32_t size;
  std::int32_t pid;
  std::uint32_t shift;
  std::uint32_t alias_count;  // written once, before `published` of anything
  std::uint64_t span;         // bytes of the slot, and of the memfd
  unsigned char key[16];      // of the job; the join half's
  std::atomic<std::uint64_t> roots[static_cast<int>(Root::count)];  // addresses, valid in all ranks
  std::uint64_t padding0[2];

  // Bit r: this rank has mapped rank r (and rank r passed all checks). The join half's.
  alignas(64) std::atomic<std::uint64_t> reachable[kMaxRanks / 64];
  alignas(64) std::atomic<std::uint32_t> joined;  // the states of join(), the join half's
  std::atomic<std::uint32_t> state[15];           // likewise, free for it

  alignas(64) std::uint64_t spare[32];
  alignas(64) Alias aliases[kMaxAliases];
};
inline constexpr std::size_t kHeaderBytes = 32768;
static_assert(offsetof(SlotHeader, magic) == 0 && offsetof(SlotHeader, abi) == 8,
              "another version must be able to read these two");
static_assert(offsetof(SlotHeader, key) == 40 && offsetof(SlotHeader, roots) == 56);
static_assert(sizeof(SlotHeader) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
static_assert(static_cast<int>(Root::count) <= 8);

}  // namespace nigh::space
