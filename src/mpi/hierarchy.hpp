// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over several nodes, where all ranks of the job have us (census.hpp): the part within a node is
// ours, between nodes one leader of each speaks through the library. Operands meet in
// another order than that of the ranks, so reductions are ours only where the operation commutes.
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
Ended hierarchical_allreduce(CommState& state, Prepared& p, MPI_Count count, MPI_Datatype type, MPI_Op op);
bool commutes(MPI_Op op);

// Above it the libraries scatter and gather the operands of MPI_Allreduce, and as many bytes go between nodes
// as by leaders, while within nodes others are under way: leaders were up to a quarter slower at 512 KiB. A
// constant, not what was measured at the start: sums must not depend on how busy the nodes were then.
constexpr std::size_t most_of_leaders = 65536;
// With fewer ranks on a node the libraries' exchange of all with all is as fast (2 hosts, 2 and 4 ranks
// each).
constexpr int least_on_node = 4;

// The same answer on all members.
inline bool leaders_pay(const CommState& state, std::size_t bytes) {
  const bool many = state.size >= least_on_node * state.hierarchy->nodes || process().hierarchy;
  return many && bytes <= most_of_leaders;
}

// MPI_Allgather. With few ranks on a node two steps pay from the sizes on at which fewer bytes between nodes
// count more than a step more (2 hosts of 2 ranks, 1 and 10 Gbit/s); above the largest size nothing was
// measured.
inline bool leaders_pay_for_blocks(const CommState& state, std::size_t block) {
  constexpr std::size_t least = std::size_t{128} << 10, most = std::size_t{8} << 20;
  const std::size_t bytes = block * static_cast<std::size_t>(state.size);
  const bool many = state.size >= least_on_node * state.hierarchy->nodes || process().hierarchy;
  return bytes <= most && (many || bytes >= least);
}

// MPI_Alltoall. Beyond 1 KiB the leaders' copies cost more than the libraries' many messages; and a leader
// has all that the members of its node send in memory, twice.
inline bool leaders_pay_for_exchange(const CommState& state, std::size_t block) {
  constexpr std::size_t most_block = 1024, most_of_leader = std::size_t{16} << 20;
  const auto vector = block * static_cast<std::size_t>(state.size);
  return block <= most_block && vector * static_cast<std::size_t>(state.hierarchy->largest) <= most_of_leader;
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
int hierarchical_Barrier(Function function, CommState& state, Library /*library*/) {
  const Ended ended = hierarchical_barrier(state);
  count(function, Reason::covered);
  return report(state, ended);
}

template <class Count, class Bytes, class Library>
int hierarchical_Bcast(Function function, CommState& state, void* buffer, Count count, MPI_Datatype type,
                       int root, Bytes bytes, Library library) {
  return in_two_steps(
      function, state, [&](Prepared& p) { return prepare_Bcast(p, buffer, count, type, root); },
      [&](Prepared& p) { return hierarchical_bcast(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Allgather(Function function, CommState& state, const void* send, Count send_count,
                           MPI_Datatype send_type, void* receive, Count receive_count,
                           MPI_Datatype receive_type, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_blocks(state, bytes_of_elements(receive_count, receive_type)))
          return Reason::distant;
        return prepare_Allgather(p, send, send_count, send_type, receive, receive_count, receive_type);
      },
      [&](Prepared& p) { return hierarchical_allgather(state, p); }, bytes, library);
}

template <class Count, class Bytes, class Library>
int hierarchical_Alltoall(Function function, CommState& state, const void* send, Count send_count,
                          MPI_Datatype send_type, void* receive, Count receive_count,
                          MPI_Datatype receive_type, Bytes bytes, Library library) {
  return in_two_steps(
      function, state,
      [&](Prepared& p) {
        if (!leaders_pay_for_exchange(state, bytes_of_elements(receive_count, receive_type)))
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
        if (!leaders_pay(state, bytes_of_elements(count, type))) return Reason::distant;
        return reason_of_sum(p, prepare_Allreduce(p, send, receive, count, type, op), op);
      },
      [&](Prepared& p) { return hierarchical_allreduce(state, p, count, type, op); }, bytes, library);
}

}  // namespace nigh::mpi::coll
