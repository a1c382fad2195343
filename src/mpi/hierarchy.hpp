// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over several nodes, when all ranks of the job promise to have us (NIGH_MPI_HIERARCHY): the part
// within a node is ours, between nodes one leader of each speaks through the library. Operands meet in
// another order than that of the ranks, so reductions are ours only where the operation commutes.
#pragma once

#include "mpi/coll_bytes.hpp"
#include "mpi/coll_prepare_reductions.hpp"

namespace nigh::mpi::coll {

int hierarchical_barrier(Function function, CommState& state);
int hierarchical_bcast(Function function, CommState& state, Prepared& p);
// The arguments as MPI has them; `p` was prepared from them.
int hierarchical_reduce(Function function, CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type,
                        MPI_Op op);
int hierarchical_allreduce(Function function, CommState& state, Prepared& p, MPI_Count count,
                           MPI_Datatype type, MPI_Op op);
bool commutes(MPI_Op op);

// Above it the libraries scatter and gather the operands of MPI_Allreduce, and as many bytes go between nodes
// as by leaders, while within nodes others are under way: leaders were up to a quarter slower at 512 KiB. A
// constant, not what was measured at the start: sums must not depend on how busy the nodes were then.
constexpr std::size_t most_of_leaders = 65536;

inline void place(Prepared& p, const CommState& state) {
  p.members = state.size;
  p.member = state.rank;
}

template <class Bytes, class Library>
int hand_on(Function function, Reason reason, const CommState& state, Bytes bytes, Library library) {
  if (reason == Reason::covered) reason = Reason::other;
  count(function, reason);
  const int error = library();
  if (error == MPI_SUCCESS) count_bytes(function, reason, bytes(members_of(state.comm)));
  return error;
}

template <class Library>
int hierarchical_Barrier(Function function, CommState& state, Library /*library*/) {
  return hierarchical_barrier(function, state);
}

template <class Count, class Bytes, class Library>
int hierarchical_Bcast(Function function, CommState& state, void* buffer, Count count, MPI_Datatype type,
                       int root, Bytes bytes, Library library) {
  Prepared p;
  place(p, state);
  const Reason reason = prepare_Bcast(p, buffer, count, type, root);
  if (reason != Reason::covered || p.bad_buffer) return hand_on(function, reason, state, bytes, library);
  return hierarchical_bcast(function, state, p);
}

template <class Count, class Bytes, class Library>
int hierarchical_Reduce(Function function, CommState& state, const void* send, void* receive, Count count,
                        MPI_Datatype type, MPI_Op op, int root, Bytes bytes, Library library) {
  Prepared p;
  place(p, state);
  Reason reason = prepare_Reduce(p, send, receive, count, type, op, root);
  if (reason == Reason::covered && !commutes(op)) reason = Reason::operation;
  if (reason != Reason::covered) return hand_on(function, reason, state, bytes, library);
  return hierarchical_reduce(function, state, p, count, type, op);
}

template <class Count, class Bytes, class Library>
int hierarchical_Allreduce(Function function, CommState& state, const void* send, void* receive, Count count,
                           MPI_Datatype type, MPI_Op op, Bytes bytes, Library library) {
  Prepared p;
  place(p, state);
  Reason reason = prepare_Allreduce(p, send, receive, count, type, op);
  if (reason == Reason::covered && !commutes(op)) reason = Reason::operation;
  if (reason == Reason::covered && p.call.bytes > most_of_leaders) reason = Reason::distant;
  if (reason != Reason::covered) return hand_on(function, reason, state, bytes, library);
  return hierarchical_allreduce(function, state, p, count, type, op);
}

}  // namespace nigh::mpi::coll
