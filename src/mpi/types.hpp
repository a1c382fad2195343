// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// MPI datatypes as memory: how many bytes of message one element has and where they lie. A type is walked
// once (types_flatten.cpp), the result is kept by an attribute of the type and found again through a small
// direct-mapped cache; the attribute's delete callback tells that the handle is gone, while messages under
// way still hold what they need. The first question about any message, "is it surely small?", costs one load
// and two compares.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "message/layout.hpp"
#include "mpi/library.hpp"

namespace nigh::mpi {

inline std::uintptr_t handle_bits_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }
inline std::uintptr_t handle_bits_of(int handle) { return static_cast<unsigned>(handle); }

// Messages of exactly this length are descriptors (p2p_wire.hpp says why this one).
inline constexpr std::size_t wire_bytes = 240;

struct TypeInfo {
  std::atomic<std::uintptr_t> handle = 0;
  std::size_t size = 0;       // bytes of message in one element
  std::ptrdiff_t extent = 0;  // from one element to the next
  std::ptrdiff_t lower = 0;   // the first byte that an element touches, and the one after the last
  std::ptrdiff_t upper = 0;
  bool contiguous = false;  // any number of elements is one piece, from `lower` on
  bool opaque = false;      // too many blocks, or built in a way we don't know: only the library can walk it
  bool named = false;
  bool committed = true;    // as far as asked: one that is not is asked about again, and is in no cache
  bool splits_well = true;  // a message of it may end after wire_bytes bytes: no basic element is cut there
  message::Layout layout;   // unless opaque; the blocks are in memory of the space
  bool shared_layout = false;             // ... so that peers can read them; else they are ours alone
  MPI_Datatype type = MPI_DATATYPE_NULL;  // opaque: one element, a type of our own that outlives the user's
  std::atomic<MPI_Datatype> basic = MPI_DATATYPE_NULL;  // as far as asked: see basic_type()
  std::atomic<int> users = 0;                           // the attribute, and messages under way
  TypeInfo* next = nullptr;
};

// nullptr: a type that the library refuses in every call (an invalid one; in MPICH also one that is not
// committed), or no memory.
TypeInfo* type_info_slow(MPI_Datatype type);

inline constexpr std::size_t type_cache_size = 64;
extern std::atomic<std::uint64_t>
    g_type_low[type_cache_size];  // handle << 16 | elements that reach wire_bytes
extern std::atomic<TypeInfo*> g_type_cache[type_cache_size];

inline std::size_t type_cache_index(std::uintptr_t bits) { return (bits * 0x9e3779b97f4a7c15u) >> 58; }

// True: `count` elements have less than wire_bytes bytes. False: perhaps not.
inline bool surely_small(MPI_Datatype type, MPI_Count count) {
  const auto bits = handle_bits_of(type);
  const std::uint64_t low = g_type_low[type_cache_index(bits)].load(std::memory_order_relaxed);
  return low >> 16 == bits && static_cast<std::uint64_t>(count) < (low & 0xffff);
}

// nullptr: unknown so far, or another has its place in the cache.
inline TypeInfo* cached_type_info(MPI_Datatype type) {
  const auto bits = handle_bits_of(type);
  TypeInfo* info = g_type_cache[type_cache_index(bits)].load(std::memory_order_acquire);
  return info && info->handle.load(std::memory_order_relaxed) == bits ? info : nullptr;
}
inline TypeInfo* type_info(MPI_Datatype type) {
  TypeInfo* info = cached_type_info(type);
  return info ? info : type_info_slow(type);
}

// A predefined one without gaps: it needs no reference.
inline bool is_plain(const TypeInfo& info) { return info.named && info.contiguous && info.lower == 0; }

void forget_type(MPI_Datatype type);  // before the library frees it
// A communicator of this process alone, with a handler that returns errors, made when it is first asked for.
// MPI_COMM_NULL: the library refused it.
MPI_Comm own_comm();

// Keeps it through the user's MPI_Type_free. Predefined ones live for ever.
inline void hold(TypeInfo* info) {
  if (!info->named) info->users.fetch_add(1, std::memory_order_relaxed);
}
void drop_slow(TypeInfo* info);
inline void drop(TypeInfo* info) {
  if (!info->named) drop_slow(info);
}

// One element of `type` as blocks in the order of the message, neighbours joined. False: opaque.
struct TypeBlocks {
  static constexpr std::size_t most = 65536;
  message::Block* data = nullptr;
  std::size_t count = 0, room = 0;
  bool add(std::ptrdiff_t offset, std::size_t bytes);  // false: too many, or no memory
  TypeBlocks() = default;
  TypeBlocks(const TypeBlocks&) = delete;
  TypeBlocks& operator=(const TypeBlocks&) = delete;
  ~TypeBlocks();
};
bool flatten(MPI_Datatype type, std::ptrdiff_t at, TypeBlocks& blocks);
// The size of the basic elements of `type` if all have the same; 0: they differ, or the library won't tell.
std::size_t basic_size(MPI_Datatype type);

// The predefined type that all basic elements of `type` have; MPI_DATATYPE_NULL: they differ.
MPI_Datatype basic_type(MPI_Datatype type, TypeInfo& info);

// The bytes that `count` elements at `buffer` touch.
struct ByteRange {
  const char* first = nullptr;
  std::size_t bytes = 0;
};
ByteRange range_of(const TypeInfo& info, const void* buffer, MPI_Count count);

// Between `count` elements and one piece of `bytes` bytes, all the message or its beginning, whatever the
// type; slow for opaque ones. False: the library failed.
bool unpack(const void* from, std::size_t bytes, void* buffer, MPI_Count count, TypeInfo& info);
bool pack(void* to, std::size_t bytes, const void* buffer, MPI_Count count, TypeInfo& info);

}  // namespace nigh::mpi
