// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See hierarchy.hpp. The leader of a node is its first member: place 0 in the node's group, and the node's
// number among the leaders. A node with one member has no group; its only member is its leader.
#include "mpi/hierarchy.hpp"

#include <algorithm>
#include <cstring>

namespace nigh::mpi::coll {
namespace {

using message::Call;
using message::Kind;
using message::Outcome;

// The most that the library accepts at once.
constexpr MPI_Count most = MPI_Count{1} << 30;

// One call within the node; nothing to do for a member that is alone there.
Outcome within(CommState& state, const Call& call) {
  if (state.group == nullptr) return Outcome::ok;
  Coll& coll = *coll_of(state);
  coll.enter();
  const Outcome outcome = coll.group->run(call);
  coll.leave();
  return outcome;
}

bool leads(const Hierarchy& levels) { return levels.leaders != MPI_COMM_NULL; }

int own_place(const CommState& state) {
  return state.hierarchy->local_of[static_cast<std::size_t>(state.rank)];
}
int place_of(const CommState& state, int rank) {
  return state.hierarchy->local_of[static_cast<std::size_t>(rank)];
}
int node_of(const CommState& state, int rank) {
  return state.hierarchy->node_of[static_cast<std::size_t>(rank)];
}

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

Outcome bcast_within(CommState& state, void* data, std::size_t bytes, int root) {
  Call call;
  call.kind = Kind::bcast;
  call.receive = data;
  if (own_place(state) == root) call.send = data;
  call.bytes = bytes;
  call.root = root;
  return within(state, call);
}

// Between the leaders. Never in place: MPICH 4.0 crashes then at roots other than 0, from 2 KiB on.
int reduce_of_leaders(const Hierarchy& levels, int root_node, const char* from, char* to, const Prepared& p,
                      MPI_Count count, MPI_Datatype type, MPI_Op op) {
  int code = MPI_SUCCESS;
  for (MPI_Count at = 0; at < count && code == MPI_SUCCESS; at += most) {
    const std::size_t before = static_cast<std::size_t>(at) * p.call.combine->element_bytes;
    code = real().Reduce(from + before, to != nullptr ? to + before : nullptr,
                         static_cast<int>(std::min(most, count - at)), type, op, root_node, levels.leaders);
  }
  return code;
}

// The ranks in the order of their nodes.
struct NodeOrder {
  int* ranks = nullptr;                      // by place in that order
  int* begins = nullptr;                     // by node: the place of its first rank
  int* counts = nullptr;                     // by node: its ranks
  int *bytes = nullptr, *offsets = nullptr;  // by node, for the leaders' v-forms
  bool equal = true;                         // nodes have as many ranks each
  bool make(const CommState& state, Arrays& arrays, std::size_t unit) {
    const Hierarchy& levels = *state.hierarchy;
    const auto nodes = static_cast<std::size_t>(levels.nodes), size = static_cast<std::size_t>(state.size);
    auto* const words = reinterpret_cast<int*>(arrays.take(4 * nodes + size));
    if (words == nullptr) return false;
    counts = words;
    begins = counts + nodes;
    bytes = begins + nodes;
    offsets = bytes + nodes;
    ranks = offsets + nodes;
    std::fill(counts, counts + nodes, 0);
    for (const int node : levels.node_of) ++counts[node];
    for (std::size_t i = 0; i < nodes; ++i) {
      begins[i] = i == 0 ? 0 : begins[i - 1] + counts[i - 1];
      bytes[i] = counts[i] * static_cast<int>(unit);
      offsets[i] = begins[i] * static_cast<int>(unit);
      equal = equal && counts[i] == counts[0];
    }
    for (int rank = 0; rank < state.size; ++rank)
      ranks[begins[node_of(state, rank)] + place_of(state, rank)] = rank;
    return true;
  }
};

// Between the leaders: the blocks of all ranks, in the order of their nodes at `blocks`, to the order of
// ranks.
int allgather_of_leaders(const CommState& state, const Prepared& p, const NodeOrder& order, char* blocks) {
  MPI_Comm leaders = state.hierarchy->leaders;
  const int code = order.equal ? real().Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, order.bytes[0],
                                                  MPI_BYTE, leaders)
                               : real().Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, order.bytes,
                                                   order.offsets, MPI_BYTE, leaders);
  auto* const out = static_cast<char*>(p.call.receive);
  for (std::size_t at = 0; at < static_cast<std::size_t>(state.size) && blocks != out; ++at)
    std::memcpy(out + static_cast<std::size_t>(order.ranks[at]) * p.call.bytes, blocks + at * p.call.bytes,
                p.call.bytes);
  return code;
}

// Between the leaders: `vectors` has what each member on this node sends to each rank; put together for each
// node, exchanged (`vectors` is overwritten), and put apart into what each member gets, in `results`. Blocks
// between members of one node go the same way.
int alltoall_of_leaders(const CommState& state, const NodeOrder& order, std::size_t block, char* vectors,
                        char* results) {
  const Hierarchy& levels = *state.hierarchy;
  const std::size_t here = levels.members.size(), size = static_cast<std::size_t>(state.size);
  char* out = results;
  for (std::size_t at = 0; at < size; ++at)
    for (std::size_t member = 0; member < here; ++member, out += block)
      std::memcpy(out, vectors + (member * size + static_cast<std::size_t>(order.ranks[at])) * block, block);
  const int code = order.equal ? real().Alltoall(results, order.bytes[0], MPI_BYTE, vectors, order.bytes[0],
                                                 MPI_BYTE, levels.leaders)
                               : real().Alltoallv(results, order.bytes, order.offsets, MPI_BYTE, vectors,
                                                  order.bytes, order.offsets, MPI_BYTE, levels.leaders);
  const char* in = vectors;
  for (int node = 0; node < levels.nodes; ++node)
    for (std::size_t member = 0; member < here; ++member)
      for (int i = 0; i < order.counts[node]; ++i, in += block)
        std::memcpy(
            results + (member * size + static_cast<std::size_t>(order.ranks[order.begins[node] + i])) * block,
            in, block);
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
  const auto bytes = static_cast<MPI_Count>(p.call.bytes);
  for (MPI_Count at = 0; at < bytes && leads(levels) && code == MPI_SUCCESS; at += most)
    code = real().Bcast(data + at, static_cast<int>(std::min(most, bytes - at)), MPI_BYTE, root_node,
                        levels.leaders);
  if (!here_first && outcome == Outcome::ok) outcome = bcast_within(state, data, p.call.bytes, 0);
  if (outcome == Outcome::ok && !finish(p)) outcome = Outcome::no_memory;
  return {outcome, code};
}

Ended hierarchical_allreduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  NodeSum sum;
  Outcome outcome = sum.make(state, p, p.call.receive) ? Outcome::ok : Outcome::no_memory;
  if (outcome == Outcome::ok) outcome = within(state, sum.call);
  int code = MPI_SUCCESS;
  if (outcome == Outcome::ok && leads(*state.hierarchy)) {
    if (state.group == nullptr) sum.alone();
    for (MPI_Count at = 0; at < count && code == MPI_SUCCESS; at += most)
      code = real().Allreduce(
          MPI_IN_PLACE, sum.result + static_cast<std::size_t>(at) * p.call.combine->element_bytes,
          static_cast<int>(std::min(most, count - at)), type, op, state.hierarchy->leaders);
  }
  if (outcome == Outcome::ok) outcome = bcast_within(state, p.call.receive, p.call.bytes, 0);
  return {outcome, code};
}

// To the leaders, between them, and all of it to the others.
Ended hierarchical_allgather(CommState& state, Prepared& p) {
  const Hierarchy& levels = *state.hierarchy;
  const bool leader = leads(levels);
  const std::size_t block = p.call.bytes, all = block * static_cast<std::size_t>(state.size);
  const char* own = static_cast<const char*>(p.call.receive) + static_cast<std::size_t>(state.rank) * block;
  NodeOrder order;
  Temporary temporary;
  char* blocks = nullptr;
  int code = MPI_SUCCESS;
  Call call;
  call.kind = Kind::gather;
  call.bytes = block;
  call.send = p.call.send != message::in_place ? p.call.send : own;
  if (leader) {
    blocks = static_cast<char*>(levels.ordered ? p.call.receive : temporary.take(all));
    if (blocks == nullptr || !order.make(state, p.arrays, block)) return {Outcome::no_memory, code};
    call.receive = blocks + order.offsets[levels.node];
    if (call.send == call.receive)
      call.send = message::in_place;
    else if (state.group == nullptr)
      std::memcpy(call.receive, call.send, block);
  }
  Outcome outcome = within(state, call);
  if (outcome == Outcome::ok && leader) code = allgather_of_leaders(state, p, order, blocks);
  if (outcome == Outcome::ok) outcome = bcast_within(state, p.call.receive, all, 0);
  if (outcome == Outcome::ok && !finish(p)) outcome = Outcome::no_memory;
  return {outcome, code};
}

Ended hierarchical_alltoall(CommState& state, Prepared& p) {
  const Hierarchy& levels = *state.hierarchy;
  const bool leader = leads(levels);
  const std::size_t vector = p.call.bytes * static_cast<std::size_t>(state.size);
  const std::size_t here = levels.members.size();
  NodeOrder order;
  Temporary vectors, results;
  int code = MPI_SUCCESS;
  if (leader && (vectors.take(here * vector) == nullptr || results.take(here * vector) == nullptr ||
                 !order.make(state, p.arrays, here * p.call.bytes)))
    return {Outcome::no_memory, code};
  Call to_leader, from_leader;
  to_leader.kind = Kind::gather;
  from_leader.kind = Kind::scatter;
  to_leader.bytes = from_leader.bytes = vector;
  to_leader.send = p.call.send == message::in_place ? p.call.receive : p.call.send;
  to_leader.receive = vectors.data();
  from_leader.send = results.data();
  from_leader.receive = p.call.receive;
  if (state.group == nullptr) std::memcpy(to_leader.receive, to_leader.send, vector);
  Outcome outcome = within(state, to_leader);
  if (outcome == Outcome::ok && leader)
    code = alltoall_of_leaders(state, order, p.call.bytes, vectors.data(), results.data());
  if (outcome == Outcome::ok) outcome = within(state, from_leader);
  if (state.group == nullptr) std::memcpy(from_leader.receive, from_leader.send, vector);
  if (outcome == Outcome::ok && !finish(p)) outcome = Outcome::no_memory;
  return {outcome, code};
}

// Within nodes to the leaders, between them to that of the root's node, which hands it to the root.
Ended hierarchical_reduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op) {
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
    code = reduce_of_leaders(levels, root_node, sum.result, total, p, count, type, op);
  }
  if (outcome == Outcome::ok && mine && root_place != 0) {  // a scatter in which only the root gets something
    const std::size_t members = levels.members.size();
    std::size_t* words = p.arrays.take(2 * members);
    if (words == nullptr) return {Outcome::no_memory, code};
    std::fill(words, words + 2 * members, 0);
    words[root_place] = p.call.bytes;
    Call call;
    call.kind = Kind::scatter;
    call.send = total;
    call.receive = own_place(state) == 0 ? const_cast<void*>(message::in_place) : p.call.receive;
    call.bytes = own_place(state) == root_place ? p.call.bytes : 0;
    if (own_place(state) == 0) {
      call.send_bytes = words;
      call.send_offsets = words + members;
    }
    outcome = within(state, call);
  }
  return {outcome, code};
}

}  // namespace nigh::mpi::coll
