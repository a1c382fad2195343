// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over several nodes whose members have blocks of their own: see hierarchy.hpp.
#include "mpi/hierarchy_chain.hpp"
#include "mpi/hierarchy_steps.hpp"

namespace nigh::mpi::coll {

using message::Call;
using message::Kind;
using message::Outcome;

bool NodeOrder::take(const CommState& state, Arrays& arrays) {
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
  for (std::size_t i = 0; i < nodes; ++i) begins[i] = i == 0 ? 0 : begins[i - 1] + counts[i - 1];
  for (int rank = 0; rank < state.size; ++rank)
    ranks[begins[node_of(state, rank)] + place_of(state, rank)] = rank;
  return true;
}

Outcome hand_to_member(CommState& state, Arrays& arrays, int place, const void* from, void* to,
                       std::size_t bytes) {
  const int own = own_place(state);
  Call call;
  call.kind = Kind::scatter;
  call.send = from;
  call.receive = own == 0 ? const_cast<void*>(message::in_place) : to;
  call.bytes = own == place ? bytes : 0;
  if (own == 0) {
    const std::size_t members = state.hierarchy->members.size();
    std::size_t* words = arrays.take(2 * members);
    if (words == nullptr) return Outcome::no_memory;
    std::fill(words, words + 2 * members, 0);
    words[place] = bytes;
    call.send_bytes = words;
    call.send_offsets = words + members;
  }
  return within(state, call);
}

Outcome hand_to_leader(CommState& state, Arrays& arrays, int place, const void* from, void* to,
                       std::size_t bytes) {
  const int own = own_place(state);
  Call call;
  call.kind = Kind::gather;
  call.send = own == 0 ? message::in_place : from;
  call.bytes = own == place ? bytes : 0;
  if (own == 0) {
    const std::size_t members = state.hierarchy->members.size();
    std::size_t* words = arrays.take(2 * members);
    if (words == nullptr) return Outcome::no_memory;
    std::fill(words, words + 2 * members, 0);
    words[place] = bytes;
    call.receive = to;
    call.receive_bytes = words;
    call.receive_offsets = words + members;
  }
  return within(state, call);
}

namespace {

// The blocks of the result of an Allgather(v).
struct Result {
  const CommState& state;
  const Call& call;
  [[nodiscard]] bool each_its_own() const { return call.receive_bytes != nullptr; }
  [[nodiscard]] std::size_t bytes(int rank) const {
    return each_its_own() ? call.receive_bytes[rank] : call.bytes;
  }
  [[nodiscard]] char* block(int rank) const {
    return static_cast<char*>(call.receive) +
           (each_its_own() ? call.receive_offsets[rank] : static_cast<std::size_t>(rank) * call.bytes);
  }
  [[nodiscard]] std::size_t all() const {
    std::size_t sum = 0;
    for (int rank = 0; rank < state.size; ++rank) sum += bytes(rank);
    return sum;
  }
  // One piece, in the order of the ranks.
  [[nodiscard]] bool packed() const {
    const char* next = static_cast<const char*>(call.receive);
    for (int rank = 0; rank < state.size; next += bytes(rank), ++rank)
      if (each_its_own() && bytes(rank) != 0 && block(rank) != next) return false;
    return true;
  }
  void fill(const NodeOrder& order, const char* blocks) const {
    for (int at = 0; at < state.size; ++at) {
      const int rank = order.ranks[at];
      std::memcpy(block(rank), blocks, bytes(rank));
      blocks += bytes(rank);
    }
  }
};

// This node's blocks to its leader, one after the other at the leader's `to`; null on all others.
Outcome gather_within(CommState& state, Arrays& arrays, const Result& result, const void* own, char* to) {
  Call call;
  call.kind = Kind::gather;
  call.bytes = result.bytes(state.rank);
  call.send = own;
  if (to != nullptr) {
    call.receive = to;
    if (own == to)
      call.send = message::in_place;
    else if (state.group == nullptr)
      std::memcpy(to, own, call.bytes);
    if (result.each_its_own()) {
      const std::vector<int>& members = state.hierarchy->members;
      std::size_t* words = arrays.take(2 * members.size());
      if (words == nullptr) return Outcome::no_memory;
      std::size_t offset = 0;
      for (std::size_t i = 0; i < members.size(); offset += words[i], ++i) {
        words[i] = result.bytes(members[i]);
        words[members.size() + i] = offset;
      }
      call.receive_bytes = words;
      call.receive_offsets = words + members.size();
    }
  }
  return within(state, call);
}

int allgather_of_leaders(const Hierarchy& levels, const NodeOrder& order, char* blocks, std::size_t all) {
  if (const std::size_t piece = piece_of_ring(all, levels.nodes); piece != 0)
    return Chain{levels.leaders, levels.nodes, levels.node}.allgather(blocks, order.bytes, order.offsets,
                                                                      piece);
  return order.equal ? real().Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, order.bytes[0], MPI_BYTE,
                                        levels.leaders)
                     : real().Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, order.bytes,
                                         order.offsets, MPI_BYTE, levels.leaders);
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

// The ranks' blocks from their order to that of the nodes, or back.
enum class Direction { to_nodes, to_ranks };
void reorder(const CommState& state, const NodeOrder& order, std::size_t block, const char* from, char* to,
             Direction direction) {
  for (std::size_t at = 0; at < static_cast<std::size_t>(state.size); ++at) {
    const auto rank = static_cast<std::size_t>(order.ranks[at]);
    if (direction == Direction::to_nodes)
      std::memcpy(to + at * block, from + rank * block, block);
    else
      std::memcpy(to + rank * block, from + at * block, block);
  }
}

}  // namespace

// To the leaders, between them, and all of it to the others, in an order that all members know: of the v-form
// that of the nodes, since each member may have another place for the blocks; else that of the ranks.
Ended hierarchical_allgather(CommState& state, Prepared& p) {
  const Hierarchy& levels = *state.hierarchy;
  const bool leader = leads(levels);
  const Result result{state, p.call};
  const std::size_t all = result.all();
  const bool packed = result.packed() && (levels.ordered || !result.each_its_own());
  const bool direct = packed && levels.ordered;
  if (all == 0) return {};
  NodeOrder order;
  Temporary temporary;
  auto* blocks = static_cast<char*>(p.call.receive);
  int code = MPI_SUCCESS;
  if (leader || !packed) {
    if (!order.make(state, p.arrays, [&](int rank) { return result.bytes(rank); }) ||
        (!direct && temporary.take(all) == nullptr))
      return {Outcome::no_memory, code};
    if (!direct) blocks = temporary.data();
  }
  const void* const own = p.call.send != message::in_place ? p.call.send : result.block(state.rank);
  Outcome outcome =
      gather_within(state, p.arrays, result, own, leader ? blocks + order.offsets[levels.node] : nullptr);
  if (outcome == Outcome::ok && leader) {
    code = allgather_of_leaders(levels, order, blocks, all);
    if (packed && !direct) result.fill(order, blocks);
  }
  if (outcome == Outcome::ok) outcome = bcast_within(state, packed ? p.call.receive : blocks, all, 0);
  if (outcome == Outcome::ok && !packed) result.fill(order, blocks);
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
                 !order.make(state, p.arrays, [&](int) { return here * p.call.bytes; })))
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

// To the leaders, from them to that of the root's node, and to the root, which puts the blocks where they
// belong.
Ended hierarchical_gather(CommState& state, Prepared& p) {
  const Hierarchy& levels = *state.hierarchy;
  const int root_place = place_of(state, p.call.root), root_node = node_of(state, p.call.root);
  const bool leader = leads(levels), mine = levels.node == root_node, root = p.call.root == state.rank;
  const std::size_t block = p.call.bytes, all = block * static_cast<std::size_t>(state.size);
  NodeOrder order;
  Temporary here, everything;
  char* total = nullptr;  // of all nodes, in their order: at the leader of the root's node, and at the root
  if (leader && here.take(block * levels.members.size()) == nullptr) return {Outcome::no_memory};
  if (root && levels.ordered)
    total = static_cast<char*>(p.call.receive);
  else if (mine && (leader || root) && (total = static_cast<char*>(everything.take(all))) == nullptr)
    return {Outcome::no_memory};
  if ((leader || root) && !order.make(state, p.arrays, [&](int) { return block; }))
    return {Outcome::no_memory};
  Call call;
  call.kind = Kind::gather;
  call.bytes = block;
  call.send = p.call.send == message::in_place
                  ? static_cast<const char*>(p.call.receive) + static_cast<std::size_t>(state.rank) * block
                  : p.call.send;
  call.receive = here.data();
  if (leader && state.group == nullptr) std::memcpy(call.receive, call.send, block);
  Outcome outcome = within(state, call);
  int code = MPI_SUCCESS;
  if (outcome == Outcome::ok && leader)
    code = order.equal
               ? real().Gather(here.data(), order.bytes[0], MPI_BYTE, mine ? total : nullptr, order.bytes[0],
                               MPI_BYTE, root_node, levels.leaders)
               : real().Gatherv(here.data(), order.bytes[levels.node], MPI_BYTE, mine ? total : nullptr,
                                order.bytes, order.offsets, MPI_BYTE, root_node, levels.leaders);
  if (outcome == Outcome::ok && mine && root_place != 0)
    outcome = hand_to_member(state, p.arrays, root_place, total, total, all);
  if (outcome == Outcome::ok && root && !levels.ordered)
    reorder(state, order, block, total, static_cast<char*>(p.call.receive), Direction::to_ranks);
  if (outcome == Outcome::ok && root && !finish(p)) outcome = Outcome::no_memory;
  return {outcome, code};
}

// From the root, in the order of the nodes, to its leader, from it to the others, and to the members.
Ended hierarchical_scatter(CommState& state, Prepared& p) {
  const Hierarchy& levels = *state.hierarchy;
  const int root_place = place_of(state, p.call.root), root_node = node_of(state, p.call.root);
  const bool leader = leads(levels), mine = levels.node == root_node, root = p.call.root == state.rank;
  const std::size_t block = p.call.bytes, all = block * static_cast<std::size_t>(state.size);
  NodeOrder order;
  Temporary here, everything, unused;
  const char* total = nullptr;  // for all nodes, in their order: at the root, and at its leader
  if (leader && here.take(block * levels.members.size()) == nullptr) return {Outcome::no_memory};
  if ((leader || root) && !order.make(state, p.arrays, [&](int) { return block; }))
    return {Outcome::no_memory};
  if (root && levels.ordered) {
    total = static_cast<const char*>(p.call.send);
  } else if (mine && (leader || root)) {
    if (everything.take(all) == nullptr) return {Outcome::no_memory};
    total = everything.data();
    if (root)
      reorder(state, order, block, static_cast<const char*>(p.call.send), everything.data(),
              Direction::to_nodes);
  }
  // The root's own block stays where it is; in the call within its node it is no root, unless it leads.
  void* to = p.call.receive;
  if (to == message::in_place && !leader && (to = unused.take(block)) == nullptr) return {Outcome::no_memory};
  Outcome outcome = Outcome::ok;
  if (mine && root_place != 0)
    outcome = hand_to_leader(state, p.arrays, root_place, total, everything.data(), all);
  int code = MPI_SUCCESS;
  if (outcome == Outcome::ok && leader)
    code = order.equal
               ? real().Scatter(mine ? total : nullptr, order.bytes[0], MPI_BYTE, here.data(), order.bytes[0],
                                MPI_BYTE, root_node, levels.leaders)
               : real().Scatterv(mine ? total : nullptr, order.bytes, order.offsets, MPI_BYTE, here.data(),
                                 order.bytes[levels.node], MPI_BYTE, root_node, levels.leaders);
  Call call;
  call.kind = Kind::scatter;
  call.bytes = block;
  call.send = here.data();
  call.receive = to;
  if (outcome == Outcome::ok) outcome = within(state, call);
  if (leader && state.group == nullptr && to != message::in_place) std::memcpy(to, here.data(), block);
  if (outcome == Outcome::ok && !finish(p)) outcome = Outcome::no_memory;
  return {outcome, code};
}

}  // namespace nigh::mpi::coll
