// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Receives: the library's own, and then a look at the length in the status. If it is that of a descriptor,
// the payload is copied from where it was offered over the descriptor, and the status is made to tell of it.
// A receive that the library has refused because not even a descriptor fits was meant for an offer all the
// same.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mpi/ours.hpp"
#include "mpi/p2p.hpp"

namespace nigh::mpi {

std::atomic<bool> g_forgiving = false;

namespace {

constexpr std::size_t huge_page = 2u << 20;

std::size_t capacity_of(const Landing& landing) {
  return landing.type->size * static_cast<std::size_t>(landing.count);
}

// The bytes of an offer into elements that only the library can walk.
bool take_packed(message::Offer* offer, const Landing& landing, std::size_t bytes) {
  void* packed = std::malloc(std::max<std::size_t>(bytes, 1));
  process().offers->take(offer, packed, nullptr, packed ? bytes : 0);
  const bool ok = packed && unpack(packed, bytes, landing.buffer, landing.count, *landing.type);
  std::free(packed);
  return ok;
}

int error_class(int code) {
  int result = code;
  if (code != MPI_SUCCESS) real().Error_class(code, &result);
  return result;
}

}  // namespace

namespace {

// Where several receives have one buffer, a descriptor may lie under another, or under its payload. The
// length alone tells that there was one; who comes first gets what was offered first.
message::Offer* offer_of(const Descriptor& wire, const Landing& landing, const MPI_Status& status) {
  auto& space = *process().space;
  message::Offers& offers = *process().offers;
  if (wire.sealed() && wire.to == space.rank() && wire.from >= 0 && wire.from < space.size()) {
    message::Offer* offer = offers.find(wire.from, wire.name);
    if (offer) return message::Offers::bytes_of(offer) == wire.bytes ? offer : nullptr;
  }
  const CommState* state = g_large.of(landing.buffer).shared ? comm_state(landing.comm) : nullptr;
  if (!state || status.MPI_SOURCE < 0 || status.MPI_SOURCE >= state->peers) return nullptr;
  const int from = state->space[static_cast<std::size_t>(status.MPI_SOURCE)];
  return from >= 0 && from != space.rank() ? offers.oldest(from, state->context, status.MPI_TAG) : nullptr;
}

}  // namespace

bool land(const Landing& landing, const MPI_Status& status, std::uint64_t& bytes, int& error) {
  TypeInfo& info = *landing.type;
  if (capacity_of(landing) < wire_bytes) return false;
  Descriptor wire;
  const Range range = range_of(info, landing.buffer, landing.count);
  if (info.contiguous)
    std::memcpy(&wire, range.first, wire_bytes);
  else if (!pack(&wire, wire_bytes, landing.buffer, landing.count, info))
    return false;
  message::Offer* offer = offer_of(wire, landing, status);
  if (!offer) return false;
  const std::size_t room = capacity_of(landing);
  const std::size_t offered = message::Offers::bytes_of(offer);
  bytes = std::min(offered, room);
  error = offered > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  if (bytes >= huge_page) process().space->collapse(range.first, range.bytes);
  if (info.contiguous)
    process().offers->take(offer, const_cast<char*>(range.first), nullptr, bytes);
  else if (!info.opaque)
    process().offers->take(offer, landing.buffer, &info.layout, bytes);
  else if (!take_packed(offer, landing, bytes))
    error = MPI_ERR_NO_MEM;
  return true;
}

int finish_receive(const Landing& landing, MPI_Status& status) {
  Later later;
  const int error = finish_receive(landing, status, later);
  later.raise_now();
  return error;
}

int finish_receive(const Landing& landing, MPI_Status& status, Later& later) {
  std::uint64_t bytes = 0;
  int error = MPI_SUCCESS;
  if (status_cancelled(status) || !landing.type || !land(landing, status, bytes, error)) return MPI_SUCCESS;
  set_status_bytes(status, bytes);
  if (error != MPI_SUCCESS) later.add(landing.comm, error);
  return error;
}

void discard_refused(MPI_Comm comm, const MPI_Status& status, int error) {
  const CommState* state = comm_state(comm);
  if (error_class(error) != MPI_ERR_TRUNCATE || !state || status.MPI_SOURCE < 0 ||
      status.MPI_SOURCE >= state->peers)
    return;
  const int from = state->space[static_cast<std::size_t>(status.MPI_SOURCE)];
  if (from < 0 || from == process().space->rank() || !refused_descriptor(status)) return;
  deliver_posted(true);  // what came before it is no longer among the offers
  message::Offers& offers = *process().offers;
  message::Offer* offer = offers.oldest(from, state->context, status.MPI_TAG);
  if (!offer) return;
  char nothing = 0;
  if (refused_surely)
    offers.take(offer, &nothing, nullptr, 0);
  else
    message::Offers::reserve(offer);
}

namespace {

[[gnu::noinline]] int received(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                               MPI_Status& status, int error) {
  if (error != MPI_SUCCESS) {
    discard_refused(comm, status, error);
    return error;
  }
  return finish_receive({.buffer = buffer, .count = count, .type = type_info(type), .comm = comm}, status);
}

// Where a handler of the program's may leave the library's receive for good.
template <class Call>
[[gnu::noinline]] int held_receive(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                                   MPI_Status* status, Call&& call) {
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  int error = MPI_SUCCESS;
  {
    const Settled refused([&](int code) { discard_refused(comm, *status, code); });
    error = call(status);
    if (refused.settled()) return error;
  }
  if (error == MPI_SUCCESS && status_bytes(*status) != wire_bytes) return MPI_SUCCESS;
  return received(buffer, count, type, comm, *status, error);
}

template <class Irecv, class Count>
[[gnu::noinline]] int driven_recv(Irecv start, void* buffer, Count count, MPI_Datatype type, int source,
                                  int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = start(buffer, count, type, source, tag, comm, &request);
  return error == MPI_SUCCESS ? nigh_mpi_Wait(&request, status) : error;
}

template <class Imrecv, class Count>
[[gnu::noinline]] int driven_mrecv(Imrecv start, void* buffer, Count count, MPI_Datatype type,
                                   MPI_Message* message, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = start(buffer, count, type, message, &request);
  return error == MPI_SUCCESS ? nigh_mpi_Wait(&request, status) : error;
}

[[gnu::noinline]] int posted(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                             MPI_Request* request) {
  if (track(*request, buffer, count, type, comm, false)) return MPI_SUCCESS;
  real().Cancel(request);
  real().Wait(request, MPI_STATUS_IGNORE);
  return raise(comm, MPI_ERR_NO_MEM);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  if (handler != MPI_ERRORS_ARE_FATAL) g_forgiving = true;
  return real().Comm_set_errhandler(comm, handler);
}

#define NIGH_RECV(name, start, Count)                                                                   \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
                      MPI_Status* status) {                                                             \
    if (must_drive() && source != MPI_PROC_NULL) [[unlikely]]                                           \
      return driven_recv(nigh_mpi_##start, buffer, count, type, source, tag, comm, status);             \
    if (handlers_made()) [[unlikely]]                                                                   \
      return held_receive(buffer, count, type, comm, status, [&](MPI_Status* at) {                      \
        return real().name(buffer, count, type, source, tag, comm, at);                                 \
      });                                                                                               \
    MPI_Status own;                                                                                     \
    if (status == MPI_STATUS_IGNORE) status = &own;                                                     \
    const int error = real().name(buffer, count, type, source, tag, comm, status);                      \
    if (error == MPI_SUCCESS && status_bytes(*status) != wire_bytes) [[likely]]                         \
      return MPI_SUCCESS;                                                                               \
    return received(buffer, count, type, comm, *status, error);                                         \
  }
#define NIGH_IRECV(name, Count)                                                                         \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
                      MPI_Request* request) {                                                           \
    if (never_brings(type, count)) [[likely]]                                                           \
      return real().name(buffer, count, type, source, tag, comm, request);                              \
    const int error = real().name(buffer, count, type, source, tag, comm, request);                     \
    if (error != MPI_SUCCESS || source == MPI_PROC_NULL) return error;                                  \
    return posted(buffer, count, type, comm, request);                                                  \
  }
// The communicator of a matched message is nowhere to be had: errors of ours are raised on MPI_COMM_WORLD.
#define NIGH_MRECV(name, start, Count)                                                                    \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, MPI_Message* message,                 \
                      MPI_Status* status) {                                                               \
    if (must_drive()) [[unlikely]]                                                                        \
      return driven_mrecv(nigh_mpi_##start, buffer, count, type, message, status);                        \
    const MPI_Comm comm = forget_message(*message);                                                       \
    if (handlers_made()) [[unlikely]]                                                                     \
      return held_receive(buffer, count, type, comm, status,                                              \
                          [&](MPI_Status* at) { return real().name(buffer, count, type, message, at); }); \
    MPI_Status own;                                                                                       \
    if (status == MPI_STATUS_IGNORE) status = &own;                                                       \
    const int error = real().name(buffer, count, type, message, status);                                  \
    if (error == MPI_SUCCESS && status_bytes(*status) != wire_bytes) return MPI_SUCCESS;                  \
    return received(buffer, count, type, comm, *status, error);                                           \
  }
#define NIGH_IMRECV(name, Count)                                                          \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, \
                      MPI_Request* request) {                                             \
    const bool nobody = *message == MPI_MESSAGE_NO_PROC;                                  \
    const MPI_Comm comm = forget_message(*message);                                       \
    const int error = real().name(buffer, count, type, message, request);                 \
    if (error != MPI_SUCCESS || nobody || never_brings(type, count)) return error;        \
    return posted(buffer, count, type, comm, request);                                    \
  }
NIGH_RECV(Recv, Irecv, int)
NIGH_IRECV(Irecv, int)
NIGH_MRECV(Mrecv, Imrecv, int)
NIGH_IMRECV(Imrecv, int)
#ifdef NIGH_MPI_HAS_Recv_c
NIGH_RECV(Recv_c, Irecv_c, MPI_Count)
NIGH_IRECV(Irecv_c, MPI_Count)
NIGH_MRECV(Mrecv_c, Imrecv_c, MPI_Count)
NIGH_IMRECV(Imrecv_c, MPI_Count)
#endif
