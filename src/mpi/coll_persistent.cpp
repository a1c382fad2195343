// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent collectives (MPI-4.1, 6.13): non-blocking ones that are prepared anew by each start, since the
// contents of the buffers may have changed, and layouts are packed. Each request has a group of its own:
// requests of one communicator may be started in another order on each member. The members meet when the
// request is made, which MPI allows to wait for them. The library keeps what all of them leave to it.
//
// MPI lets programs change arrays of counts, displacements and types only when the request is freed (6.13).
// But libraries read them when it is made, and mpi4py 4.1 frees them then: each request keeps copies.
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>

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

// Elements of an array that are this member's to read: none where the call does not look at it.
struct Lengths {
  std::size_t send = 0, receive = 0;  // of arrays before the receive buffer, and of those after it
};
Lengths lengths_of(Function function, const CommState& state, const void* send, int root) {
  const auto members = static_cast<std::size_t>(state.size);
  const bool gathers = function == Function::Gatherv_init || function == Function::Gatherv_init_c;
  const bool scatters = function == Function::Scatterv_init || function == Function::Scatterv_init_c;
  const bool looks = state.rank == root;  // of those two
  return {.send = scatters               ? (looks ? members : 0)
                  : send == MPI_IN_PLACE ? 0
                                         : members,
          .receive = gathers && !looks ? 0 : members};
}
Lengths lengths_of(const Neighbors* around) {
  if (around == nullptr) return {};
  return {.send = around->destinations.size(), .receive = around->sources.size()};
}

// Arrays of counts, displacements or types; buffers point to void, and a handle may be a pointer to an object
// of the library's.
template <class Argument>
constexpr bool is_array() {
  if constexpr (!std::is_pointer_v<Argument>)
    return false;
  else
    return std::is_same_v<Argument, const int*> || std::is_same_v<Argument, const MPI_Count*> ||
           std::is_same_v<Argument, const MPI_Aint*> || std::is_same_v<Argument, const MPI_Datatype*>;
}

// The arguments of one call, of which arrays are ours.
template <class... Arguments>
class KeptArguments {
 public:
  explicit KeptArguments(Lengths lengths, Arguments... arguments) : arguments_(arguments...) {
    int buffers = 0, place = 0;
    std::apply([&](auto&... each) { (keep(each, lengths, buffers, place), ...); }, arguments_);
  }
  ~KeptArguments() {
    for (void* copy : copies_) std::free(copy);
  }
  KeptArguments(const KeptArguments&) = delete;
  KeptArguments& operator=(const KeptArguments&) = delete;
  [[nodiscard]] bool no_memory() const { return no_memory_; }
  template <class Use>
  auto apply(Use&& use) const {
    return std::apply(use, arguments_);
  }

 private:
  template <class Argument>
  void keep(Argument& argument, Lengths lengths, int& buffers, int& place) {
    if constexpr (std::is_same_v<Argument, void*> || std::is_same_v<Argument, const void*>) ++buffers;
    if constexpr (is_array<Argument>()) {
      const std::size_t bytes = sizeof *argument * (buffers < 2 ? lengths.send : lengths.receive);
      if (argument == nullptr || bytes == 0) return;
      void* copy = copies_[place++] = std::malloc(bytes);
      if (copy == nullptr) {
        no_memory_ = true;
        return;
      }
      std::memcpy(copy, argument, bytes);
      argument = static_cast<Argument>(copy);
    }
  }
  std::tuple<Arguments...> arguments_;
  void* copies_[6] = {};  // of MPI_Alltoallw
  bool no_memory_ = false;
};

template <class Prepare, class... Arguments>
class PersistentCall final : public Persistent {
 public:
  PersistentCall(const CommState& state, Function function, std::uint64_t number, const Prepare& prepare,
                 Lengths lengths, Arguments... arguments)
      : Persistent(state, function, number), prepare_(prepare), arguments_(lengths, arguments...) {}

 private:
  Reason prepare(Prepared& p) override {
    if (arguments_.no_memory()) return Reason::memory;
    return arguments_.apply([&](auto... arguments) { return prepare_(p, arguments...); });
  }
  Prepare prepare_;
  KeptArguments<Arguments...> arguments_;
};

template <class Prepare, class Library, class Length, class... Arguments>
int persistent(Function function, MPI_Comm comm, MPI_Request* request, const Prepare& prepare,
               Library library, Length lengths, Arguments... arguments) {
  CommState* state = comm_state(comm);
  Reason reason;
  if (!ours(state) || request == nullptr) {
    reason = fate_of(state);
  } else {
    auto* call = new PersistentCall<Prepare, Arguments...>(*state, function, ++state->made, prepare,
                                                           lengths(*state), arguments...);
    reason = call->make();
    if (reason == Reason::covered && adopt(call, request)) return MPI_SUCCESS;
    call->release();
    if (reason == Reason::covered) return raise(comm, message::Outcome::no_memory);
  }
  count(function, reason);
  const Away away;
  return library();
}

template <class... Rest>
const void* first_of(const void* buffer, Rest...) {
  return buffer;
}
// The root, where it is the last argument.
template <class... Arguments>
int root_of(Arguments... arguments) {
  const auto all = std::make_tuple(arguments...);
  const auto last = std::get<sizeof...(Arguments) - 1>(all);
  if constexpr (std::is_same_v<decltype(last), const int>)
    return last;
  else
    return -1;
}

}  // namespace
}  // namespace nigh::mpi::coll

using namespace nigh::mpi;
using namespace nigh::mpi::coll;

#define NIGH_PERSISTENT(NAME, SUFFIX, PARAMETERS, ARGUMENTS)                                              \
  int nigh_mpi_##NAME##_init##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm, MPI_Info info,               \
                                     MPI_Request* request) {                                              \
    return persistent(                                                                                    \
        Function::NAME##_init##SUFFIX, comm, request,                                                     \
        [](Prepared& p, auto... arguments) { return prepare_##NAME(p, arguments...); },                   \
        [&] { return real().NAME##_init##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm, info, request); },          \
        [&](const CommState& state) {                                                                     \
          return lengths_of(Function::NAME##_init##SUFFIX, state, first_of ARGUMENTS, root_of ARGUMENTS); \
        },                                                                                                \
        NIGH_UNPAREN ARGUMENTS);                                                                          \
  }
#define NIGH_PERSISTENT_NEIGHBORS(NAME, SUFFIX, PARAMETERS, ARGUMENTS)                                   \
  int nigh_mpi_##NAME##_init##SUFFIX(NIGH_UNPAREN PARAMETERS, MPI_Comm comm, MPI_Info info,              \
                                     MPI_Request* request) {                                             \
    return persistent(                                                                                   \
        Function::NAME##_init##SUFFIX, comm, request,                                                    \
        [around = neighbors_of(comm)](Prepared& p, auto... arguments) {                                  \
          return prepare_##NAME(p, around.get(), arguments...);                                          \
        },                                                                                               \
        [&] { return real().NAME##_init##SUFFIX(NIGH_UNPAREN ARGUMENTS, comm, info, request); },         \
        [&](const CommState&) { return lengths_of(neighbors_of(comm).get()); }, NIGH_UNPAREN ARGUMENTS); \
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
      [&] { return real().Barrier_init(comm, info, request); }, [](const CommState&) { return Lengths(); });
}
}
