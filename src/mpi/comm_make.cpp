// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that make communicators: the library makes them, we note who is in them. Members agree on a
// context without a message: it is worked out of the parent's context, of how many communicators the parent
// has borne (the same count on all, since making one is collective) and of who the members are.
#include "mpi/comm.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "mpi/away.hpp"
#include "mpi/comm_members.hpp"
#include "mpi/ours.hpp"
#include "mpi/request.hpp"

namespace nigh::mpi {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
  return x ^ (x >> 32);
}

namespace {

// Communicators that a part of the parent's members makes, or of two groups that have no parent: counted by
// what the members have in common, which is their members and the tag.
std::uint64_t nth_of(std::uint64_t key) {
  static std::mutex lock;
  static auto* counts = new std::unordered_map<std::uint64_t, std::uint64_t>;
  const std::lock_guard guard(lock);
  return ++(*counts)[key];
}

// One call of a function that is collective over `parent`.
template <class Call>
int make(Function function, MPI_Comm parent, MPI_Comm* made, Call&& call) {
  CommState* state = comm_state(parent);
  const Away away;
  const int code = call();
  count(function, state ? Reason::covered : Reason::foreign);
  if (code == MPI_SUCCESS && state) make_state(*made, mix(state->context, ++state->made));
  return code;
}

// The same of one that makes a communicator with the same members in the same order.
template <class Call>
int copy(Function function, MPI_Comm parent, MPI_Comm* made, Call&& call) {
  CommState* state = comm_state(parent);
  const Away away;
  CommState* copied = state ? begin_copy(*state, mix(state->context, ++state->made)) : nullptr;
  const int code = call();
  count(function, state ? Reason::covered : Reason::foreign);
  if (copied) end_copy(*copied, code == MPI_SUCCESS ? *made : MPI_COMM_NULL);
  return code;
}

// A communicator under way: it is known when the program learns that the library has made it.
class Copying final : public Operation {
 public:
  Copying(CommState& state, MPI_Comm* made) : state_(&state), made_(made) {}
  MPI_Request* request() { return &request_; }
  bool advance() override {
    int done = 0;
    if (request_ != MPI_REQUEST_NULL) error_ = real().Test(&request_, &done, MPI_STATUS_IGNORE);
    return done != 0 || error_ != MPI_SUCCESS || request_ == MPI_REQUEST_NULL;
  }
  int end(MPI_Status& /*status*/) override {
    end_copy(*state_, error_ == MPI_SUCCESS ? *made_ : MPI_COMM_NULL);
    return error_;  // which the library has raised
  }
  void release() override { delete this; }

 private:
  CommState* state_;
  MPI_Comm* made_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int error_ = MPI_SUCCESS;
};

template <class Call>
int copy_later(Function function, MPI_Comm parent, MPI_Comm* made, MPI_Request* request, Call&& call) {
  CommState* state = comm_state(parent);
  CommState* copied =
      state && request && made ? begin_copy(*state, mix(state->context, ++state->made)) : nullptr;
  count(function, copied ? Reason::covered : Reason::foreign);
  if (!copied) return call(request);
  auto* copying = new Copying(*copied, made);
  const int code = call(copying->request());
  if (code == MPI_SUCCESS && adopt(copying, request)) return MPI_SUCCESS;
  end_copy(*copied, MPI_COMM_NULL);
  if (code == MPI_SUCCESS) *request = *copying->request();  // no placeholder: the new one stays unknown
  copying->release();
  return code;
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return copy(Function::Comm_dup, comm, made, [&] { return real().Comm_dup(comm, made); });
}

int nigh_mpi_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  return copy(Function::Comm_dup_with_info, comm, made,
              [&] { return real().Comm_dup_with_info(comm, info, made); });
}

int nigh_mpi_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  return copy_later(Function::Comm_idup, comm, made, request,
                    [&](MPI_Request* under_way) { return real().Comm_idup(comm, made, under_way); });
}

int nigh_mpi_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
  return copy_later(Function::Comm_idup_with_info, comm, made, request, [&](MPI_Request* under_way) {
    return real().Comm_idup_with_info(comm, info, made, under_way);
  });
}

int nigh_mpi_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return make(Function::Comm_split, comm, made, [&] { return real().Comm_split(comm, color, key, made); });
}

int nigh_mpi_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  return make(Function::Comm_split_type, comm, made,
              [&] { return real().Comm_split_type(comm, type, key, info, made); });
}

int nigh_mpi_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return make(Function::Comm_create, comm, made, [&] { return real().Comm_create(comm, group, made); });
}

int nigh_mpi_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int reorder,
                         MPI_Comm* made) {
  return make(Function::Cart_create, comm, made,
              [&] { return real().Cart_create(comm, dimensions, sizes, periods, reorder, made); });
}

int nigh_mpi_Cart_sub(MPI_Comm comm, const int* remain, MPI_Comm* made) {
  return make(Function::Cart_sub, comm, made, [&] { return real().Cart_sub(comm, remain, made); });
}

int nigh_mpi_Graph_create(MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder,
                          MPI_Comm* made) {
  return make(Function::Graph_create, comm, made,
              [&] { return real().Graph_create(comm, nodes, index, edges, reorder, made); });
}

int nigh_mpi_Dist_graph_create(MPI_Comm comm, int n, const int* sources, const int* degrees,
                               const int* destinations, const int* weights, MPI_Info info, int reorder,
                               MPI_Comm* made) {
  return make(Function::Dist_graph_create, comm, made, [&] {
    return real().Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, made);
  });
}

int nigh_mpi_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights,
                                        int out, const int* destinations, const int* destination_weights,
                                        MPI_Info info, int reorder, MPI_Comm* made) {
  return make(Function::Dist_graph_create_adjacent, comm, made, [&] {
    return real().Dist_graph_create_adjacent(comm, in, sources, source_weights, out, destinations,
                                             destination_weights, info, reorder, made);
  });
}

int nigh_mpi_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
  return make(Function::Intercomm_merge, comm, made,
              [&] { return real().Intercomm_merge(comm, high, made); });
}

// MPICH 5 reports unreceived messages here. Its own barrier lets them arrive; ours makes no progress in the
// library.
static void let_messages_come(MPI_Comm comm) {
  const CommState* state = is_openmpi() || comm == MPI_COMM_NULL ? nullptr : comm_state(comm);
  if (!state || !state->group) return;
  int found = 0;
  for (int look = 0; look < 4 && !found; ++look)
    if (real().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
}

int nigh_mpi_Comm_free(MPI_Comm* comm) {
  const Away away;
  if (comm) let_messages_come(*comm);
  if (comm) detach_state(*comm);
  return real().Comm_free(comm);
}

int nigh_mpi_Comm_disconnect(MPI_Comm* comm) {
  const Away away;
  if (comm) let_messages_come(*comm);
  if (comm) detach_state(*comm);
  return real().Comm_disconnect(comm);
}

// Collective over the members of the group only.
int nigh_mpi_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  CommState* state = comm_state(comm);
  const Away away;
  const int code = real().Comm_create_group(comm, group, tag, made);
  count(Function::Comm_create_group, state ? Reason::covered : Reason::foreign);
  if (code != MPI_SUCCESS || !state || *made == MPI_COMM_NULL) return code;
  const std::uint64_t key =
      mix(mix(state->context, static_cast<std::uint64_t>(tag) + 1), members_hash(*made));
  make_state(*made, mix(key, nth_of(key)));
  return code;
}

// Collective over two groups; the parents differ, or are not known to all, so the members alone name it.
int nigh_mpi_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm bridge, int remote_leader, int tag,
                              MPI_Comm* made) {
  CommState* state = comm_state(comm);
  const Away away;
  const int code = real().Intercomm_create(comm, leader, bridge, remote_leader, tag, made);
  count(Function::Intercomm_create, state ? Reason::covered : Reason::foreign);
  if (code != MPI_SUCCESS || *made == MPI_COMM_NULL) return code;
  const std::uint64_t key = mix(mix(0x696e746572, static_cast<std::uint64_t>(tag)), members_hash(*made));
  make_state(*made, mix(key, nth_of(key)));
  return code;
}
