// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From the arguments of each collective function to a message::Call. Templates, because MPI has each function
// twice (int and MPI_Count; displacements int and MPI_Aint). Each returns `covered`, or why this call is the
// library's: either for a reason that all members share, or because the arguments are wrong and the library
// shall say so.
#pragma once

#include <algorithm>

#include "mpi/coll.hpp"
#include "mpi/coll_refused.hpp"

namespace nigh::mpi::coll {

// `count` elements at `buffer` as the send side of a call: where they lie, or packed.
const void* send_piece(Prepared& p, const void* buffer, MPI_Count count, TypeInfo& type);
// Room for `blocks` times `count` elements as the receive side; remembers to unpack. `keep`: what is in the
// buffer is an operand, too.
void* receive_piece(Prepared& p, void* buffer, MPI_Count count, int blocks, TypeInfo& type, bool keep);

inline const char* at(const void* buffer, std::ptrdiff_t offset) {
  return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                       static_cast<std::uintptr_t>(offset));
}
inline char* at(void* buffer, std::ptrdiff_t offset) {
  return const_cast<char*>(at(const_cast<const void*>(buffer), offset));
}

inline const Refused& refused(const Prepared& p, Form form) {
  return g_refused[static_cast<int>(form)][p.outlives_call ? 1 : 0];
}
// MPI_IN_PLACE where it has no place: the library says so.
inline bool misplaced(const Prepared& p, Form form, const void* buffer, MPI_Count elements) {
  return buffer == MPI_IN_PLACE && (elements != 0 || refused(p, form).in_place_of_none);
}
// Elements that are received where they are sent from, if the library minds.
inline bool aliased(const Prepared& p, Form form, const void* send, const void* receive, MPI_Count elements) {
  return send == receive && refused(p, form).alias[std::min<MPI_Count>(elements, 2)];
}
// Types that the call can have; nullptr: that side needs none.
inline bool usable(const Prepared& p, Form form, const TypeInfo* send, const TypeInfo* receive) {
  return (send == nullptr || send->committed || !refused(p, form).uncommitted_send) &&
         (receive == nullptr || receive->committed || !refused(p, form).uncommitted_receive);
}
// Open MPI compares the lengths of a member's message to itself.
inline bool compares_lengths() { return is_openmpi(); }

inline std::size_t bytes_of(MPI_Count count, const TypeInfo& type) {
  return static_cast<std::size_t>(count) * type.size;
}

// The start of a member's own block, as the library that looks for aliases reckons.
inline const char* block(const void* buffer, std::ptrdiff_t index, std::size_t bytes) {
  return at(buffer, index * static_cast<std::ptrdiff_t>(bytes));
}

// The blocks of a v-form on one side of a call.
struct Side {
  const std::size_t* bytes = nullptr;
  const std::size_t* offsets = nullptr;
  void* base = nullptr;
};

// The arguments of the templates below for the parts that are no templates: arrays of counts and
// displacements of one side, and one type of all blocks or, where `each` is not null, one of each.
struct BlockArguments {
  std::size_t* counts = nullptr;  // elements
  std::size_t* places = nullptr;  // displacements in bytes, signed
  TypeInfo* all = nullptr;
  TypeInfo** each = nullptr;
  bool contiguous = true;  // each block is one piece
  bool bad = false;
  [[nodiscard]] TypeInfo& type(int block) const { return each ? *each[block] : *all; }
};

template <class Count>
void read_counts(Prepared& p, BlockArguments& blocks, std::size_t n, const Count* counts) {
  blocks.counts = p.arrays.take(n);
  blocks.places = p.arrays.take(n);
  p.no_memory |= blocks.counts == nullptr || blocks.places == nullptr;
  for (std::size_t i = 0; i < n && !p.no_memory; ++i) {
    blocks.bad |= counts[i] < 0;
    blocks.counts[i] = static_cast<std::size_t>(counts[i]);
  }
}

template <class Count, class Displacement>
BlockArguments read_blocks(Prepared& p, std::size_t n, const Count* counts, const Displacement* displacements,
                           TypeInfo& type) {
  BlockArguments blocks;
  blocks.all = &type;
  blocks.contiguous = type.contiguous;
  read_counts(p, blocks, n, counts);
  for (std::size_t i = 0; i < n && !p.no_memory; ++i)
    blocks.places[i] = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(displacements[i]) * type.extent);
  return blocks;
}

// One side of a form with a type for each block.
struct TypesOf {
  Form form = Form::alltoallw;
  bool sends = false;
};
// The type of one block; nullptr: the library refuses it.
TypeInfo* block_type(Prepared& p, MPI_Datatype type, std::size_t count, TypesOf side);
// The type of a block that does not exist.
TypeInfo& no_type();

// For MPI_Alltoallw: displacements in bytes. `reason`: covered, or the reason why the call is not ours.
template <class Count, class Displacement>
BlockArguments read_blocks(Prepared& p, std::size_t n, const Count* counts, const Displacement* displacements,
                           const MPI_Datatype* types, TypesOf side, Reason& reason) {
  BlockArguments blocks;
  static_assert(sizeof(TypeInfo*) == sizeof(std::size_t));
  blocks.each = reinterpret_cast<TypeInfo**>(p.arrays.take(n));
  if (blocks.each == nullptr) return p.no_memory = true, blocks;
  read_counts(p, blocks, n, counts);
  for (std::size_t i = 0; i < n && !p.no_memory; ++i) {
    blocks.places[i] = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(displacements[i]));
    blocks.each[i] = block_type(p, types[i], blocks.counts[i], side);
    if (blocks.each[i] == nullptr) return reason = Reason::type, blocks;
    blocks.contiguous &= blocks.each[i]->contiguous;
  }
  return blocks;
}

Side send_blocks(Prepared& p, const void* buffer, const BlockArguments& blocks);
Side receive_blocks(Prepared& p, void* buffer, const BlockArguments& blocks, bool keep);

// The arrays of one side.
template <class Count>
MPI_Count most_of(const Prepared& p, const Count* counts) {
  return *std::max_element(counts, counts + p.members);
}

// --- the functions ---

template <class Count>
Reason prepare_Bcast(Prepared& p, void* buffer, Count count, MPI_Datatype type, int root) {
  TypeInfo* info = p.info(type);
  if (info == nullptr) return Reason::type;
  if (count < 0 || root < 0 || root >= p.members) return Reason::other;
  if (misplaced(p, Form::bcast, buffer, count)) return Reason::other;
  if (!usable(p, Form::bcast, nullptr, info)) return Reason::type;
  p.call.kind = message::Kind::bcast;
  p.call.root = root;
  p.call.bytes = bytes_of(count, *info);
  if (p.call.bytes == 0) return p.nothing = true, Reason::covered;
  if (root == p.member) {
    p.call.send = send_piece(p, buffer, count, *info);
    p.call.receive = const_cast<void*>(p.call.send);
  } else {
    p.call.receive = receive_piece(p, buffer, count, 1, *info, false);
  }
  return Reason::covered;
}

template <class Count>
Reason prepare_Gather(Prepared& p, const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                      Count receive_count, MPI_Datatype receive_type, int root) {
  if (root < 0 || root >= p.members) return Reason::other;
  const bool here = root == p.member;
  const bool in_place = here && send == MPI_IN_PLACE;
  if (!here && send == MPI_IN_PLACE) return Reason::other;
  TypeInfo* from = in_place ? nullptr : p.info(send_type);
  TypeInfo* to = here ? p.info(receive_type) : nullptr;
  if ((!in_place && from == nullptr) || (here && to == nullptr)) return Reason::type;
  if (!usable(p, Form::gather, from, to)) return Reason::type;
  if ((!in_place && send_count < 0) || (here && receive_count < 0)) return Reason::other;
  if (here && misplaced(p, Form::gather, receive, receive_count)) return Reason::other;
  p.call.kind = message::Kind::gather;
  p.call.root = root;
  p.call.bytes = here ? bytes_of(receive_count, *to) : bytes_of(send_count, *from);
  if (here && send_type == receive_type && send_count == receive_count &&
      aliased(p, Form::gather, send, block(receive, p.member, p.call.bytes), send_count))
    return Reason::other;
  if (p.call.bytes == 0) return p.nothing = true, Reason::covered;
  p.call.send = in_place ? message::in_place : send_piece(p, send, send_count, *from);
  if (here) p.call.receive = receive_piece(p, receive, receive_count, p.members, *to, in_place);
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Gatherv(Prepared& p, const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                       const Count* receive_counts, const Displacement* displacements,
                       MPI_Datatype receive_type, int root) {
  if (root < 0 || root >= p.members) return Reason::other;
  const bool here = root == p.member;
  const bool in_place = here && send == MPI_IN_PLACE;
  if (!here && send == MPI_IN_PLACE) return Reason::other;
  TypeInfo* from = in_place ? nullptr : p.info(send_type);
  TypeInfo* to = here ? p.info(receive_type) : nullptr;
  if ((!in_place && from == nullptr) || (here && to == nullptr)) return Reason::type;
  if (!usable(p, Form::gatherv, from, to)) return Reason::type;
  if (!in_place && send_count < 0) return Reason::other;
  if (here && (receive_counts == nullptr || displacements == nullptr ||
               misplaced(p, Form::gatherv, receive, most_of(p, receive_counts))))
    return Reason::other;
  if (here && send_type == receive_type && send_count != 0 && receive_counts[p.member] != 0 &&
      aliased(p, Form::gatherv, send, block(receive, displacements[p.member], to->size), send_count))
    return Reason::other;
  p.call.kind = message::Kind::gather;
  p.call.root = root;
  p.call.bytes = in_place ? 0 : bytes_of(send_count, *from);
  p.call.send = in_place ? message::in_place : send_piece(p, send, send_count, *from);
  if (!here) return Reason::covered;
  const BlockArguments blocks = read_blocks(p, p.size(), receive_counts, displacements, *to);
  if (blocks.bad) return Reason::other;
  if (p.no_memory) return Reason::covered;
  const Side side = receive_blocks(p, receive, blocks, in_place);
  p.call.receive = side.base;
  p.call.receive_bytes = side.bytes;
  p.call.receive_offsets = side.offsets;
  if (side.bytes != nullptr) p.call.bytes = side.bytes[p.member];
  return Reason::covered;
}

template <class Count>
Reason prepare_Scatter(Prepared& p, const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                       Count receive_count, MPI_Datatype receive_type, int root) {
  if (root < 0 || root >= p.members) return Reason::other;
  const bool here = root == p.member;
  const bool in_place = here && receive == MPI_IN_PLACE;
  if (!here && receive == MPI_IN_PLACE) return Reason::other;
  TypeInfo* from = here ? p.info(send_type) : nullptr;
  TypeInfo* to = in_place ? nullptr : p.info(receive_type);
  if ((here && from == nullptr) || (!in_place && to == nullptr)) return Reason::type;
  if (!usable(p, Form::scatter, from, to)) return Reason::type;
  if ((here && send_count < 0) || (!in_place && receive_count < 0)) return Reason::other;
  if (here && misplaced(p, Form::scatter, send, send_count)) return Reason::other;
  p.call.kind = message::Kind::scatter;
  p.call.root = root;
  p.call.bytes = here ? bytes_of(send_count, *from) : bytes_of(receive_count, *to);
  if (here && send_type == receive_type && send_count == receive_count &&
      aliased(p, Form::scatter, receive, block(send, p.member, p.call.bytes), receive_count))
    return Reason::other;
  if (p.call.bytes == 0) return p.nothing = true, Reason::covered;
  if (here) p.call.send = send_piece(p, send, static_cast<MPI_Count>(send_count) * p.members, *from);
  p.call.receive = in_place ? const_cast<void*>(message::in_place)
                            : receive_piece(p, receive, receive_count, 1, *to, false);
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Scatterv(Prepared& p, const void* send, const Count* send_counts,
                        const Displacement* displacements, MPI_Datatype send_type, void* receive,
                        Count receive_count, MPI_Datatype receive_type, int root) {
  if (root < 0 || root >= p.members) return Reason::other;
  const bool here = root == p.member;
  const bool in_place = here && receive == MPI_IN_PLACE;
  if (!here && receive == MPI_IN_PLACE) return Reason::other;
  TypeInfo* from = here ? p.info(send_type) : nullptr;
  TypeInfo* to = in_place ? nullptr : p.info(receive_type);
  if ((here && from == nullptr) || (!in_place && to == nullptr)) return Reason::type;
  if (!usable(p, Form::scatterv, from, to)) return Reason::type;
  if (!in_place && receive_count < 0) return Reason::other;
  if (here && (send_counts == nullptr || displacements == nullptr ||
               misplaced(p, Form::scatterv, send, most_of(p, send_counts))))
    return Reason::other;
  if (here && send_type == receive_type && receive_count != 0 && send_counts[p.member] != 0 &&
      aliased(p, Form::scatterv, receive, block(send, displacements[p.member], from->size), receive_count))
    return Reason::other;
  p.call.kind = message::Kind::scatter;
  p.call.root = root;
  p.call.bytes = in_place ? 0 : bytes_of(receive_count, *to);
  if (here) {
    const BlockArguments blocks = read_blocks(p, p.size(), send_counts, displacements, *from);
    if (blocks.bad) return Reason::other;
    if (p.no_memory) return Reason::covered;
    const Side side = send_blocks(p, send, blocks);
    p.call.send = side.base;
    p.call.send_bytes = side.bytes;
    p.call.send_offsets = side.offsets;
    if (side.bytes != nullptr) p.call.bytes = side.bytes[p.member];
  }
  p.call.receive = in_place ? const_cast<void*>(message::in_place)
                            : receive_piece(p, receive, receive_count, 1, *to, false);
  return Reason::covered;
}

template <class Count>
Reason prepare_Allgather(Prepared& p, const void* send, Count send_count, MPI_Datatype send_type,
                         void* receive, Count receive_count, MPI_Datatype receive_type) {
  const bool in_place = send == MPI_IN_PLACE;
  TypeInfo* from = in_place ? nullptr : p.info(send_type);
  TypeInfo* to = p.info(receive_type);
  if ((!in_place && from == nullptr) || to == nullptr) return Reason::type;
  if (!usable(p, Form::allgather, from, to)) return Reason::type;
  if ((!in_place && send_count < 0) || receive_count < 0) return Reason::other;
  if (misplaced(p, Form::allgather, receive, receive_count)) return Reason::other;
  p.call.kind = message::Kind::allgather;
  p.call.bytes = bytes_of(receive_count, *to);
  if (send_type == receive_type && send_count == receive_count &&
      aliased(p, Form::allgather, send, block(receive, p.member, p.call.bytes), send_count))
    return Reason::other;
  if (p.call.bytes == 0) return p.nothing = true, Reason::covered;
  p.call.send = in_place ? message::in_place : send_piece(p, send, send_count, *from);
  p.call.receive = receive_piece(p, receive, receive_count, p.members, *to, in_place);
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Allgatherv(Prepared& p, const void* send, Count send_count, MPI_Datatype send_type,
                          void* receive, const Count* receive_counts, const Displacement* displacements,
                          MPI_Datatype receive_type) {
  const bool in_place = send == MPI_IN_PLACE;
  TypeInfo* from = in_place ? nullptr : p.info(send_type);
  TypeInfo* to = p.info(receive_type);
  if ((!in_place && from == nullptr) || to == nullptr) return Reason::type;
  if (!usable(p, Form::allgatherv, from, to)) return Reason::type;
  if ((!in_place && send_count < 0) || receive_counts == nullptr || displacements == nullptr ||
      misplaced(p, Form::allgatherv, receive, most_of(p, receive_counts)))
    return Reason::other;
  if (send_type == receive_type && send_count != 0 && receive_counts[p.member] != 0 &&
      aliased(p, Form::allgatherv, send, block(receive, displacements[p.member], to->size), send_count))
    return Reason::other;
  p.call.kind = message::Kind::allgather;
  p.call.send = in_place ? message::in_place : send_piece(p, send, send_count, *from);
  const BlockArguments blocks = read_blocks(p, p.size(), receive_counts, displacements, *to);
  if (blocks.bad) return Reason::other;
  if (p.no_memory) return Reason::covered;
  const Side side = receive_blocks(p, receive, blocks, in_place);
  p.call.receive = side.base;
  p.call.receive_bytes = side.bytes;
  p.call.receive_offsets = side.offsets;
  if (side.bytes != nullptr) p.call.bytes = side.bytes[p.member];
  return Reason::covered;
}

template <class Count>
Reason prepare_Alltoall(Prepared& p, const void* send, Count send_count, MPI_Datatype send_type,
                        void* receive, Count receive_count, MPI_Datatype receive_type) {
  const bool in_place = send == MPI_IN_PLACE;
  TypeInfo* from = in_place ? nullptr : p.info(send_type);
  TypeInfo* to = p.info(receive_type);
  if ((!in_place && from == nullptr) || to == nullptr) return Reason::type;
  if (!usable(p, Form::alltoall, from, to)) return Reason::type;
  if ((!in_place && send_count < 0) || receive_count < 0) return Reason::other;
  if (misplaced(p, Form::alltoall, receive, receive_count)) return Reason::other;
  p.call.kind = message::Kind::alltoall;
  p.call.bytes = bytes_of(receive_count, *to);
  if (compares_lengths() && !in_place && bytes_of(send_count, *from) != p.call.bytes) return Reason::other;
  if (send_type == receive_type && send_count == receive_count &&
      aliased(p, Form::alltoall, send, receive, send_count))
    return Reason::other;
  if (p.call.bytes == 0) return p.nothing = true, Reason::covered;
  p.call.send = in_place ? message::in_place
                         : send_piece(p, send, static_cast<MPI_Count>(send_count) * p.members, *from);
  p.call.receive = receive_piece(p, receive, receive_count, p.members, *to, in_place);
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Alltoallv(Prepared& p, const void* send, const Count* send_counts,
                         const Displacement* send_displacements, MPI_Datatype send_type, void* receive,
                         const Count* receive_counts, const Displacement* receive_displacements,
                         MPI_Datatype receive_type) {
  const bool in_place = send == MPI_IN_PLACE;
  TypeInfo* from = in_place ? nullptr : p.info(send_type);
  TypeInfo* to = p.info(receive_type);
  if ((!in_place && from == nullptr) || to == nullptr) return Reason::type;
  if (!usable(p, Form::alltoallv, from, to)) return Reason::type;
  if ((!in_place && (send_counts == nullptr || send_displacements == nullptr)) || receive_counts == nullptr ||
      receive_displacements == nullptr || misplaced(p, Form::alltoallv, receive, most_of(p, receive_counts)))
    return Reason::other;
  if (compares_lengths() && !in_place &&
      bytes_of(send_counts[p.member], *from) != bytes_of(receive_counts[p.member], *to))
    return Reason::other;
  if (send_type == receive_type && send_counts == receive_counts &&
      aliased(p, Form::alltoallv, send, receive, most_of(p, send_counts)))
    return Reason::other;
  p.call.kind = message::Kind::alltoall;
  p.call.send = message::in_place;
  if (!in_place) {
    const BlockArguments blocks = read_blocks(p, p.size(), send_counts, send_displacements, *from);
    if (blocks.bad) return Reason::other;
    if (p.no_memory) return Reason::covered;
    const Side side = send_blocks(p, send, blocks);
    p.call.send = side.base;
    p.call.send_bytes = side.bytes;
    p.call.send_offsets = side.offsets;
  }
  const BlockArguments blocks = read_blocks(p, p.size(), receive_counts, receive_displacements, *to);
  if (blocks.bad) return Reason::other;
  if (p.no_memory) return Reason::covered;
  const Side side = receive_blocks(p, receive, blocks, in_place);
  p.call.receive = side.base;
  p.call.receive_bytes = side.bytes;
  p.call.receive_offsets = side.offsets;
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Alltoallw(Prepared& p, const void* send, const Count* send_counts,
                         const Displacement* send_displacements, const MPI_Datatype* send_types,
                         void* receive, const Count* receive_counts,
                         const Displacement* receive_displacements, const MPI_Datatype* receive_types) {
  const bool in_place = send == MPI_IN_PLACE;
  if ((!in_place && (send_counts == nullptr || send_displacements == nullptr || send_types == nullptr)) ||
      receive_counts == nullptr || receive_displacements == nullptr || receive_types == nullptr ||
      misplaced(p, Form::alltoallw, receive, most_of(p, receive_counts)))
    return Reason::other;
  if (send_types == receive_types && send_counts == receive_counts &&
      aliased(p, Form::alltoallw, send, receive, most_of(p, send_counts)))
    return Reason::other;
  Reason reason = Reason::covered;
  p.call.kind = message::Kind::alltoall;
  p.call.send = message::in_place;
  const BlockArguments to = read_blocks(p, p.size(), receive_counts, receive_displacements, receive_types,
                                        {.sends = false}, reason);
  if (reason != Reason::covered || to.bad) return reason == Reason::covered ? Reason::other : reason;
  if (p.no_memory) return Reason::covered;
  if (!in_place) {
    const BlockArguments from =
        read_blocks(p, p.size(), send_counts, send_displacements, send_types, {.sends = true}, reason);
    if (reason != Reason::covered || from.bad) return reason == Reason::covered ? Reason::other : reason;
    if (p.no_memory) return Reason::covered;
    if (compares_lengths() &&
        from.counts[p.member] * from.type(p.member).size != to.counts[p.member] * to.type(p.member).size)
      return Reason::other;
    const Side side = send_blocks(p, send, from);
    p.call.send = side.base;
    p.call.send_bytes = side.bytes;
    p.call.send_offsets = side.offsets;
  }
  const Side side = receive_blocks(p, receive, to, in_place);
  p.call.receive = side.base;
  p.call.receive_bytes = side.bytes;
  p.call.receive_offsets = side.offsets;
  return Reason::covered;
}

}  // namespace nigh::mpi::coll
