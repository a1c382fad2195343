// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The book of datatypes: predefined ones on a list that only grows, derived ones in an attribute of the type.
// A TypeInfo's memory is recycled but never given back, so that a stale look at it reads a handle that does
// not match.
#include "mpi/types.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "mpi/handlers.hpp"
#include "mpi/ours.hpp"
#include "mpi/process.hpp"

namespace nigh::mpi {

std::atomic<std::uint64_t> g_type_low[type_cache_size];
std::atomic<TypeInfo*> g_type_cache[type_cache_size];

namespace {

std::mutex making;   // held while the library is asked, so never taken by its callbacks
std::mutex listing;  // the lists; nothing is called under it
TypeInfo* named_types = nullptr;
TypeInfo* unused = nullptr;
int keyval = MPI_KEYVAL_INVALID;
MPI_Comm self = MPI_COMM_NULL;

TypeInfo* new_info() {
  const std::lock_guard lock(listing);
  if (!unused) return new (std::nothrow) TypeInfo;
  TypeInfo* info = unused;
  unused = info->next;
  info->next = nullptr;
  return info;
}

void recycle(TypeInfo* info) {
  auto* blocks = const_cast<message::Block*>(info->layout.blocks);
  if (info->shared_layout)
    process().space->release(blocks);
  else
    std::free(blocks);
  if (info->type != MPI_DATATYPE_NULL && process().started) real().Type_free(&info->type);
  info->layout = {};
  info->type = MPI_DATATYPE_NULL;
  info->basic.store(MPI_DATATYPE_NULL, std::memory_order_relaxed);
  info->contiguous = info->opaque = info->shared_layout = false;
  info->splits_well = info->committed = true;
  const std::lock_guard lock(listing);
  info->next = unused;
  unused = info;
}

// The user's handle is gone.
int forget(MPI_Datatype /*type*/, int /*keyval*/, void* value, void* /*extra*/) {
  auto* info = static_cast<TypeInfo*>(value);
  const std::uintptr_t bits = info->handle.exchange(0, std::memory_order_acq_rel);
  auto& low = g_type_low[type_cache_index(bits)];
  std::uint64_t seen = low.load(std::memory_order_relaxed);
  if (seen >> 16 == bits) low.compare_exchange_strong(seen, 0, std::memory_order_relaxed);
  drop(info);
  return MPI_SUCCESS;
}

bool keep_layout(TypeInfo& info, const TypeBlocks& blocks) {
  const std::size_t bytes = std::max<std::size_t>(blocks.count, 1) * sizeof(message::Block);
  void* memory = process().space->alloc(bytes, alignof(message::Block));
  info.shared_layout = memory != nullptr;
  if (!memory) memory = std::malloc(bytes);
  if (!memory) return false;
  if (blocks.count != 0) std::memcpy(memory, blocks.data, blocks.count * sizeof(message::Block));
  info.layout = {.blocks = static_cast<message::Block*>(memory),
                 .block_count = blocks.count,
                 .extent = info.extent,
                 .element_bytes = info.size};
  return true;
}

// A type of ours that is one element of the user's. No duplicate: that would call the functions of the
// attributes which the program has given it.
bool wrap(MPI_Datatype type, MPI_Datatype& own) {
  return real().Type_contiguous(1, type, &own) == MPI_SUCCESS && real().Type_commit(&own) == MPI_SUCCESS;
}

// All of `info` but its handle and users.
bool describe(MPI_Datatype type, TypeInfo& info) {
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  if (real().Type_size_x(type, &size) != MPI_SUCCESS || size < 0 ||
      real().Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
      real().Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS)
    return false;
  info.size = static_cast<std::size_t>(size);
  info.extent = extent;
  info.lower = true_lower;
  info.upper = true_lower + true_extent;
  TypeBlocks blocks;
  std::size_t sum = 0;
  const bool known = flatten(type, 0, blocks);
  for (std::size_t i = 0; i < blocks.count; ++i) sum += blocks.data[i].bytes;
  info.opaque = !known || sum != info.size;
  const std::size_t basic = info.size != 0 && wire_bytes % info.size == 0 ? info.size : basic_size(type);
  info.splits_well = basic != 0 && wire_bytes % basic == 0;
  if (info.opaque) return info.named || wrap(type, info.type);
  if (blocks.count == 1) info.lower = blocks.data[0].offset;
  info.contiguous = blocks.count == 0 || (blocks.count == 1 && info.extent == size);
  return info.contiguous || keep_layout(info, blocks);
}

bool is_named(MPI_Datatype type) {
  int i = 0, a = 0, t = 0, combiner = MPI_UNDEFINED;
  if (real().Type_get_envelope(type, &i, &a, &t, &combiner) != MPI_SUCCESS) return false;
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER ||
         combiner == MPI_COMBINER_VALUE_INDEX;
}

TypeInfo* find_known(MPI_Datatype type, std::uintptr_t bits) {
  {
    const std::lock_guard lock(listing);
    for (TypeInfo* info = named_types; info; info = info->next)
      if (info->handle.load(std::memory_order_relaxed) == bits) return info;
  }
  void* value = nullptr;
  int found = 0;
  if (real().Type_get_attr(type, keyval, &value, &found) != MPI_SUCCESS || !found) return nullptr;
  return static_cast<TypeInfo*>(value);
}

TypeInfo* make(MPI_Datatype type, std::uintptr_t bits) {
  TypeInfo* info = new_info();
  if (!info) return nullptr;
  info->named = is_named(type);
  info->users.store(1, std::memory_order_relaxed);
  if (!describe(type, *info)) {
    recycle(info);
    return nullptr;
  }
  info->handle.store(bits, std::memory_order_release);
  if (info->named) {
    const std::lock_guard lock(listing);
    info->next = named_types;
    named_types = info;
  } else if (real().Type_set_attr(type, keyval, info) != MPI_SUCCESS) {
    info->handle.store(0, std::memory_order_relaxed);
    recycle(info);
    return nullptr;
  }
  return info;
}

void start() {
  real().Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, nullptr);
  own_comm();
}
void stop() {
  keyval = MPI_KEYVAL_INVALID;
  if (self != MPI_COMM_NULL) real().Comm_free(&self);
}
const Hooks hooks(start, stop);

// A handle that is no type must not be used in any query: the answer would be an error of another function
// than the program has called. Open MPI takes any address for a type.
bool any_is_valid() { return is_openmpi(); }

// True if the library would send elements of it: it is valid and committed. Nobody gets one.
bool sendable(MPI_Datatype type) {
  return self != MPI_COMM_NULL && real().Send(&self, 1, type, MPI_PROC_NULL, 0, self) == MPI_SUCCESS;
}

}  // namespace

// MPI_COMM_SELF would not do: on it the user may wait for any message, and its error handler is his. A split,
// because a duplicate would call what the user has attached.
MPI_Comm own_comm() {
  if (self != MPI_COMM_NULL) return self;
  if (real().Comm_split(MPI_COMM_SELF, 0, 0, &self) != MPI_SUCCESS) self = MPI_COMM_NULL;
  if (self != MPI_COMM_NULL) real().Comm_set_errhandler(self, errors_return());
  return self;
}

TypeInfo* type_info_slow(MPI_Datatype type) {
  const auto bits = handle_bits_of(type);
  if (bits == 0 || type == MPI_DATATYPE_NULL || keyval == MPI_KEYVAL_INVALID) return nullptr;
  const bool committed = sendable(type);
  if (!committed && !any_is_valid()) return nullptr;
  const std::lock_guard lock(making);
  TypeInfo* info = find_known(type, bits);
  if (!info) info = make(type, bits);
  if (!info) return nullptr;
  info->committed = committed;
  if (!committed) return info;
  const std::size_t elements = info->size == 0 ? 0xffff : (wire_bytes + info->size - 1) / info->size;
  const std::size_t i = type_cache_index(bits);
  g_type_cache[i].store(info, std::memory_order_release);
  g_type_low[i].store(bits << 16 | elements, std::memory_order_relaxed);
  return info;
}

void forget_type(MPI_Datatype type) {
  void* value = nullptr;
  int found = 0;
  if (handle_bits_of(type) == 0 || type == MPI_DATATYPE_NULL || keyval == MPI_KEYVAL_INVALID) return;
  if (!any_is_valid() && !sendable(type)) return;
  if (real().Type_get_attr(type, keyval, &value, &found) == MPI_SUCCESS && found)
    real().Type_delete_attr(type, keyval);
}

void drop_slow(TypeInfo* info) {
  if (info->users.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle(info);
}

ByteRange range_of(const TypeInfo& info, const void* buffer, MPI_Count count) {
  if (count <= 0) return {.first = static_cast<const char*>(buffer), .bytes = 0};
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(count - 1) * info.extent;
  const std::ptrdiff_t first = info.lower + std::min<std::ptrdiff_t>(last, 0);
  const std::ptrdiff_t end = info.upper + std::max<std::ptrdiff_t>(last, 0);
  return {.first = reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                                 static_cast<std::uintptr_t>(first)),
          .bytes = static_cast<std::size_t>(end - first)};
}

namespace {

constexpr MPI_Count most_at_once = 1 << 20;  // elements; the library's own functions count in ints

MPI_Datatype handle_of(const TypeInfo& info) {
  if (info.type != MPI_DATATYPE_NULL) return info.type;
  const std::uintptr_t bits = info.handle.load(std::memory_order_relaxed);
  MPI_Datatype type;
  static_assert(sizeof type <= sizeof bits);
  std::memcpy(&type, &bits, sizeof type);
  return type;
}

// A message to ourselves: the library itself cuts elements where the bytes end.
bool to_self(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
             MPI_Datatype to_type) {
  static std::atomic<unsigned> calls = 0;  // threads may be here at once
  const int tag = static_cast<int>(calls.fetch_add(1, std::memory_order_relaxed) % 32767);
  return self != MPI_COMM_NULL && real().Sendrecv(from, from_count, from_type, 0, tag, to, to_count, to_type,
                                                  0, tag, self, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

char* element_at(const void* buffer, const TypeInfo& info, MPI_Count i) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                 static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(i) * info.extent));
}

}  // namespace

bool unpack(const void* from, std::size_t bytes, void* buffer, MPI_Count count, TypeInfo& info) {
  if (!info.opaque) {
    char* at = static_cast<char*>(buffer);
    if (info.contiguous) at = element_at(buffer, info, 0) + info.lower;
    message::copy(at, info.contiguous ? nullptr : &info.layout, from, nullptr, 0, bytes);
    return true;
  }
  const auto* source = static_cast<const char*>(from);
  const auto whole = std::min(count, static_cast<MPI_Count>(bytes / info.size));
  MPI_Datatype type = handle_of(info);
  for (MPI_Count done = 0; done < whole;) {
    const auto room = static_cast<MPI_Count>((std::size_t{1} << 30) / info.size);
    const auto n = static_cast<int>(std::min({whole - done, most_at_once, std::max<MPI_Count>(room, 1)}));
    const std::size_t piece = static_cast<std::size_t>(n) * info.size;
    int position = 0;
    if (piece > 0x7fffffff ||
        real().Unpack(source, static_cast<int>(piece), &position, element_at(buffer, info, done), n, type,
                      MPI_COMM_SELF) != MPI_SUCCESS)
      return false;
    source += piece;
    done += n;
  }
  const std::size_t rest = bytes - static_cast<std::size_t>(whole) * info.size;
  return rest == 0 || whole == count ||
         to_self(source, static_cast<int>(rest), MPI_BYTE, element_at(buffer, info, whole), 1, type);
}

bool pack(void* to, std::size_t bytes, const void* buffer, MPI_Count count, TypeInfo& info) {
  if (!info.opaque) {
    const char* at = static_cast<const char*>(buffer);
    if (info.contiguous) at = element_at(buffer, info, 0) + info.lower;
    message::copy(to, nullptr, at, info.contiguous ? nullptr : &info.layout, 0, bytes);
    return true;
  }
  // Only ever the first bytes of a message: whole elements into a buffer that has room for them.
  const auto elements = std::min(count, static_cast<MPI_Count>((bytes + info.size - 1) / info.size));
  const std::size_t room = static_cast<std::size_t>(elements) * info.size;
  if (room > 0x7fffffff) return false;
  void* packed = std::malloc(room);
  if (!packed) return false;
  int position = 0;
  const bool ok = real().Pack(buffer, static_cast<int>(elements), handle_of(info), packed,
                              static_cast<int>(room), &position, MPI_COMM_SELF) == MPI_SUCCESS;
  if (ok) std::memcpy(to, packed, std::min(bytes, room));
  std::free(packed);
  return ok;
}

}  // namespace nigh::mpi

using nigh::mpi::real;

// Our attribute goes before the type: why, see detach_state() in comm.cpp.
int nigh_mpi_Type_free(MPI_Datatype* type) {
  if (type) nigh::mpi::forget_type(*type);
  return real().Type_free(type);
}
