// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Sends and receives in one call. The library exchanges whatever goes over the wire, descriptors or messages,
// each way by itself; then we take what was offered to us, and only then wait for our own buffer, so that two
// ranks that exchange copy at the same time. MPI_Sendrecv_replace sends a copy, since the descriptor that
// comes would be written over the message that goes.
#include <climits>
#include <cstdlib>

#include "mpi/away.hpp"
#include "mpi/early.hpp"
#include "mpi/ours.hpp"

namespace nigh::mpi {
namespace {

template <class Count>
struct Side {
  void* buffer;
  Count count;
  MPI_Datatype type;
  int peer, tag;
};

// The library's receive returned: brings the payload.
template <class Count>
int take_side(const Side<Count>& from, MPI_Comm comm, MPI_Status& status, int error, Later& later) {
  if (error != MPI_SUCCESS) return error;
  if (status_bytes(status) != wire_bytes || from.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  return finish_receive(
      {.buffer = from.buffer, .count = from.count, .type = type_info(from.type), .comm = comm}, status,
      later);
}

// A request that nobody will ask for.
void finish_alone(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return;
  if (Record* record = find_request(request); record && record->placeholder) record->operation->hasten();
  nigh_mpi_Request_free(&request);
}

// The library's MPI_Sendrecv, for a wait in which something must be driven.
template <class Isend, class Irecv, class Count>
int driven_exchange(Isend isend, Irecv irecv, const Side<Count>& to, const Side<Count>& from, MPI_Comm comm,
                    MPI_Status* status) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  int error = irecv(from.buffer, from.count, from.type, from.peer, from.tag, comm, &requests[0]);
  if (error != MPI_SUCCESS) return error;
  error = isend(to.buffer, to.count, to.type, to.peer, to.tag, comm, &requests[1]);
  if (error != MPI_SUCCESS) {  // the buffer is not the user's again before the receive is off the library
    nigh_mpi_Cancel(&requests[0]);
    nigh_mpi_Wait(&requests[0], MPI_STATUS_IGNORE);
    return error;
  }
  {
    // The rest of the call goes on by itself when a handler leaves it; the buffer is the user's.
    const Settled rest([&](int) {
      for (MPI_Request& request : requests) finish_alone(request);
    });
    error = nigh_mpi_Waitall(2, requests, statuses);
  }
  if (status != MPI_STATUS_IGNORE) {
    const int kept = status->MPI_ERROR;  // not for calls that complete one operation to write
    *status = statuses[0];
    status->MPI_ERROR = kept;
    if (from.peer == MPI_PROC_NULL) {  // MPICH leaves the status of such a receive in MPI_Waitall as it was
      make_empty(*status);
      status->MPI_SOURCE = MPI_PROC_NULL;
    }
  }
  return error == MPI_ERR_IN_STATUS
             ? (statuses[0].MPI_ERROR != MPI_SUCCESS ? statuses[0].MPI_ERROR : statuses[1].MPI_ERROR)
             : error;
}

// The offer of what goes, or nullptr: the library sends it itself.
template <class Count>
message::Offer* offer_side(const Side<Count>& to, Function function, bool copy, MPI_Comm comm, Outgoing& out,
                           Descriptor& wire) {
  if (surely_small(to.type, to.count) ||
      !prepare(out, function, to.buffer, to.count, to.type, to.peer, to.tag, comm))
    return nullptr;
  message::Offer* offer = make_offer(out, wire, copy);
  if (!offer) count(function, Reason::memory, out.bytes);
  return offer;
}

template <class Sendrecv, class Isend, class Irecv, class Count>
[[gnu::noinline]] int exchange(Function function, Sendrecv whole, Isend isend, Irecv irecv,
                               const Side<Count>& to, const Side<Count>& from, MPI_Comm comm,
                               MPI_Status* status) {
  const bool plain = is_plain(to.buffer, to.count, to.type, to.peer, to.tag, comm, false) &&
                     is_plain(from.buffer, from.count, from.type, from.peer, from.tag, comm, true);
  if (plain && (must_drive() || look_early())) return driven_exchange(isend, irecv, to, from, comm, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  Outgoing out;
  Descriptor wire;
  message::Offer* offer = plain ? offer_side(to, function, false, comm, out, wire) : nullptr;
  Side<Count> sent = to;
  if (offer) sent = {.buffer = &wire, .count = wire_bytes, .type = MPI_BYTE, .peer = to.peer, .tag = to.tag};
  int error = MPI_SUCCESS;
  Later later;
  {
    const Away away;
    const Settled both([&](int) {
      if (offer) await_release(offer, out.bytes);
    });
    error = whole(sent.buffer, sent.count, sent.type, sent.peer, sent.tag, from.buffer, from.count, from.type,
                  from.peer, from.tag, comm, status);
    if (both.settled()) return error;
  }
  error = take_side(from, comm, *status, error, later);
  if (offer) {
    await_release(offer, out.bytes);
    mpi::count(function, Reason::covered, out.bytes);
  }
  later.raise_now();
  return error;
}

// The exchange of driven_exchange(), from a copy, which goes by descriptor like any message.
template <class Replace, class Isend, class Irecv, class Count>
int driven_replace(Replace library, Isend isend, Irecv irecv, const Side<Count>& to, const Side<Count>& from,
                   MPI_Comm comm, MPI_Status* status) {
  TypeInfo* info = type_info(to.type);
  const bool sound = is_usual(to.buffer, to.count, to.type);
  const std::size_t bytes = sound ? info->size * static_cast<std::size_t>(to.count) : 0;
  void* copy = sound && bytes <= INT_MAX ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
  if (!copy || !pack(copy, bytes, to.buffer, to.count, *info)) {
    std::free(copy);
    return library(from.buffer, from.count, from.type, to.peer, to.tag, from.peer, from.tag, comm, status);
  }
  const Side<Count> packed = {
      .buffer = copy, .count = static_cast<Count>(bytes), .type = MPI_BYTE, .peer = to.peer, .tag = to.tag};
  const int error = driven_exchange(isend, irecv, packed, from, comm, status);
  std::free(copy);
  return error;
}

// `whole` is MPI_Sendrecv: a copy is sent, and what comes lands in the user's buffer.
template <class Sendrecv, class Replace, class Isend, class Irecv, class Count>
[[gnu::noinline]] int replace(Function function, Sendrecv whole, Replace library, Isend isend, Irecv irecv,
                              const Side<Count>& to, const Side<Count>& from, MPI_Comm comm,
                              MPI_Status* status) {
  const bool plain = is_plain(to.buffer, to.count, to.type, to.peer, to.tag, comm, false) &&
                     is_plain(from.buffer, from.count, from.type, from.peer, from.tag, comm, true);
  if (plain && (look_early() || must_drive()))
    return driven_replace(library, isend, irecv, to, from, comm, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  Outgoing out;
  Descriptor wire;
  message::Offer* offer = plain ? offer_side(to, function, true, comm, out, wire) : nullptr;
  int error = MPI_SUCCESS;
  Later later;
  {
    const Away away;
    const Settled both([&](int) {
      if (offer) process().offers->close(offer);
    });
    error = offer ? whole(&wire, wire_bytes, MPI_BYTE, to.peer, to.tag, from.buffer, from.count, from.type,
                          from.peer, from.tag, comm, status)
                  : library(from.buffer, from.count, from.type, to.peer, to.tag, from.peer, from.tag, comm,
                            status);
    if (both.settled()) return error;
  }
  error = take_side(from, comm, *status, error, later);
  if (offer) {
    process().offers->close(offer);
    mpi::count(function, Reason::covered, out.bytes);
  }
  later.raise_now();
  return error;
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

#define NIGH_SENDRECV(name, start_send, start_recv, Count)                                                   \
  int nigh_mpi_##name(const void* out, Count out_count, MPI_Datatype out_type, int dest, int out_tag,        \
                      void* in, Count in_count, MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, \
                      MPI_Status* status) {                                                                  \
    if (surely_small(out_type, out_count) && surely_small(in_type, in_count) && !must_drive() &&             \
        !look_early()) [[likely]]                                                                            \
      return real().name(out, out_count, out_type, dest, out_tag, in, in_count, in_type, source, in_tag,     \
                         comm, status);                                                                      \
    return exchange<decltype(real().name), decltype(&nigh_mpi_##start_send),                                 \
                    decltype(&nigh_mpi_##start_recv), Count>(                                                \
        Function::name, real().name, nigh_mpi_##start_send, nigh_mpi_##start_recv,                           \
        {const_cast<void*>(out), out_count, out_type, dest, out_tag},                                        \
        {in, in_count, in_type, source, in_tag}, comm, status);                                              \
  }
#define NIGH_REPLACE(name, base, start_send, start_recv, Count)                                        \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, int dest, int out_tag, int source, \
                      int in_tag, MPI_Comm comm, MPI_Status* status) {                                 \
    if (surely_small(type, count) && !must_drive() && !look_early()) [[likely]]                        \
      return real().name(buffer, count, type, dest, out_tag, source, in_tag, comm, status);            \
    return replace<decltype(real().base), decltype(real().name), decltype(&nigh_mpi_##start_send),     \
                   decltype(&nigh_mpi_##start_recv), Count>(                                           \
        Function::name, real().base, real().name, nigh_mpi_##start_send, nigh_mpi_##start_recv,        \
        {buffer, count, type, dest, out_tag}, {buffer, count, type, source, in_tag}, comm, status);    \
  }
NIGH_SENDRECV(Sendrecv, Isend, Irecv, int)
NIGH_REPLACE(Sendrecv_replace, Sendrecv, Isend, Irecv, int)
NIGH_SENDRECV(Sendrecv_c, Isend_c, Irecv_c, MPI_Count)
NIGH_REPLACE(Sendrecv_replace_c, Sendrecv_c, Isend_c, Irecv_c, MPI_Count)
