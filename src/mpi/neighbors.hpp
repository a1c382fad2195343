// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbourhood collectives as exchanges in which most members give each other nothing. A block belongs to an
// edge of the topology; where several edges join the same two members, their blocks travel as one. Ours are
// Cartesian topologies and distributed graphs. In a graph of MPI_Graph_create only one of two members may
// have named their edge, which no member could see, so it is the library's.
#pragma once

#include <memory>
#include <vector>

#include "mpi/coll_prepare.hpp"

namespace nigh::mpi::coll {

struct Neighbors {
  std::vector<int> sources, destinations;  // members or MPI_PROC_NULL, in the order of their blocks
  bool sources_repeat = false, destinations_repeat = false;  // a member stands there more than once
  // The order in which blocks of several edges to one member must be sent to be received as they are listed:
  // in the three forms in which blocks differ, as blocking and as other calls.
  enum class Order { unknown, listed, crossed, reversed };
  static constexpr int ordered_forms = 3;
  Order order[ordered_forms][2] = {};
};

// Empty: the calls are the library's, on all members alike.
const std::shared_ptr<const Neighbors>& neighbors_of(MPI_Comm comm);

// Fills in what all forms share. Covered, or why the call is the library's.
Reason begin_exchange(Prepared& p, const Neighbors* around, const void* send, const void* receive);
// The same of forms with one type on each side.
Reason begin_exchange(Prepared& p, const Neighbors* around, Form form, const void* send,
                      MPI_Datatype send_type, const void* receive, MPI_Datatype receive_type, TypeInfo*& from,
                      TypeInfo*& to);
// MPICH refuses null with a count, also where no block is sent or received.
void look_for_buffer(Prepared& p, const void* buffer, MPI_Count count, const TypeInfo& type);
// From blocks to a call: the same block to all, equal blocks one after the other, blocks of edges.
void send_to_all(Prepared& p, const Neighbors& around, const void* buffer, MPI_Count count, TypeInfo& type);
void send_equal(Prepared& p, const Neighbors& around, const void* buffer, MPI_Count count, TypeInfo& type);
void receive_equal(Prepared& p, const Neighbors& around, void* buffer, MPI_Count count, TypeInfo& type);
void send_edges(Prepared& p, const Neighbors& around, Form form, const void* buffer,
                const BlockArguments& edges);
void receive_edges(Prepared& p, const Neighbors& around, void* buffer, const BlockArguments& edges);

template <class Count>
Reason prepare_Neighbor_allgather(Prepared& p, const Neighbors* around, const void* send, Count send_count,
                                  MPI_Datatype send_type, void* receive, Count receive_count,
                                  MPI_Datatype receive_type) {
  TypeInfo *from = nullptr, *to = nullptr;
  const Reason reason =
      begin_exchange(p, around, Form::neighbor_allgather, send, send_type, receive, receive_type, from, to);
  if (reason != Reason::covered) return reason;
  if (send_count < 0 || receive_count < 0) return Reason::other;
  look_for_buffer(p, receive, receive_count, *to);
  send_to_all(p, *around, send, send_count, *from);
  receive_equal(p, *around, receive, receive_count, *to);
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Neighbor_allgatherv(Prepared& p, const Neighbors* around, const void* send, Count send_count,
                                   MPI_Datatype send_type, void* receive, const Count* receive_counts,
                                   const Displacement* displacements, MPI_Datatype receive_type) {
  TypeInfo *from = nullptr, *to = nullptr;
  const Reason reason =
      begin_exchange(p, around, Form::neighbor_allgatherv, send, send_type, receive, receive_type, from, to);
  if (reason != Reason::covered) return reason;
  if (send_count < 0 || (!around->sources.empty() && (receive_counts == nullptr || displacements == nullptr)))
    return Reason::other;
  const BlockArguments edges = read_blocks(p, around->sources.size(), receive_counts, displacements, *to);
  if (edges.bad) return Reason::other;
  send_to_all(p, *around, send, send_count, *from);
  receive_edges(p, *around, receive, edges);
  return Reason::covered;
}

template <class Count>
Reason prepare_Neighbor_alltoall(Prepared& p, const Neighbors* around, const void* send, Count send_count,
                                 MPI_Datatype send_type, void* receive, Count receive_count,
                                 MPI_Datatype receive_type) {
  TypeInfo *from = nullptr, *to = nullptr;
  const Reason reason =
      begin_exchange(p, around, Form::neighbor_alltoall, send, send_type, receive, receive_type, from, to);
  if (reason != Reason::covered) return reason;
  if (send_count < 0 || receive_count < 0 ||
      (compares_lengths() && bytes_of(send_count, *from) != bytes_of(receive_count, *to)))
    return Reason::other;
  look_for_buffer(p, send, send_count, *from);
  look_for_buffer(p, receive, receive_count, *to);
  send_equal(p, *around, send, send_count, *from);
  receive_equal(p, *around, receive, receive_count, *to);
  return Reason::covered;
}

template <class Count, class Displacement>
Reason prepare_Neighbor_alltoallv(Prepared& p, const Neighbors* around, const void* send,
                                  const Count* send_counts, const Displacement* send_displacements,
                                  MPI_Datatype send_type, void* receive, const Count* receive_counts,
                                  const Displacement* receive_displacements, MPI_Datatype receive_type) {
  TypeInfo *from = nullptr, *to = nullptr;
  const Reason reason =
      begin_exchange(p, around, Form::neighbor_alltoallv, send, send_type, receive, receive_type, from, to);
  if (reason != Reason::covered) return reason;
  if ((!around->destinations.empty() && (send_counts == nullptr || send_displacements == nullptr)) ||
      (!around->sources.empty() && (receive_counts == nullptr || receive_displacements == nullptr)))
    return Reason::other;
  const BlockArguments out =
      read_blocks(p, around->destinations.size(), send_counts, send_displacements, *from);
  const BlockArguments in =
      read_blocks(p, around->sources.size(), receive_counts, receive_displacements, *to);
  if (out.bad || in.bad) return Reason::other;
  send_edges(p, *around, Form::neighbor_alltoallv, send, out);
  receive_edges(p, *around, receive, in);
  return Reason::covered;
}

template <class Count>
Reason prepare_Neighbor_alltoallw(Prepared& p, const Neighbors* around, const void* send,
                                  const Count* send_counts, const MPI_Aint* send_displacements,
                                  const MPI_Datatype* send_types, void* receive, const Count* receive_counts,
                                  const MPI_Aint* receive_displacements, const MPI_Datatype* receive_types) {
  Reason reason = begin_exchange(p, around, send, receive);
  if (reason != Reason::covered) return reason;
  if ((!around->destinations.empty() &&
       (send_counts == nullptr || send_displacements == nullptr || send_types == nullptr)) ||
      (!around->sources.empty() &&
       (receive_counts == nullptr || receive_displacements == nullptr || receive_types == nullptr)))
    return Reason::other;
  constexpr Form form = Form::neighbor_alltoallw;
  const BlockArguments out = read_blocks(p, around->destinations.size(), send_counts, send_displacements,
                                         send_types, {.form = form, .sends = true}, reason);
  if (reason != Reason::covered) return reason;
  const BlockArguments in = read_blocks(p, around->sources.size(), receive_counts, receive_displacements,
                                        receive_types, {.form = form, .sends = false}, reason);
  if (reason != Reason::covered) return reason;
  if (out.bad || in.bad) return Reason::other;
  send_edges(p, *around, form, send, out);
  receive_edges(p, *around, receive, in);
  return Reason::covered;
}

}  // namespace nigh::mpi::coll
