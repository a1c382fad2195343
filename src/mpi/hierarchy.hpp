// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over several nodes, where all ranks of the job have us (census.hpp): the part within a node is
// ours, between nodes one leader of each speaks through the library, or, in large reductions, each member for
// a share. Operands meet in another order than that of the ranks, so reductions are ours only where the
// operation commutes.
#pragma once

#include "mpi/coll_bytes.hpp"
#include "mpi/coll_prepare_reductions.hpp"

namespace nigh::mpi::coll {

// The end of a call: of our part, and the code of the library's between the leaders.
struct Ended {
  message::Outcome outcome = message::Outcome::ok;
  int code = MPI_SUCCESS;
};
int report(const CommState& state, Ended ended);

// `p` was prepared from the arguments, which reductions need as MPI has them, too.
Ended hierarchical_barrier(CommState& state);
Ended hierarchical_bcast(CommState& state, Prepared& p);
Ended hierarchical_allgather(CommState& state, Prepared& p);
Ended hierarchical_alltoall(CommState& state, Prepared& p);
Ended hierarchical_reduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op);
Ended hierarchical_gather(CommState& state, Prepared& p);
Ended hierarchical_scatter(CommState& state, Prepared& p);
Ended hierarchical_reduce_scatter_block(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type,
                                        MPI_Op op);
Ended hierarchical_allreduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op);
bool commutes(MPI_Op op);

// Two steps pay, or not; the answer is the same on all members. The figures were measured with Open MPI 4.1.4
// on 2 and 4 hosts of 2 and 4 ranks, links of 1 and 10 Gbit/s (docs/mpi.md). They are constants, not what was
// measured at the start: sums must not depend on how busy the nodes were then.

// With fewer ranks on a node, on average, a step more is as dear as what it saves, unless many bytes are
// saved.
constexpr int least_on_node = 4;
inline bool many_on_nodes(const CommState& state) {
  return state.size >= least_on_node * state.hierarchy->nodes || process().hierarchy;
}

// Above it one leader on each node is slower than all its members as leaders, each for a share, which needs
// as many members on each node.
constexpr std::size_t most_of_leaders = std::size_t{64} << 10;
inline bool in_columns(const CommState& state, std::size_t bytes) {
  return bytes > most_of_leaders && state.hierarchy->even;
}
// MPI_Reduce in columns: as far as between nodes all goes to the root's.
constexpr std::size_t most_to_one_node = std::size_t{512} << 10;

// Bcast and Reduce between nodes: large ones in pieces along a chain of nodes (hierarchy_chain.hpp), unless
// it is so long that filling it takes half as long as the message. 0: by the library.
constexpr std::size_t least_of_chain = std::size_t{64} << 10;
inline std::size_t piece_of(std::size_t bytes) { return std::size_t{bytes < 1U << 20 ? 16U : 32U} << 10; }
inline std::size_t piece_of_chain(std::size_t bytes, int nodes) {
  const std::size_t least_pieces = 2 * static_cast<std::size_t>(nodes - 2), small = piece_of(0);
  const std::size_t piece = bytes / piece_of(bytes) >= least_pieces ? piece_of(bytes) : small;
  return bytes >= least_of_chain && bytes / piece >= least_pieces ? piece : 0;
}
// Allgather(v) between nodes, of all blocks: round a ring, where the library's way has as many steps.
inline std::size_t piece_of_ring(std::size_t bytes, int nodes) {
  return bytes >= static_cast<std::size_t>(nodes) * (least_of_chain / 2) ? piece_of(bytes) : 0;
}

inline bool leaders_pay_for_bcast(const CommState& state, std::size_t bytes) {
  return many_on_nodes(state) || bytes >= most_of_leaders;
}
inline bool leaders_pay_for_reduce(const CommState& state, std::size_t bytes) {
  if (many_on_nodes(state)) return bytes <= most_of_leaders || state.hierarchy->even;
  // On two nodes Open MPI 5 is as fast: it reduces on nodes and between them at once.
  return state.hierarchy->even && state.hierarchy->nodes > 2 && bytes >= most_of_leaders &&
         (bytes <= most_to_one_node || piece_of_chain(bytes / least_on_node, state.hierarchy->nodes) != 0);
}
inline bool leaders_pay_for_allreduce(const CommState& state, std::size_t bytes) {
  constexpr std::size_t least_of_few = std::size_t{1} << 20;
  if (many_on_nodes(state)) return bytes <= most_of_leaders || state.hierarchy->even;
  return state.hierarchy->even && bytes >= least_of_few;
}
// MPI_Allgather(v), of all blocks together. Above `most` nothing was measured, or, of the v-form, the
// libraries send round a ring of all ranks.
inline bool leaders_pay_for_blocks(const CommState& state, std::size_t bytes, bool each_its_own) {
  constexpr std::size_t least_of_few = std::size_t{128} << 10;
  const std::size_t most = (each_its_own ? std::size_t{2} : std::size_t{16}) << 20;
  return bytes <= most && (many_on_nodes(state) || bytes >= least_of_few);
}
// MPI_Gather, MPI_Scatter: the leader of the root's node may have all blocks in memory.
constexpr std::size_t most_at_leader = std::size_t{64} << 20;
inline bool leaders_pay_for_gather(const CommState& state, std::size_t block) {
  return block <= std::size_t{many_on_nodes(state) ? 64U : 8U} << 10 &&
         block * static_cast<std::size_t>(state.size) <= most_at_leader;
}
inline bool leaders_pay_for_scatter(const CommState& state, std::size_t block) {
  return block <= std::size_t{8} << 10 && many_on_nodes(state) &&
         block * static_cast<std::size_t>(state.size) <= most_at_leader;
}
// MPI_Reduce_scatter_block: a node's part of the sum must be one piece.
inline bool leaders_pay_for_parts(const CommState& state, std::size_t block) {
  return state.hierarchy->ordered && block * static_cast<std::size_t>(state.size) <= std::size_t{1} << 20 &&
         many_on_nodes(state);
}
// MPI_Alltoall. Beyond 1 KiB the leaders' copies cost more than the libraries' many messages; and a leader
// has all that the members of its node send in memory, twice.
inline bool leaders_pay_for_exchange(const CommState& state, std::size_t block) {
  constexpr std::size_t most_block = 1024, most_of_leader = std::size_t{16} << 20;
  const auto vector = block * static_cast<std::size_t>(state.size);
  return block <= most_block && many_on_nodes(state) &&
         vector * static_cast<std::size_t>(state.hierarchy->largest) <= most_of_leader;
}

// Bytes of elements, without asking the library, which has not accepted the arguments yet. Types that are
// none are its to refuse, whatever the answer.
inline std::size_t bytes_to_judge(MPI_Count count, MPI_Datatype type) {
  const TypeInfo* info = count > 0 ? type_info(type) : nullptr;
  return info != nullptr ? static_cast<std::size_t>(count) * info->size : 0;
}

inline void place(Prepared& p, const CommState& state) {
  p.members = state.size;
  p.member = state.rank;
}

// The order of the operands depends on who is on which node: not where bits must not.
inline Reason reason_of_sum(const Prepared& p, Reason reason, MPI_Op op) {
  if (reason != Reason::covered || p.nothing) return reason;
  if (!commutes(op)) return Reason::operation;
  return process().reproducible && depends_on_order(*p.call.combine) ? Reason::order : Reason::covered;
}

// `prepare` fills a Prepared or says why not, `run` does it, `library` is the call as it came, `bytes` what
// it brings.
template <class Prepare, class Run, class Bytes, class Library>
int in_two_steps(Function function, CommState& state, Prepare prepare, Run run, Bytes bytes,
                 Library library) {
  Reason reason;
  Ended ended;
  {  // nothing is held while the library is at work, nor when an error is raised
    Prepared p;
    place(p, state);
    reason = prepare(p);
    if (reason == Reason::covered && p.bad_buffer) reason = Reason::other;
    if (reason == Reason::covered) {
      if (p.no_memory)
        ended.outcome = message::Outcome::no_memory;
      else if (!p.nothing)
        ended = run(p);
      count(function, reason, received(p));
    }
  }
  if (reason == Reason::covered) return report(state, ended);
  count(function, reason);
  const int error = library();
  if (error == MPI_SUCCESS) count_bytes(function, reason, bytes(members_of(state.comm)));
  return error;
}

template <class Library>
int hierarchical_Barrier(Function function, CommState& state, Library library) {
  if (!many_on_nodes(state)) {
    count(function, Reason::distant);
    return library();
  }
  const Ended ended = hierarchical_barrier(state);
  count(function, Reason::covered);
  return report(state, ended);
}

template <class Count, class Bytes, class Library>
int hierarchical_Bcast(Function function, CommState& state, void* buffer, Count count, MPI_Datatype type,
                       int root, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_bcast(state, bytes_to_judge(count, type))) return Reason::distant;
        return prepare_Bcast(p, buffer, count, type, root);
      },
      [&](Prepared& p) { return hierarchical_bcast(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Allgather(Function function, CommState& state, const void* send, Count send_count,
                           MPI_Datatype send_type, void* receive, Count receive_count,
                           MPI_Datatype receive_type, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        const std::size_t block = bytes_to_judge(receive_count, receive_type);
        if (!leaders_pay_for_blocks(state, block * static_cast<std::size_t>(state.size), false))
          return Reason::distant;
        return prepare_Allgather(p, send, send_count, send_type, receive, receive_count, receive_type);
      },
      [&](Prepared& p) { return hierarchical_allgather(state, p); }, bytes, library);
}

template <class Count, class Displacement, class Bytes, class Library>
int hierarchical_Allgatherv(Function function, CommState& state, const void* send, Count send_count,
                            MPI_Datatype send_type, void* receive, const Count* receive_counts,
                            const Displacement* displacements, MPI_Datatype receive_type, Bytes bytes,
                            Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        MPI_Count all = 0;
        for (int i = 0; receive_counts != nullptr && i < state.size; ++i)
          all += std::max<MPI_Count>(receive_counts[i], 0);
        if (!leaders_pay_for_blocks(state, bytes_to_judge(all, receive_type), true)) return Reason::distant;
        return prepare_Allgatherv(p, send, send_count, send_type, receive, receive_counts, displacements,
                                  receive_type);
      },
      [&](Prepared& p) { return hierarchical_allgather(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Gather(Function function, CommState& state, const void* send, Count send_count,
                        MPI_Datatype send_type, void* receive, Count receive_count, MPI_Datatype receive_type,
                        int root, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        const std::size_t block = state.rank == root ? bytes_to_judge(receive_count, receive_type)
                                                     : bytes_to_judge(send_count, send_type);
        if (!leaders_pay_for_gather(state, block)) return Reason::distant;
        return prepare_Gather(p, send, send_count, send_type, receive, receive_count, receive_type, root);
      },
      [&](Prepared& p) { return hierarchical_gather(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Scatter(Function function, CommState& state, const void* send, Count send_count,
                         MPI_Datatype send_type, void* receive, Count receive_count,
                         MPI_Datatype receive_type, int root, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        const std::size_t block = state.rank == root ? bytes_to_judge(send_count, send_type)
                                                     : bytes_to_judge(receive_count, receive_type);
        if (!leaders_pay_for_scatter(state, block)) return Reason::distant;
        return prepare_Scatter(p, send, send_count, send_type, receive, receive_count, receive_type, root);
      },
      [&](Prepared& p) { return hierarchical_scatter(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Alltoall(Function function, CommState& state, const void* send, Count send_count,
                          MPI_Datatype send_type, void* receive, Count receive_count,
                          MPI_Datatype receive_type, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_exchange(state, bytes_to_judge(receive_count, receive_type)))
          return Reason::distant;
        return prepare_Alltoall(p, send, send_count, send_type, receive, receive_count, receive_type);
      },
      [&](Prepared& p) { return hierarchical_alltoall(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Reduce(Function function, CommState& state, const void* send, void* receive, Count count,
                        MPI_Datatype type, MPI_Op op, int root, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_reduce(state, bytes_to_judge(count, type))) return Reason::distant;
        return reason_of_sum(p, prepare_Reduce(p, send, receive, count, type, op, root), op);
      },
      [&](Prepared& p) { return hierarchical_reduce(state, p, count, type, op); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Allreduce(Function function, CommState& state, const void* send, void* receive, Count count,
                           MPI_Datatype type, MPI_Op op, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_allreduce(state, bytes_to_judge(count, type))) return Reason::distant;
        return reason_of_sum(p, prepare_Allreduce(p, send, receive, count, type, op), op);
      },
      [&](Prepared& p) { return hierarchical_allreduce(state, p, count, type, op); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Reduce_scatter_block(Function function, CommState& state, const void* send, void* receive,
                                      Count count, MPI_Datatype type, MPI_Op op, Bytes bytes,
                                      Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_parts(state, bytes_to_judge(count, type))) return Reason::distant;
        return reason_of_sum(p, prepare_Reduce_scatter_block(p, send, receive, count, type, op), op);
      },
      [&](Prepared& p) { return hierarchical_reduce_scatter_block(state, p, count, type, op); }, bytes,
      library);
}

}  // namespace nigh::mpi::coll
