// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The common parts of collectives over several nodes (hierarchy.hpp): calls within the node, and the
// ranks in the order of their nodes. The leader of a node is its first member: place 0 in the node's group,
// and the node's number among the leaders. A node with one member has no group; its only member is its
// leader.
#pragma once

#include <algorithm>
#include <cstring>

#include "mpi/hierarchy.hpp"

namespace nigh::mpi::coll {

// The most elements that the library accepts at once.
inline constexpr MPI_Count most_elements = MPI_Count{1} << 30;

// One call within the node; nothing to do for a member that is alone there.
inline message::Outcome within(CommState& state, const message::Call& call) {
  if (state.group == nullptr) return message::Outcome::ok;
  Coll& coll = *coll_of(state);
  coll.enter();
  const message::Outcome outcome = coll.group->run(call);
  coll.leave();
  return outcome;
}

inline bool leads(const Hierarchy& levels) { return levels.leaders != MPI_COMM_NULL; }

inline int place_of(const CommState& state, int rank) {
  return state.hierarchy->local_of[static_cast<std::size_t>(rank)];
}
inline int own_place(const CommState& state) { return place_of(state, state.rank); }
inline int node_of(const CommState& state, int rank) {
  return state.hierarchy->node_of[static_cast<std::size_t>(rank)];
}

inline message::Outcome bcast_within(CommState& state, void* data, std::size_t bytes, int root) {
  message::Call call;
  call.kind = message::Kind::bcast;
  call.receive = data;
  if (own_place(state) == root) call.send = data;
  call.bytes = bytes;
  call.root = root;
  return within(state, call);
}

// The leader's `from` to the member at `place` of its node, into `to`: a scatter in which only that one gets
// something.
message::Outcome hand_to_member(CommState& state, Arrays& arrays, int place, const void* from, void* to,
                                std::size_t bytes);
// The other way: a gather in which only the member at `place` gives something.
message::Outcome hand_to_leader(CommState& state, Arrays& arrays, int place, const void* from, void* to,
                                std::size_t bytes);

// The ranks in the order of their nodes, and the bytes that each node's ranks have together.
struct NodeOrder {
  int* ranks = nullptr;                      // by place in that order
  int* begins = nullptr;                     // by node: the place of its first rank
  int* counts = nullptr;                     // by node: its ranks
  int *bytes = nullptr, *offsets = nullptr;  // by node, for the leaders' v-forms
  bool equal = true;                         // nodes have as many bytes each
  // `bytes_of_rank(rank)`: at most 2 GiB - 1 together. False: no memory.
  template <class Bytes>
  bool make(const CommState& state, Arrays& arrays, Bytes bytes_of_rank) {
    if (!take(state, arrays)) return false;
    const int nodes = state.hierarchy->nodes;
    std::fill(bytes, bytes + nodes, 0);
    for (int rank = 0; rank < state.size; ++rank)
      bytes[node_of(state, rank)] += static_cast<int>(bytes_of_rank(rank));
    for (int i = 0; i < nodes; ++i) {
      offsets[i] = i == 0 ? 0 : offsets[i - 1] + bytes[i - 1];
      equal = equal && bytes[i] == bytes[0];
    }
    return true;
  }

 private:
  bool take(const CommState& state, Arrays& arrays);
};

}  // namespace nigh::mpi::coll
