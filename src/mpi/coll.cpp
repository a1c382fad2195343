// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The collective functions, blocking and non-blocking. One template takes a call from its arguments
// (prepared, see coll_prepare.hpp) to message::Group or to the library; the functions themselves are made by
// a macro, because each exists four times: blocking or not, with int or with MPI_Count.
#include "mpi/coll.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "message/atomic.hpp"
#include "mpi/away.hpp"
#include "mpi/coll_bytes.hpp"
#include "mpi/coll_forms.hpp"
#include "mpi/coll_prepare_reductions.hpp"
#include "mpi/comm_group.hpp"
#include "mpi/hierarchy.hpp"
#include "mpi/nbc.hpp"
#include "mpi/neighbors.hpp"
#include "mpi/ours.hpp"

namespace nigh::mpi {
namespace coll {
namespace {

// A communicator whose collectives may be ours gets a Coll, and keeps its group through calls that are
// pending.
void made(CommState& state) {
  if (state.group == nullptr && state.cells == nullptr && state.hierarchy == nullptr) return;
  auto* coll = new (std::nothrow) Coll;
  if (coll == nullptr) {
    say("no memory for a communicator's collectives");
    real().Abort(state.comm, MPI_ERR_NO_MEM);
    return;
  }
  coll->group = state.group;
  coll->context = state.context;
  state.coll = coll;
}

void freed(CommState& state) {
  if (Coll* coll = coll_of(state); coll != nullptr) retire(coll, state);
  state.coll = nullptr;
}

const CommHooks comm_hooks(made, freed);

void start() {
  make_op_tables();
  ask_what_is_refused();
}
void stop() {}
const Hooks hooks(start, stop);

message::Outcome blocking_call(Function function, CommState& state, Prepared& p) {
  using message::Outcome;
  Outcome outcome = Outcome::ok;
  if (p.no_memory) {
    outcome = Outcome::no_memory;
  } else if (!p.nothing) {
    Coll& coll = *coll_of(state);
    coll.enter();
    outcome = coll.group->run(p.call);
    coll.leave();
    if (outcome == Outcome::ok && p.unpacks() && !finish(p)) outcome = Outcome::no_memory;
  }
  count(function, Reason::covered, received(p));
  return outcome;
}

// `prepare` fills a Prepared or says why not, `library` is the call as it came, `bytes` what it brings.
template <class Prepare, class Bytes, class Library>
int blocking(Function function, MPI_Comm comm, Prepare prepare, Bytes bytes, Library library) {
  CommState* state = comm_state(comm);
  Reason reason;
  if (!ours(state)) [[unlikely]] {
    reason = fate_of(state);
  } else {
    message::Outcome outcome = message::Outcome::pending;
    {  // nothing is held when an error is raised
      Prepared p;
      p.members = state->size;
      p.member = state->rank;
      reason = prepare(p);
      if (reason == Reason::covered && !p.bad_buffer) [[likely]]
        outcome = blocking_call(function, *state, p);
    }
    if (outcome == message::Outcome::ok) [[likely]]
      return MPI_SUCCESS;
    if (outcome != message::Outcome::pending) return raise(comm, outcome);
  }
  if (reason == Reason::covered) reason = Reason::other;
  count(function, reason);
  const Away away;
  const int error = library();
  if (error == MPI_SUCCESS) count_bytes(function, reason, bytes(members_of(comm)));
  return error;
}

template <class Prepare, class Bytes, class Library>
int non_blocking(Function function, MPI_Comm comm, MPI_Request* request, Prepare prepare, Bytes bytes,
                 Library library) {
  CommState* state = comm_state(comm);
  Reason reason;
  if (!ours(state) || request == nullptr) [[unlikely]] {
    reason = fate_of(state);
  } else if (Nbc* call = new_nbc(*state); call == nullptr) {
    return raise(comm, message::Outcome::no_memory);
  } else {
    reason = prepare(call->prepared);
    if (reason == Reason::covered && !call->prepared.bad_buffer) [[likely]] {
      count(function, Reason::covered, received(call->prepared));
      return start_nbc(call, comm, request);
    }
    drop_nbc(call);
  }
  if (reason == Reason::covered) reason = Reason::other;
  count(function, reason);
  const int error = library();
  if (error == MPI_SUCCESS) count_bytes(function, reason, bytes(members_of(comm)));
  return error;
}

}  // namespace

bool ours_now(CommState& state) {
  meet_group(state);
  coll_of(state)->group = state.group;
  return state.group != nullptr;
}

bool levels_now(CommState& state) {
  if (state.before_levels > 0) {
    --state.before_levels;
    if (state.before_levels > 0) return false;
    const Away away;
    make_hierarchy(state);
    if (state.hierarchy) made(state);
  }
  return state.hierarchy != nullptr;
}

std::uint64_t received(const Prepared& p) {
  using message::Kind;
  const bool root = p.call.root == p.member;
  const auto members = static_cast<std::size_t>(p.members);
  switch (p.call.kind) {
    case Kind::barrier: return 0;
    case Kind::bcast:
    case Kind::scatter: return root ? 0 : p.call.bytes;
    case Kind::reduce: return root ? p.call.bytes : 0;
    case Kind::gather:
      if (!root) return 0;
      [[fallthrough]];
    case Kind::allgather:
    case Kind::alltoall:
      if (p.call.receive_bytes == nullptr) return members * p.call.bytes;
      return std::accumulate(p.call.receive_bytes, p.call.receive_bytes + members, std::uint64_t{0});
    case Kind::reduce_scatter:
      return p.call.receive_bytes != nullptr ? p.call.receive_bytes[p.member] : p.call.bytes;
    default: return p.call.bytes;
  }
}

void Coll::wait_turn() { message::yield_cpu(); }

Members members_of(MPI_Comm comm) {
  if (const CommState* state = comm_state(comm)) return {state->peers, state->rank, state->inter};
  Members who;
  int inter = 0;
  real().Comm_test_inter(comm, &inter);
  real().Comm_rank(comm, &who.rank);
  who.inter = inter != 0;
  who.inter ? real().Comm_remote_size(comm, &who.size) : real().Comm_size(comm, &who.size);
  return who;
}

std::uint64_t bytes_of_elements(MPI_Count count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
  if (const TypeInfo* info = type_info(type)) return static_cast<std::uint64_t>(count) * info->size;
  MPI_Count size = 0;
  real().Type_size_x(type, &size);
  return size > 0 ? static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size) : 0;
}

int sources_of(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, sources = 0, destinations = 0, weighted = 0, rank = 0;
  real().Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    real().Cartdim_get(comm, &sources);
    return 2 * sources;
  }
  if (kind == MPI_GRAPH) {
    real().Comm_rank(comm, &rank);
    real().Graph_neighbors_count(comm, rank, &sources);
  } else if (kind == MPI_DIST_GRAPH) {
    real().Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
  }
  return sources;
}

Reason fate_of(const CommState* state) {
  if (state == nullptr) return Reason::foreign;
  return state->inter ? Reason::inter : state->hierarchy != nullptr ? Reason::distant : state->why;
}

}  // namespace coll
}  // namespace nigh::mpi

using namespace nigh;
using namespace nigh::mpi;
using namespace nigh::mpi::coll;

#define NIGH_BLOCKING(NAME, SUFFIX, PARAMETERS, ARGUMENTS)                         \
  int nigh_mpi_##NAME##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm) {            \
    return blocking(                                                               \
        Function::NAME##SUFFIX, comm,                                              \
        [&](Prepared& p) { return prepare_##NAME(p, NIGH_UNPAREN ARGUMENTS); },    \
        [&](Members who) { return received_##NAME(who, NIGH_UNPAREN ARGUMENTS); }, \
        [&] { return real().NAME##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm); });        \
  }
#define NIGH_NON_BLOCKING(NAME, I_NAME, SUFFIX, PARAMETERS, ARGUMENTS)                          \
  int nigh_mpi_##I_NAME##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm, MPI_Request* request) { \
    return non_blocking(                                                                        \
        Function::I_NAME##SUFFIX, comm, request,                                                \
        [&](Prepared& p) { return prepare_##NAME(p, NIGH_UNPAREN ARGUMENTS); },                 \
        [&](Members who) { return received_##NAME(who, NIGH_UNPAREN ARGUMENTS); },              \
        [&] { return real().I_NAME##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm, request); });          \
  }
#define NIGH_HIERARCHICAL(NAME, SUFFIX, PARAMETERS, ARGUMENTS)                                            \
  int nigh_mpi_##NAME##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm) {                                   \
    const auto library = [&] { return real().NAME##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm); };               \
    const auto bytes = [&](Members who) { return received_##NAME(who, NIGH_UNPAREN ARGUMENTS); };         \
    if (CommState* state = comm_state(comm); has_levels(state)) [[unlikely]] {                            \
      const Away away;                                                                                    \
      return hierarchical_##NAME(Function::NAME##SUFFIX, *state, NIGH_UNPAREN ARGUMENTS, bytes, library); \
    }                                                                                                     \
    return blocking(                                                                                      \
        Function::NAME##SUFFIX, comm,                                                                     \
        [&](Prepared& p) { return prepare_##NAME(p, NIGH_UNPAREN ARGUMENTS); }, bytes, library);          \
  }

#define NIGH_NEIGHBORS(NAME, I_NAME, LIKE, SUFFIX, PARAMETERS, ARGUMENTS)                                 \
  int nigh_mpi_##NAME##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm) {                                   \
    return blocking(                                                                                      \
        Function::NAME##SUFFIX, comm,                                                                     \
        [&](Prepared& p) { return prepare_##NAME(p, neighbors_of(comm).get(), NIGH_UNPAREN ARGUMENTS); }, \
        [&](Members) { return received_##LIKE({.size = sources_of(comm)}, NIGH_UNPAREN ARGUMENTS); },     \
        [&] { return real().NAME##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm); });                               \
  }                                                                                                       \
  int nigh_mpi_##I_NAME##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm, MPI_Request* request) {           \
    return non_blocking(                                                                                  \
        Function::I_NAME##SUFFIX, comm, request,                                                          \
        [&](Prepared& p) { return prepare_##NAME(p, neighbors_of(comm).get(), NIGH_UNPAREN ARGUMENTS); }, \
        [&](Members) { return received_##LIKE({.size = sources_of(comm)}, NIGH_UNPAREN ARGUMENTS); },     \
        [&] { return real().I_NAME##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm, request); });                    \
  }

#define NIGH_BOTH(NAME, I_NAME, SUFFIX, ...)            \
  NIGH_EXPAND(NIGH_BLOCKING, NAME, SUFFIX, __VA_ARGS__) \
  NIGH_EXPAND(NIGH_NON_BLOCKING, NAME, I_NAME, SUFFIX, __VA_ARGS__)
#define NIGH_BOTH_LEVELS(NAME, I_NAME, SUFFIX, ...)         \
  NIGH_EXPAND(NIGH_HIERARCHICAL, NAME, SUFFIX, __VA_ARGS__) \
  NIGH_EXPAND(NIGH_NON_BLOCKING, NAME, I_NAME, SUFFIX, __VA_ARGS__)
#define NIGH_NEIGHBORS_TOO(NAME, I_NAME, LIKE, SUFFIX, ...) \
  NIGH_EXPAND(NIGH_NEIGHBORS, NAME, I_NAME, LIKE, SUFFIX, __VA_ARGS__)

extern "C" {

NIGH_ALL_FORMS(NIGH_BOTH, NIGH_BOTH_LEVELS, , int, int)
NIGH_ALL_FORMS(NIGH_BOTH, NIGH_BOTH_LEVELS, _c, MPI_Count, MPI_Aint)
NIGH_NEIGHBOR_FORMS(NIGH_NEIGHBORS_TOO, , int, int)
NIGH_NEIGHBOR_FORMS(NIGH_NEIGHBORS_TOO, _c, MPI_Count, MPI_Aint)

int nigh_mpi_Barrier(MPI_Comm comm) {
  const auto library = [&] { return real().Barrier(comm); };
  CommState* state = comm_state(comm);
  if (has_levels(state)) [[unlikely]] {
    const Away away;
    return hierarchical_Barrier(Function::Barrier, *state, library);
  }
  if (!ours(state)) [[unlikely]] {
    count(Function::Barrier, fate_of(state));
    const Away away;
    return library();
  }
  constexpr message::Call call;
  Coll& group = *coll_of(*state);
  group.enter();
  const message::Outcome outcome = group.group->run(call);
  group.leave();
  count(Function::Barrier, Reason::covered);
  return outcome == message::Outcome::ok ? MPI_SUCCESS : raise(comm, outcome);
}

int nigh_mpi_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return non_blocking(
      Function::Ibarrier, comm, request,
      [](Prepared& p) {
        p.call.kind = message::Kind::barrier;
        return Reason::covered;
      },
      [](Members) { return std::uint64_t{0}; }, [&] { return real().Ibarrier(comm, request); });
}
}
