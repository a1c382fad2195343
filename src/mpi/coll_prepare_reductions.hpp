// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that reduce, as in coll_prepare.hpp: operation and type decide whether they are ours, which
// all members share.
#pragma once

#include "mpi/coll_prepare.hpp"

namespace nigh::mpi::coll {

// Floating sums, products, minima and maxima (of zeros and NaNs), and what a user's function does.
inline bool depends_on_order(const message::Combine& combine) {
  return combine.floating_sum || combine.ordered != nullptr || combine.user != nullptr;
}

// The part that all reductions share: operation, type, operands.
template <class Count>
Reason prepare_reduction(Prepared& p, message::Kind kind, Form form, const void* send, void* receive,
                         Count count, MPI_Datatype type, MPI_Op op) {
  if (count < 0) return Reason::other;
  p.call.kind = kind;
  p.call.combine = p.reduction.find(op, type);
  // The program may free its operation while a non-blocking call of it is under way; the library knows how to
  // wait.
  if (p.call.combine == nullptr || (p.outlives_call && p.call.combine == &p.reduction.own))
    return Reason::operation;
  if (process().library_order && depends_on_order(*p.call.combine)) return Reason::order;
  if (aliased(p, form, send, receive, count)) return Reason::other;
  p.call.bytes = static_cast<std::size_t>(count) * p.call.combine->element_bytes;
  if (p.call.bytes == 0) return p.nothing = true, Reason::covered;
  p.call.send = send == MPI_IN_PLACE ? message::in_place : send;
  p.call.receive = receive;
  return p.call.send != nullptr ? Reason::covered : Reason::other;
}

template <class Count>
Reason prepare_Allreduce(Prepared& p, const void* send, void* receive, Count count, MPI_Datatype type,
                         MPI_Op op) {
  if (misplaced(p, Form::allreduce, receive, count)) return Reason::other;
  const Reason reason =
      prepare_reduction(p, message::Kind::allreduce, Form::allreduce, send, receive, count, type, op);
  return reason == Reason::covered && receive == nullptr && !p.nothing ? Reason::other : reason;
}

template <class Count>
Reason prepare_Reduce(Prepared& p, const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op,
                      int root) {
  if (root < 0 || root >= p.members) return Reason::other;
  const bool here = root == p.member;
  if (here ? receive == nullptr && count != 0 : send == MPI_IN_PLACE) return Reason::other;
  if (here && misplaced(p, Form::reduce, receive, count)) return Reason::other;
  p.call.root = root;
  return prepare_reduction(p, message::Kind::reduce, Form::reduce, send, here ? receive : nullptr, count,
                           type, op);
}

template <class Count>
Reason prepare_Scan(Prepared& p, const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op) {
  if (misplaced(p, Form::scan, receive, count)) return Reason::other;
  const Reason reason = prepare_reduction(p, message::Kind::scan, Form::scan, send, receive, count, type, op);
  return reason == Reason::covered && receive == nullptr && !p.nothing ? Reason::other : reason;
}

template <class Count>
Reason prepare_Exscan(Prepared& p, const void* send, void* receive, Count count, MPI_Datatype type,
                      MPI_Op op) {
  const bool first = p.member == 0;  // gets nothing
  const bool nowhere = receive == nullptr || receive == MPI_IN_PLACE;
  if (!first && misplaced(p, Form::exscan, receive, count)) return Reason::other;
  if (first && receive == MPI_IN_PLACE && refused(p, Form::exscan).first_in_place && count != 0)
    return Reason::other;
  if (first && receive == nullptr && refused(p, Form::exscan).first_null && count != 0) return Reason::other;
  if (nowhere && count != 0 && (!first || send == MPI_IN_PLACE)) return Reason::other;
  return prepare_reduction(p, message::Kind::exscan, Form::exscan, send, nowhere ? nullptr : receive, count,
                           type, op);
}

template <class Count>
Reason prepare_Reduce_scatter_block(Prepared& p, const void* send, void* receive, Count count,
                                    MPI_Datatype type, MPI_Op op) {
  if (misplaced(p, Form::reduce_scatter_block, receive, count) || (receive == nullptr && count != 0))
    return Reason::other;
  return prepare_reduction(p, message::Kind::reduce_scatter, Form::reduce_scatter_block, send, receive, count,
                           type, op);
}

template <class Count>
Reason prepare_Reduce_scatter(Prepared& p, const void* send, void* receive, const Count* counts,
                              MPI_Datatype type, MPI_Op op) {
  std::size_t* words = p.arrays.take(2 * static_cast<std::size_t>(p.members));
  if (words == nullptr) return p.no_memory = true, Reason::covered;
  if (counts == nullptr) return Reason::other;
  MPI_Count all = 0;
  for (int i = 0; i < p.members; ++i) {
    if (counts[i] < 0) return Reason::other;
    all += counts[i];
  }
  if (misplaced(p, Form::reduce_scatter, receive, counts[p.member]) ||
      (receive == nullptr && counts[p.member] != 0))
    return Reason::other;
  const Reason reason = prepare_reduction(p, message::Kind::reduce_scatter, Form::reduce_scatter, send,
                                          receive == MPI_IN_PLACE ? nullptr : receive, all, type, op);
  if (reason != Reason::covered || p.nothing) return reason;
  std::size_t offset = 0;
  for (int i = 0; i < p.members; ++i) {
    words[i] = static_cast<std::size_t>(counts[i]) * p.call.combine->element_bytes;
    words[p.members + i] = offset;
    offset += words[i];
  }
  p.call.receive_bytes = words;
  p.call.receive_offsets = words + p.members;
  p.call.bytes = words[p.member];
  return Reason::covered;
}

}  // namespace nigh::mpi::coll
