// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See coll_refused.hpp. No call here moves a byte from or to anything but `Data`; what the library does not
// refuse is done, by one process.
#include "mpi/coll_refused.hpp"

#include "mpi/handlers.hpp"
#include "mpi/types.hpp"

namespace nigh::mpi::coll {

Refused g_refused[static_cast<int>(Form::count)][2];

namespace {

MPI_Comm g_loop = MPI_COMM_NULL;

// One call of one process, and its buffers.
struct Question {
  void* send;
  void* receive;
  int count;
  MPI_Datatype send_type = MPI_INT, receive_type = MPI_INT;
  // MPICH's MPI_Alltoallw looks for aliases where both sides have the same arrays, and ends the job where it
  // copies bytes onto themselves.
  [[nodiscard]] const MPI_Datatype* receive_types() const {
    return send == receive ? &send_type : &receive_type;
  }
};

// NOLINTNEXTLINE(readability-function-size): one line a function
int call(Form form, const Question& q) {
  const MPI_Comm self = own_comm();
  const int none = 0;
  const MPI_Aint nowhere = 0;
  const MPI_Datatype s = q.send_type, r = q.receive_type;
  const auto& mpi = real();
  switch (form) {
    case Form::bcast: return mpi.Bcast(q.receive, q.count, r, 0, self);
    case Form::allreduce: return mpi.Allreduce(q.send, q.receive, q.count, r, MPI_SUM, self);
    case Form::reduce: return mpi.Reduce(q.send, q.receive, q.count, r, MPI_SUM, 0, self);
    case Form::scan: return mpi.Scan(q.send, q.receive, q.count, r, MPI_SUM, self);
    case Form::exscan: return mpi.Exscan(q.send, q.receive, q.count, r, MPI_SUM, self);
    case Form::reduce_scatter: return mpi.Reduce_scatter(q.send, q.receive, &q.count, r, MPI_SUM, self);
    case Form::reduce_scatter_block:
      return mpi.Reduce_scatter_block(q.send, q.receive, q.count, r, MPI_SUM, self);
    case Form::gather: return mpi.Gather(q.send, q.count, s, q.receive, q.count, r, 0, self);
    case Form::gatherv: return mpi.Gatherv(q.send, q.count, s, q.receive, &q.count, &none, r, 0, self);
    case Form::scatter: return mpi.Scatter(q.send, q.count, s, q.receive, q.count, r, 0, self);
    case Form::scatterv: return mpi.Scatterv(q.send, &q.count, &none, s, q.receive, q.count, r, 0, self);
    case Form::allgather: return mpi.Allgather(q.send, q.count, s, q.receive, q.count, r, self);
    case Form::allgatherv: return mpi.Allgatherv(q.send, q.count, s, q.receive, &q.count, &none, r, self);
    case Form::alltoall: return mpi.Alltoall(q.send, q.count, s, q.receive, q.count, r, self);
    case Form::alltoallv:
      return mpi.Alltoallv(q.send, &q.count, &none, s, q.receive, &q.count, &none, r, self);
    case Form::alltoallw:
      return mpi.Alltoallw(q.send, &q.count, &none, &q.send_type, q.receive, &q.count, &none,
                           q.receive_types(), self);
    case Form::neighbor_allgather:
      return mpi.Neighbor_allgather(q.send, q.count, s, q.receive, q.count, r, g_loop);
    case Form::neighbor_allgatherv:
      return mpi.Neighbor_allgatherv(q.send, q.count, s, q.receive, &q.count, &none, r, g_loop);
    case Form::neighbor_alltoall:
      return mpi.Neighbor_alltoall(q.send, q.count, s, q.receive, q.count, r, g_loop);
    case Form::neighbor_alltoallv:
      return mpi.Neighbor_alltoallv(q.send, &q.count, &none, s, q.receive, &q.count, &none, r, g_loop);
    case Form::neighbor_alltoallw:
      return mpi.Neighbor_alltoallw(q.send, &q.count, &nowhere, &q.send_type, q.receive, &q.count, &nowhere,
                                    q.receive_types(), g_loop);
    default: return MPI_SUCCESS;
  }
}

// NOLINTNEXTLINE(readability-function-size): one line a function
int start(Form form, const Question& q, MPI_Request* w) {
  const MPI_Comm self = own_comm();
  static const int none = 0;
  static const MPI_Aint nowhere = 0;
  const MPI_Datatype s = q.send_type, r = q.receive_type;
  const auto& mpi = real();
  switch (form) {
    case Form::bcast: return mpi.Ibcast(q.receive, q.count, r, 0, self, w);
    case Form::allreduce: return mpi.Iallreduce(q.send, q.receive, q.count, r, MPI_SUM, self, w);
    case Form::reduce: return mpi.Ireduce(q.send, q.receive, q.count, r, MPI_SUM, 0, self, w);
    case Form::scan: return mpi.Iscan(q.send, q.receive, q.count, r, MPI_SUM, self, w);
    case Form::exscan: return mpi.Iexscan(q.send, q.receive, q.count, r, MPI_SUM, self, w);
    case Form::reduce_scatter: return mpi.Ireduce_scatter(q.send, q.receive, &q.count, r, MPI_SUM, self, w);
    case Form::reduce_scatter_block:
      return mpi.Ireduce_scatter_block(q.send, q.receive, q.count, r, MPI_SUM, self, w);
    case Form::gather: return mpi.Igather(q.send, q.count, s, q.receive, q.count, r, 0, self, w);
    case Form::gatherv: return mpi.Igatherv(q.send, q.count, s, q.receive, &q.count, &none, r, 0, self, w);
    case Form::scatter: return mpi.Iscatter(q.send, q.count, s, q.receive, q.count, r, 0, self, w);
    case Form::scatterv: return mpi.Iscatterv(q.send, &q.count, &none, s, q.receive, q.count, r, 0, self, w);
    case Form::allgather: return mpi.Iallgather(q.send, q.count, s, q.receive, q.count, r, self, w);
    case Form::allgatherv: return mpi.Iallgatherv(q.send, q.count, s, q.receive, &q.count, &none, r, self, w);
    case Form::alltoall: return mpi.Ialltoall(q.send, q.count, s, q.receive, q.count, r, self, w);
    case Form::alltoallv:
      return mpi.Ialltoallv(q.send, &q.count, &none, s, q.receive, &q.count, &none, r, self, w);
    case Form::alltoallw:
      return mpi.Ialltoallw(q.send, &q.count, &none, &q.send_type, q.receive, &q.count, &none,
                            q.receive_types(), self, w);
    case Form::neighbor_allgather:
      return mpi.Ineighbor_allgather(q.send, q.count, s, q.receive, q.count, r, g_loop, w);
    case Form::neighbor_allgatherv:
      return mpi.Ineighbor_allgatherv(q.send, q.count, s, q.receive, &q.count, &none, r, g_loop, w);
    case Form::neighbor_alltoall:
      return mpi.Ineighbor_alltoall(q.send, q.count, s, q.receive, q.count, r, g_loop, w);
    case Form::neighbor_alltoallv:
      return mpi.Ineighbor_alltoallv(q.send, &q.count, &none, s, q.receive, &q.count, &none, r, g_loop, w);
    case Form::neighbor_alltoallw:
      return mpi.Ineighbor_alltoallw(q.send, &q.count, &nowhere, &q.send_type, q.receive, &q.count, &nowhere,
                                     q.receive_types(), g_loop, w);
    default: return MPI_SUCCESS;
  }
}

bool refuses(Form form, bool waits, const Question& q) {
  if (waits) return call(form, q) != MPI_SUCCESS;
  MPI_Request request = MPI_REQUEST_NULL;
  return start(form, q, &request) != MPI_SUCCESS || real().Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

// MPI_IN_PLACE as an argument that does not allow it.
bool in_place_of_none(Form form, bool waits, int* data) {
  const bool sends = form == Form::scatter || form == Form::scatterv;
  return refuses(form, waits,
                 {.send = sends ? MPI_IN_PLACE : data, .receive = sends ? data : MPI_IN_PLACE, .count = 0});
}

Refused ask(Form form, bool waits, MPI_Datatype uncommitted) {
  int data[4] = {};
  Refused refused;
  // No library compares the buffers of neighbours, MPICH ends the job that copies bytes onto themselves, and
  // calls of neighbours with MPI_IN_PLACE are always the library's: nothing of that is asked.
  if (form < Form::neighbor_allgather) {
    for (int count = 0; form != Form::bcast && count < 3; ++count)
      refused.alias[count] = refuses(form, waits, {.send = data, .receive = data, .count = count});
    refused.in_place_of_none = in_place_of_none(form, waits, data);
  }
  if (form == Form::exscan) {
    refused.first_in_place = refuses(form, waits, {.send = data, .receive = MPI_IN_PLACE, .count = 1});
    refused.first_null = refuses(form, waits, {.send = data, .receive = nullptr, .count = 1});
  }
  if (form != Form::bcast && form < Form::gather) return refused;  // reductions take named types only
  refused.uncommitted_send =
      refuses(form, waits, {.send = data, .receive = data + 2, .count = 0, .send_type = uncommitted});
  refused.uncommitted_receive =
      refuses(form, waits, {.send = data, .receive = data + 2, .count = 0, .receive_type = uncommitted});
  const bool typed = form == Form::alltoallw || form == Form::neighbor_alltoallw;
  refused.null_type_of_none = typed && refuses(form, waits,
                                               {.send = data,
                                                .receive = data + 2,
                                                .count = 0,
                                                .send_type = MPI_DATATYPE_NULL,
                                                .receive_type = MPI_DATATYPE_NULL});
  return refused;
}

void ask_of(Form first, Form end, MPI_Datatype uncommitted) {
  for (int form = static_cast<int>(first); form < static_cast<int>(end); ++form)
    for (const int waits : {0, 1})
      g_refused[form][1 - waits] = ask(static_cast<Form>(form), waits != 0, uncommitted);
}

}  // namespace

NoErrors::NoErrors(bool of_neighbors) : on_(is_openmpi()) {
  int version = 0, subversion = 0;
  if (of_neighbors && real().Get_version(&version, &subversion) == MPI_SUCCESS) on_ |= version < 4;
  const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; on_ && i < 2; ++i) {
    real().Comm_get_errhandler(comms[i], &handlers_[i]);
    real().Comm_set_errhandler(comms[i], errors_return());
  }
}

NoErrors::~NoErrors() {
  const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; on_ && i < 2; ++i) {
    real().Comm_set_errhandler(comms[i], handlers_[i]);
    real().Errhandler_free(&handlers_[i]);
  }
}

void ask_what_neighbors_refuse(MPI_Comm loop) {
  MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
  if (real().Type_contiguous(2, MPI_INT, &uncommitted) != MPI_SUCCESS) return;
  g_loop = loop;
  ask_of(Form::neighbor_allgather, Form::count, uncommitted);
  g_loop = MPI_COMM_NULL;
  real().Type_free(&uncommitted);
}

void ask_what_is_refused() {
  MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
  if (own_comm() == MPI_COMM_NULL || real().Type_contiguous(2, MPI_INT, &uncommitted) != MPI_SUCCESS) return;
  {
    const NoErrors none(false);
    ask_of(Form::bcast, Form::neighbor_allgather, uncommitted);
  }
  real().Type_free(&uncommitted);
}

}  // namespace nigh::mpi::coll
