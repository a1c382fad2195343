// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent collectives (MPI-4.1, 6.13): non-blocking ones that are prepared anew by each start, since the
// contents of the buffers may have changed, and layouts are packed. Each request has a group of its own:
// requests of one communicator may be started in another order on each member. The members meet when the
// request is made, which MPI allows to wait for them. The library keeps what all of them leave to it.
#include <new>

#include "mpi/away.hpp"
#include "mpi/coll_forms.hpp"
#include "mpi/coll_prepare_reductions.hpp"
#include "mpi/comm_group.hpp"
#include "mpi/nbc.hpp"
#include "mpi/neighbors.hpp"
#include "mpi/ours.hpp"

namespace nigh::mpi::coll {
namespace {

class Persistent : public Nbc {
 public:
  Persistent(const CommState& state, Function function, std::uint64_t number)
      : Nbc(*new Coll, state.comm, state.size, state.rank),
        function_(function),
        who_{.context = mix(mix(state.context, number), 0x70657273697374) | 1,
             .member = state.rank,
             .seats = seats_of(state)} {
    persistent = true;
    active = false;
    coll_->context = who_.context;
  }
  // All members call it. What it returns else than `covered`, and `covered` too, holds for all of them,
  // except where a member leaves wrong arguments to the library.
  Reason make() {
    Reason reason = prepare_again();
    if (reason == Reason::covered && prepared.bad_buffer) reason = Reason::other;
    if (reason != Reason::covered) return announce_none(who_.context) ? reason : Reason::memory;
    message::Cells* cells = nullptr;
    if (!announce(who_.context, who_.seats.size(), cells)) return Reason::memory;
    coll_->group = meet(who_, cells);
    return coll_->group != nullptr ? Reason::covered : Reason::memory;
  }
  int start() override {
    if (prepare_again() != Reason::covered) prepared.no_memory = true;  // it was, when it was made
    count(function_, Reason::covered, received(prepared));
    let_library_drive();
    coll_->enter();
    begin();
    coll_->leave();
    if (process().multiple && !library_drives()) call_stand_in();
    return MPI_SUCCESS;
  }
  int end(MPI_Status& status) override {
    const int code = Nbc::end(status);
    forget_call();
    return code;
  }
  void release() override {
    if (coll_->group != nullptr) part(coll_->group, who_.context);
    delete coll_;
    delete this;
  }

 private:
  virtual Reason prepare(Prepared& p) = 0;
  Reason prepare_again() {
    const int members = prepared.members;
    prepared.~Prepared();
    new (&prepared) Prepared;
    prepared.members = members;
    prepared.member = who_.member;
    prepared.outlives_call = true;
    prepared.kept = &types_;
    return prepare(prepared);
  }
  Function function_;
  Membership who_;
  KeptTypes types_;
};

// `prepare_` has copies of the arguments; arrays among them stay the program's until it frees the request.
template <class Prepare>
class PersistentCall final : public Persistent {
 public:
  PersistentCall(const CommState& state, Function function, std::uint64_t number, const Prepare& prepare)
      : Persistent(state, function, number), prepare_(prepare) {}

 private:
  Reason prepare(Prepared& p) override { return prepare_(p); }
  Prepare prepare_;
};

template <class Prepare, class Library>
int persistent(Function function, MPI_Comm comm, MPI_Request* request, const Prepare& prepare,
               Library library) {
  CommState* state = comm_state(comm);
  Reason reason;
  if (!ours(state) || request == nullptr) {
    reason = fate_of(state);
  } else {
    auto* call = new PersistentCall<Prepare>(*state, function, ++state->made, prepare);
    reason = call->make();
    if (reason == Reason::covered && adopt(call, request)) return MPI_SUCCESS;
    call->release();
    if (reason == Reason::covered) return raise(comm, message::Outcome::no_memory);
  }
  count(function, reason);
  const Away away;
  return library();
}

}  // namespace
}  // namespace nigh::mpi::coll

using namespace nigh::mpi;
using namespace nigh::mpi::coll;

#define NIGH_PERSISTENT(NAME, SUFFIX, PARAMETERS, ARGUMENTS)                                      \
  int nigh_mpi_##NAME##_init##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm, MPI_Info info,       \
                                     MPI_Request* request) {                                      \
    return persistent(                                                                            \
        Function::NAME##_init##SUFFIX, comm, request,                                             \
        [=](Prepared& p) { return prepare_##NAME(p, NIGH_UNPAREN ARGUMENTS); },                   \
        [&] { return real().NAME##_init##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm, info, request); }); \
  }
#define NIGH_PERSISTENT_NEIGHBORS(NAME, SUFFIX, PARAMETERS, ARGUMENTS)                            \
  int nigh_mpi_##NAME##_init##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm, MPI_Info info,       \
                                     MPI_Request* request) {                                      \
    return persistent(                                                                            \
        Function::NAME##_init##SUFFIX, comm, request,                                             \
        [=, around = neighbors_of(comm)](Prepared& p) {                                           \
          return prepare_##NAME(p, around.get(), NIGH_UNPAREN ARGUMENTS);                         \
        },                                                                                        \
        [&] { return real().NAME##_init##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm, info, request); }); \
  }
#define NIGH_EACH(NAME, I_NAME, SUFFIX, ...) NIGH_EXPAND(NIGH_PERSISTENT, NAME, SUFFIX, __VA_ARGS__)

#define NIGH_EACH_NEIGHBOR(NAME, I_NAME, LIKE, SUFFIX, ...) \
  NIGH_EXPAND(NIGH_PERSISTENT_NEIGHBORS, NAME, SUFFIX, __VA_ARGS__)

extern "C" {

NIGH_ALL_FORMS(NIGH_EACH, NIGH_EACH, , int, int)
NIGH_ALL_FORMS(NIGH_EACH, NIGH_EACH, _c, MPI_Count, MPI_Aint)
NIGH_NEIGHBOR_FORMS(NIGH_EACH_NEIGHBOR, , int, int)
NIGH_NEIGHBOR_FORMS(NIGH_EACH_NEIGHBOR, _c, MPI_Count, MPI_Aint)

int nigh_mpi_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return persistent(
      Function::Barrier_init, comm, request,
      [](Prepared& p) {
        p.call.kind = nigh::message::Kind::barrier;
        return Reason::covered;
      },
      [&] { return real().Barrier_init(comm, info, request); });
}
}
