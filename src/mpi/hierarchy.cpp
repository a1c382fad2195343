// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over several nodes that reduce, Barrier and Bcast: see hierarchy.hpp.
#include "mpi/handlers.hpp"
#include "mpi/hierarchy_chain.hpp"
#include "mpi/hierarchy_steps.hpp"

namespace nigh::mpi::coll {
namespace {

using message::Call;
using message::Kind;
using message::Outcome;

// The operand and the result of this node's part of a reduction. `where`: the leader's buffer for the result,
// nullptr for one of our own; false: no memory.
struct NodeSum {
  Call call;
  char* result = nullptr;  // the leader's
  Temporary temporary;
  bool make(const CommState& state, const Prepared& p, void* where) {
    call.kind = Kind::reduce;
    call.root = 0;
    call.bytes = p.call.bytes;
    call.combine = p.call.combine;
    call.send = p.call.send;
    const bool leader = own_place(state) == 0;
    if (call.send == message::in_place && (!leader || where != p.call.receive)) call.send = p.call.receive;
    if (!leader) return true;
    result = static_cast<char*>(where != nullptr ? where : temporary.take(call.bytes));
    call.receive = result;
    return result != nullptr;
  }
  // Alone on the node: the operand is the result.
  void alone() const {
    if (result && call.send != message::in_place && call.send != result)
      std::memcpy(result, call.send, call.bytes);
  }
};

// Between nodes. Never in place: MPICH 4.0 crashes then at roots other than 0, from 2 KiB on. Never without a
// buffer for the result: MPICH 3.4 writes to that of a leader that is no root.
int reduce_between(const Hierarchy& levels, MPI_Comm comm, int root_node, const char* from, char* to,
                   MPI_Count count, std::size_t element, MPI_Datatype type, MPI_Op op) {
  const auto bytes = static_cast<std::size_t>(count) * element;
  if (const std::size_t piece = piece_of_chain(bytes, levels.nodes); piece != 0) {
    return Chain{comm, levels.nodes, levels.node}.reduce(root_node, from, to, bytes, element, type, op,
                                                         piece);
  }
  Temporary unused;
  if (to == nullptr && !is_openmpi()) to = static_cast<char*>(unused.take(bytes));
  int code = MPI_SUCCESS;
  for (MPI_Count at = 0; at < count && code == MPI_SUCCESS; at += most_elements) {
    const std::size_t before = static_cast<std::size_t>(at) * element;
    code = real().Reduce(from + before, to != nullptr ? to + before : nullptr,
                         static_cast<int>(std::min(most_elements, count - at)), type, op, root_node, comm);
  }
  return code;
}

int allreduce_between(MPI_Comm comm, char* data, MPI_Count count, std::size_t element, MPI_Datatype type,
                      MPI_Op op) {
  int code = MPI_SUCCESS;
  for (MPI_Count at = 0; at < count && code == MPI_SUCCESS; at += most_elements)
    code = real().Allreduce(MPI_IN_PLACE, data + static_cast<std::size_t>(at) * element,
                            static_cast<int>(std::min(most_elements, count - at)), type, op, comm);
  return code;
}

int bcast_between(const Hierarchy& levels, int root_node, char* data, std::size_t bytes) {
  if (const std::size_t piece = piece_of_chain(bytes, levels.nodes); piece != 0)
    return Chain{levels.leaders, levels.nodes, levels.node}.bcast(root_node, data, bytes, piece);
  int code = MPI_SUCCESS;
  const auto all = static_cast<MPI_Count>(bytes);
  for (MPI_Count at = 0; at < all && code == MPI_SUCCESS; at += most_elements)
    code = real().Bcast(data + at, static_cast<int>(std::min(most_elements, all - at)), MPI_BYTE, root_node,
                        levels.leaders);
  return code;
}

}  // namespace

int report(const CommState& state, Ended ended) {
  if (ended.outcome != Outcome::ok) return raise(state.comm, ended.outcome);
  return ended.code == MPI_SUCCESS ? MPI_SUCCESS : raise(state.comm, ended.code);
}

bool commutes(MPI_Op op) {
  int yes = 0;
  return real().Op_commutative(op, &yes) == MPI_SUCCESS && yes != 0;
}

// To the leaders and back again, which is half of two barriers: a reduction of one number and its broadcast.
Ended hierarchical_barrier(CommState& state) {
  Prepared p;
  place(p, state);
  int here = 0, all = 0;
  Outcome outcome = Outcome::no_memory;
  int code = MPI_SUCCESS;
  if (prepare_Allreduce(p, &here, &all, 1, MPI_INT, MPI_MAX) == Reason::covered) {
    NodeSum sum;
    outcome = sum.make(state, p, &all) ? within(state, sum.call) : Outcome::no_memory;
    // Not their Barrier, which in Open MPI takes half as long again.
    if (outcome == Outcome::ok && leads(*state.hierarchy))
      code = real().Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, state.hierarchy->leaders);
    if (outcome == Outcome::ok) outcome = bcast_within(state, &all, sizeof all, 0);
  }
  return {outcome, code};
}

// Between nodes first where the root leads its node; else on its node, so that the leader has it.
Ended hierarchical_bcast(CommState& state, Prepared& p) {
  Outcome outcome = Outcome::ok;
  int code = MPI_SUCCESS;
  const Hierarchy& levels = *state.hierarchy;
  const int root_node = node_of(state, p.call.root), root_place = place_of(state, p.call.root);
  const bool here_first = levels.node == root_node && root_place != 0;
  auto* data = static_cast<char*>(p.call.receive);
  if (here_first) outcome = bcast_within(state, data, p.call.bytes, root_place);
  if (leads(levels)) code = bcast_between(levels, root_node, data, p.call.bytes);
  if (!here_first && outcome == Outcome::ok) outcome = bcast_within(state, data, p.call.bytes, 0);
  if (outcome == Outcome::ok && !finish(p)) outcome = Outcome::no_memory;
  return {outcome, code};
}

namespace {

// Several leaders on each node: each member reduces a share of the elements, and the members at the same
// place of all nodes, a column, reduce it between them. As many bytes go between nodes as by one leader, but
// all members work.
struct Shares {
  std::size_t *bytes = nullptr, *offsets = nullptr;  // by place
  Temporary mine;
  std::size_t own = 0;  // bytes of mine
  bool make(const CommState& state, Prepared& p, MPI_Count count) {
    const std::size_t members = state.hierarchy->members.size(), element = p.call.combine->element_bytes;
    const std::size_t all = static_cast<std::size_t>(count), share = (all + members - 1) / members;
    bytes = p.arrays.take(2 * members);
    if (bytes == nullptr || mine.take(share * element) == nullptr) return false;
    offsets = bytes + members;
    for (std::size_t i = 0; i < members; ++i) {
      const std::size_t from = std::min(i * share, all);
      offsets[i] = from * element;
      bytes[i] = (std::min(from + share, all) - from) * element;
    }
    own = bytes[own_place(state)];
    return true;
  }
  // The node's sum of each share, to its member.
  Outcome reduce(CommState& state, const Prepared& p) const {
    Call call = p.call;
    call.kind = Kind::reduce_scatter;
    call.root = 0;
    if (call.send == message::in_place) call.send = p.call.receive;
    call.receive = mine.data();
    call.receive_bytes = bytes;
    call.receive_offsets = offsets;
    call.bytes = own;
    return within(state, call);
  }
  // All shares, to every member or to the one at place `root`.
  Outcome gather(CommState& state, void* to, Kind kind, int root) const {
    Call call;
    call.kind = kind;
    call.root = root;
    call.send = mine.data();
    call.bytes = own;
    if (kind == Kind::allgather || own_place(state) == root) {
      call.receive = to;
      call.receive_bytes = bytes;
      call.receive_offsets = offsets;
    }
    return within(state, call);
  }
};

// The columns' communicator, made when first needed. Without it the calls go on by the leaders or are the
// library's.
bool has_columns(const CommState& state) {
  Hierarchy& levels = *state.hierarchy;
  if (levels.columns != MPI_COMM_NULL) return true;
  MPI_Errhandler kept = MPI_ERRHANDLER_NULL;
  if (real().Comm_get_errhandler(state.comm, &kept) != MPI_SUCCESS) return levels.even = false;
  real().Comm_set_errhandler(state.comm, errors_return());
  const int error = real().Comm_split(state.comm, own_place(state), levels.node, &levels.columns);
  real().Comm_set_errhandler(state.comm, kept);
  real().Errhandler_free(&kept);
  if (error != MPI_SUCCESS) return levels.even = false;
  real().Comm_set_errhandler(levels.columns, errors_return());
  return true;
}

Ended allreduce_in_columns(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  const std::size_t element = p.call.combine->element_bytes;
  Shares shares;
  if (!shares.make(state, p, count)) return {Outcome::no_memory};
  int code = MPI_SUCCESS;
  Outcome outcome = shares.reduce(state, p);
  if (outcome == Outcome::ok)
    code = allreduce_between(state.hierarchy->columns, shares.mine.data(),
                             static_cast<MPI_Count>(shares.own / element), element, type, op);
  if (outcome == Outcome::ok) outcome = shares.gather(state, p.call.receive, Kind::allgather, 0);
  return {outcome, code};
}

Ended reduce_in_columns(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  const Hierarchy& levels = *state.hierarchy;
  const int root_node = node_of(state, p.call.root);
  const bool mine = levels.node == root_node;
  const std::size_t element = p.call.combine->element_bytes;
  Shares shares;
  Temporary total;
  if (!shares.make(state, p, count) || (mine && total.take(shares.own) == nullptr))
    return {Outcome::no_memory};
  int code = MPI_SUCCESS;
  Outcome outcome = shares.reduce(state, p);
  const auto elements = static_cast<MPI_Count>(shares.own / element);
  // Without a chain a large one is faster as an Allreduce, whose links all carry as much. (By the average
  // share: all members decide alike.)
  const bool as_allreduce = p.call.bytes > most_to_one_node &&
                            piece_of_chain(p.call.bytes / levels.members.size(), levels.nodes) == 0;
  if (outcome == Outcome::ok && as_allreduce)
    code = allreduce_between(levels.columns, shares.mine.data(), elements, element, type, op);
  else if (outcome == Outcome::ok)
    code = reduce_between(levels, levels.columns, root_node, shares.mine.data(),
                          mine ? total.data() : nullptr, elements, element, type, op);
  if (outcome == Outcome::ok && mine) {
    if (!as_allreduce) std::memcpy(shares.mine.data(), total.data(), shares.own);
    outcome = shares.gather(state, p.call.receive, Kind::gather, place_of(state, p.call.root));
  }
  return {outcome, code};
}

}  // namespace

Ended hierarchical_allreduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (in_columns(state, p.call.bytes) && has_columns(state))
    return allreduce_in_columns(state, p, count, type, op);
  NodeSum sum;
  Outcome outcome = sum.make(state, p, p.call.receive) ? Outcome::ok : Outcome::no_memory;
  if (outcome == Outcome::ok) outcome = within(state, sum.call);
  int code = MPI_SUCCESS;
  if (outcome == Outcome::ok && leads(*state.hierarchy)) {
    if (state.group == nullptr) sum.alone();
    code = allreduce_between(state.hierarchy->leaders, sum.result, count, p.call.combine->element_bytes, type,
                             op);
  }
  if (outcome == Outcome::ok) outcome = bcast_within(state, p.call.receive, p.call.bytes, 0);
  return {outcome, code};
}

// Within nodes to the leaders, between them to that of the root's node, which hands it to the root.
Ended hierarchical_reduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (in_columns(state, p.call.bytes) && has_columns(state))
    return reduce_in_columns(state, p, count, type, op);
  const Hierarchy& levels = *state.hierarchy;
  const int root = p.call.root, root_node = node_of(state, root), root_place = place_of(state, root);
  const bool mine = levels.node == root_node;
  NodeSum sum;
  Outcome outcome = sum.make(state, p, nullptr) ? Outcome::ok : Outcome::no_memory;
  char* total = nullptr;  // of all nodes, at the leader of the root's
  if (mine && leads(levels)) {
    total = static_cast<char*>(root_place == 0 ? p.call.receive : p.receive.take(p.call.bytes));
    if (total == nullptr) outcome = Outcome::no_memory;
  }
  if (outcome == Outcome::ok) outcome = within(state, sum.call);
  int code = MPI_SUCCESS;
  if (outcome == Outcome::ok && leads(levels)) {
    if (state.group == nullptr) sum.alone();
    code = reduce_between(levels, levels.leaders, root_node, sum.result, total, count,
                          p.call.combine->element_bytes, type, op);
  }
  if (outcome == Outcome::ok && mine && root_place != 0)
    outcome = hand_to_member(state, p.arrays, root_place, total, p.call.receive, p.call.bytes);
  return {outcome, code};
}

// Only where each node's ranks follow each other: a node's part of the sum is then one piece.
Ended hierarchical_reduce_scatter_block(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type,
                                        MPI_Op op) {
  const Hierarchy& levels = *state.hierarchy;
  const std::size_t block = p.call.bytes, all = block * static_cast<std::size_t>(state.size);
  const bool leader = leads(levels);
  NodeOrder order;
  Temporary sum, here;
  if (leader && (sum.take(all) == nullptr || here.take(block * levels.members.size()) == nullptr ||
                 !order.make(state, p.arrays, [](int) { return 1; })))
    return {Outcome::no_memory};
  Call call;
  call.kind = Kind::reduce;
  call.bytes = all;
  call.combine = p.call.combine;
  call.send = p.call.send == message::in_place ? p.call.receive : p.call.send;
  call.receive = sum.data();
  Outcome outcome = within(state, call);
  int code = MPI_SUCCESS;
  if (outcome == Outcome::ok && leader) {
    const void* const operand = state.group != nullptr ? sum.data() : call.send;
    for (int node = 0; node < levels.nodes; ++node) order.counts[node] *= static_cast<int>(count);
    code = order.equal
               ? real().Reduce_scatter_block(operand, here.data(), order.counts[0], type, op, levels.leaders)
               : real().Reduce_scatter(operand, here.data(), order.counts, type, op, levels.leaders);
  }
  Call back;
  back.kind = Kind::scatter;
  back.bytes = block;
  back.send = here.data();
  back.receive = p.call.receive;
  if (outcome == Outcome::ok) outcome = within(state, back);
  if (outcome == Outcome::ok && state.group == nullptr) std::memcpy(p.call.receive, here.data(), block);
  return {outcome, code};
}

}  // namespace nigh::mpi::coll
