// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See coll_prepare.hpp: from buffers of users, in one piece or many, to pieces.
#include "mpi/coll_prepare.hpp"

#include <algorithm>
#include <cstdlib>

namespace nigh::mpi::coll {

Arrays::~Arrays() {
  while (more_ != nullptr) {
    void* next = *static_cast<void**>(more_);
    std::free(more_);
    more_ = next;
  }
}

std::size_t* Arrays::take(std::size_t words) {
  if (used_ + words <= inline_words) {
    std::size_t* first = inline_ + used_;
    used_ += words;
    return first;
  }
  auto* block = static_cast<void**>(std::malloc(sizeof(void*) + words * sizeof(std::size_t)));
  if (block == nullptr) return nullptr;
  *block = more_;
  more_ = block;
  return reinterpret_cast<std::size_t*>(block + 1);
}

KeptTypes::~KeptTypes() {
  for (const Kept& one : kept_) drop(one.info);
}

TypeInfo* KeptTypes::find(MPI_Datatype type) {
  for (const Kept& one : kept_)
    if (one.type == type) return one.info;
  TypeInfo* info = type_info(type);
  if (info != nullptr) {
    hold(info);
    kept_.push_back({type, info});
  }
  return info;
}

void* Temporary::take(std::size_t bytes) {
  data_ = process().space->alloc(bytes + 1, 64);
  in_space_ = data_ != nullptr;
  if (!in_space_) data_ = std::malloc(bytes + 1);
  return data_;
}

void Temporary::give_back() {
  if (in_space_)
    process().space->release(data_);
  else
    std::free(data_);
}

const void* send_piece(Prepared& p, const void* buffer, MPI_Count count, TypeInfo& type) {
  const std::size_t bytes = bytes_of(count, type);
  if (type.contiguous || bytes == 0) {
    const void* first = at(buffer, type.lower);
    p.bad_buffer |= first == nullptr && bytes != 0;
    return first;
  }
  if (p.send.take(bytes) == nullptr || !pack(p.send.data(), bytes, buffer, count, type)) p.no_memory = true;
  return p.send.data();
}

void* receive_piece(Prepared& p, void* buffer, MPI_Count count, int blocks, TypeInfo& type, bool keep) {
  const std::size_t bytes = bytes_of(count, type) * static_cast<std::size_t>(blocks);
  if (type.contiguous || bytes == 0) {
    void* first = at(buffer, type.lower);
    p.bad_buffer |= first == nullptr && bytes != 0;
    return first;
  }
  if (p.receive.take(bytes) == nullptr ||
      (keep && !pack(p.receive.data(), bytes, buffer, count * blocks, type))) {
    p.no_memory = true;
    return nullptr;
  }
  p.unpack_type = &type;
  p.unpack_to = static_cast<char*>(buffer);
  p.unpack_count = count * blocks;
  p.unpack_blocks = 1;
  return p.receive.data();
}

namespace {

constexpr std::size_t layouts_from = std::size_t{64} << 10;  // bytes of all blocks together

// In one piece each: where the user has them, counted from the lowest, because displacements may be negative.
Side user_blocks(Prepared& p, const void* buffer, const BlockArguments& blocks) {
  Side side;
  const int n = p.members;
  std::size_t* bytes = p.arrays.take(static_cast<std::size_t>(n));
  std::size_t* offsets = p.arrays.take(static_cast<std::size_t>(n));
  if (bytes == nullptr || offsets == nullptr) return p.no_memory = true, side;
  std::ptrdiff_t lowest = 0;
  bool any = false;
  for (int i = 0; i < n; ++i) {
    const TypeInfo& type = blocks.type(i);
    bytes[i] = blocks.counts[i] * type.size;
    const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(blocks.places[i]) + type.lower;
    offsets[i] = static_cast<std::size_t>(place);
    if (bytes[i] != 0 && (!any || place < lowest)) lowest = place;
    any |= bytes[i] != 0;
  }
  for (int i = 0; i < n; ++i) offsets[i] = bytes[i] == 0 ? 0 : offsets[i] - static_cast<std::size_t>(lowest);
  side.bytes = bytes;
  side.offsets = offsets;
  side.base = const_cast<char*>(at(buffer, lowest));
  p.bad_buffer |= any && side.base == nullptr;
  return side;
}

// In pieces: one after the other in a temporary.
Side packed_blocks(Prepared& p, Temporary& temporary, const BlockArguments& blocks) {
  Side side;
  const int n = p.members;
  std::size_t* bytes = p.arrays.take(static_cast<std::size_t>(n));
  std::size_t* offsets = p.arrays.take(static_cast<std::size_t>(n));
  if (bytes == nullptr || offsets == nullptr) return p.no_memory = true, side;
  std::size_t total = 0;
  for (int i = 0; i < n; ++i) {
    bytes[i] = blocks.counts[i] * blocks.type(i).size;
    offsets[i] = total;
    total += bytes[i];
  }
  side.bytes = bytes;
  side.offsets = offsets;
  side.base = temporary.take(total);
  p.no_memory |= side.base == nullptr;
  return side;
}

// Large blocks in pieces are packed and unpacked by the exchange itself, part by part: whole, they would
// leave the caches twice. Types of non-blocking calls may be freed before they end.
bool goes_by_layout(const Prepared& p, const BlockArguments& blocks) {
  if (p.call.kind != message::Kind::alltoall || p.outlives_call || p.kept != nullptr) return false;
  std::size_t total = 0;
  for (int i = 0; i < p.members; ++i) {
    if (blocks.counts[i] * blocks.type(i).size != 0 && blocks.type(i).opaque) return false;
    total += blocks.counts[i] * blocks.type(i).size;
  }
  return total >= layouts_from;
}

// The user's blocks, counted from the lowest displacement, with the layout of each that is in pieces.
Side laid_out_blocks(Prepared& p, const void* buffer, const BlockArguments& blocks,
                     const message::Layout* const*& layouts) {
  Side side;
  const int n = p.members;
  const auto size = static_cast<std::size_t>(n);
  std::size_t* bytes = p.arrays.take(size);
  std::size_t* offsets = p.arrays.take(size);
  static_assert(sizeof(message::Layout*) == sizeof(std::size_t));
  auto** each = reinterpret_cast<const message::Layout**>(p.arrays.take(size));
  if (bytes == nullptr || offsets == nullptr || each == nullptr) return p.no_memory = true, side;
  std::ptrdiff_t lowest = 0;
  bool any = false;
  for (int i = 0; i < n; ++i) {
    const TypeInfo& type = blocks.type(i);
    bytes[i] = blocks.counts[i] * type.size;
    each[i] = type.contiguous || bytes[i] == 0 ? nullptr : &type.layout;
    const std::ptrdiff_t place =
        static_cast<std::ptrdiff_t>(blocks.places[i]) + (each[i] == nullptr ? type.lower : 0);
    offsets[i] = static_cast<std::size_t>(place);
    if (bytes[i] != 0 && (!any || place < lowest)) lowest = place;
    any |= bytes[i] != 0;
  }
  for (int i = 0; i < n; ++i) offsets[i] = bytes[i] == 0 ? 0 : offsets[i] - static_cast<std::size_t>(lowest);
  // MPI_BOTTOM, with addresses in the types: an exchange takes null for no buffer, so it begins before.
  constexpr std::size_t before = 64;
  const bool at_bottom = at(buffer, lowest) == nullptr;
  for (int i = 0; i < n && at_bottom; ++i) offsets[i] += before;
  layouts = each;
  side.bytes = bytes;
  side.offsets = offsets;
  side.base = const_cast<char*>(at(buffer, lowest - (at_bottom ? static_cast<std::ptrdiff_t>(before) : 0)));
  return side;
}

bool pack_blocks(Prepared& p, const Side& side, const void* buffer, const BlockArguments& blocks) {
  for (int i = 0; i < p.members; ++i)
    if (side.bytes[i] != 0 && !pack(static_cast<char*>(side.base) + side.offsets[i], side.bytes[i],
                                    at(buffer, static_cast<std::ptrdiff_t>(blocks.places[i])),
                                    static_cast<MPI_Count>(blocks.counts[i]), blocks.type(i)))
      return false;
  return true;
}

}  // namespace

Side send_blocks(Prepared& p, const void* buffer, const BlockArguments& blocks) {
  if (blocks.contiguous) return user_blocks(p, buffer, blocks);
  if (goes_by_layout(p, blocks)) return laid_out_blocks(p, buffer, blocks, p.call.send_layouts);
  const Side side = packed_blocks(p, p.send, blocks);
  if (!p.no_memory && !pack_blocks(p, side, buffer, blocks)) p.no_memory = true;
  return side;
}

Side receive_blocks(Prepared& p, void* buffer, const BlockArguments& blocks, bool keep) {
  if (blocks.contiguous) return user_blocks(p, buffer, blocks);
  if (!keep && goes_by_layout(p, blocks)) return laid_out_blocks(p, buffer, blocks, p.call.receive_layouts);
  const Side side = packed_blocks(p, p.receive, blocks);
  if (p.no_memory) return side;
  if (keep && !pack_blocks(p, side, buffer, blocks)) p.no_memory = true;
  p.unpack_type = blocks.all;
  p.unpack_types = blocks.each;
  p.unpack_to = static_cast<char*>(buffer);
  p.unpack_blocks = p.members;
  p.unpack_counts = blocks.counts;
  p.unpack_places = blocks.places;
  p.unpack_offsets = side.offsets;
  return side;
}

TypeInfo& no_type() {
  static TypeInfo nothing;
  static const bool made = nothing.contiguous = nothing.named = true;
  static_cast<void>(made);
  return nothing;
}

TypeInfo* block_type(Prepared& p, MPI_Datatype type, std::size_t count, TypesOf side) {
  const Refused& rules = refused(p, side.form);
  if (type == MPI_DATATYPE_NULL && count == 0 && !rules.null_type_of_none) return &no_type();
  TypeInfo* info = p.info(type);
  if (info == nullptr || info->committed) return info;
  return (side.sends ? rules.uncommitted_send : rules.uncommitted_receive) ? nullptr : info;
}

bool finish(Prepared& p) {
  if (!p.unpacks()) return true;
  if (p.unpack_counts == nullptr) {
    TypeInfo& type = *p.unpack_type;
    return unpack(p.receive.data(), bytes_of(p.unpack_count, type), p.unpack_to, p.unpack_count, type);
  }
  for (int i = 0; i < p.unpack_blocks; ++i) {
    TypeInfo& type = p.unpack_types ? *p.unpack_types[i] : *p.unpack_type;
    const auto count = static_cast<MPI_Count>(p.unpack_counts[i]);
    if (count != 0 && !unpack(p.receive.data() + p.unpack_offsets[i], bytes_of(count, type),
                              p.unpack_to + static_cast<std::ptrdiff_t>(p.unpack_places[i]), count, type))
      return false;
  }
  return true;
}

bool unpacks_opaque(const Prepared& p) {
  if (p.unpack_types == nullptr) return p.unpack_type != nullptr && p.unpack_type->opaque;
  return std::any_of(p.unpack_types, p.unpack_types + p.unpack_blocks,
                     [](const TypeInfo* type) { return type->opaque; });
}

}  // namespace nigh::mpi::coll
