// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Receives: the library's own, and then a look at the length in the status. If it is that of a descriptor,
// the payload is copied from where it was offered over the descriptor, and the status is made to tell of it.
// What a probe has taken out of the library (early.hpp) is found before the library is asked. A receive that
// the library has refused, because not even a descriptor fits, leaves the offer to the sender, who stages it.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mpi/early.hpp"
#include "mpi/ours.hpp"
#include "mpi/receives_small.hpp"

namespace nigh::mpi {
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

// Several receives may have one buffer: then a descriptor may lie under another, or under its payload. The
// length alone tells that there was one; the first to ask gets the first offer.
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

void bring(message::Offer* offer, const Landing& landing, std::uint64_t& bytes, int& error) {
  TypeInfo& info = *landing.type;
  const ByteRange range = range_of(info, landing.buffer, landing.count);
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
}

bool land(const Landing& landing, const MPI_Status& status, std::uint64_t& bytes, int& error) {
  TypeInfo& info = *landing.type;
  if (capacity_of(landing) < wire_bytes) return false;
  Descriptor wire;
  if (info.contiguous)
    std::memcpy(&wire, range_of(info, landing.buffer, landing.count).first, wire_bytes);
  else if (!pack(&wire, wire_bytes, landing.buffer, landing.count, info))
    return false;
  message::Offer* offer = offer_of(wire, landing, status);
  if (!offer) return false;
  bring(offer, landing, bytes, error);
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

namespace {

[[gnu::noinline]] int received(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                               MPI_Status& status, int error) {
  if (error != MPI_SUCCESS || status_bytes(status) != wire_bytes) return error;
  return finish_receive({.buffer = buffer, .count = count, .type = type_info(type), .comm = comm}, status);
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
  TypeInfo* info = cached_type_info(type);
  if (info && is_plain(*info) && count >= 0 && !process().multiple) [[likely]] {
    const std::size_t room = info->size * static_cast<std::size_t>(count);
    if (room < wire_bytes) return MPI_SUCCESS;
    if (room < g_threshold && g_small_receives.note(*request, buffer, count, info, comm)) return MPI_SUCCESS;
  }
  if (track(*request, buffer, count, type, comm, false)) return MPI_SUCCESS;
  real().Cancel(request);
  real().Wait(request, MPI_STATUS_IGNORE);
  return raise(comm, MPI_ERR_NO_MEM);
}

// A receive that has to look for early messages first, or to keep other threads from taking them out.
template <class Recv, class Irecv, class Mrecv, class Count>
[[gnu::noinline]] int careful_recv(Recv whole, Irecv start, Mrecv matched, void* buffer, Count count,
                                   MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                   MPI_Status* status) {
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const Wanted wanted = {.comm = comm, .source = source, .tag = tag};
  if (!is_usual(wanted) || !is_usual(buffer, count, type)) {
    const int error = whole(buffer, count, type, source, tag, comm, status);
    return received(buffer, count, type, comm, *status, error);
  }
  Early* early = nullptr;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
  {
    const Gate gate(comm);
    early = take_early(wanted);
    if (!early) error = start(buffer, count, type, source, tag, comm, &request);
  }
  if (early && early->message == MPI_MESSAGE_NULL) {
    error = bring_early(early, {.buffer = buffer, .count = count, .type = type_info(type), .comm = comm},
                        *status);
    return error == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, error);
  }
  if (early) {
    MPI_Message message = release_early(early);
    error = matched(buffer, count, type, &message, status);
  } else if (error == MPI_SUCCESS) {
    error = real().Wait(&request, status);
  }
  return received(buffer, count, type, comm, *status, error);
}

template <class Irecv, class Imrecv, class Count>
[[gnu::noinline]] int careful_irecv(Irecv start, Imrecv matched, void* buffer, Count count, MPI_Datatype type,
                                    int source, int tag, MPI_Comm comm, MPI_Request* request) {
  const Wanted wanted = {.comm = comm, .source = source, .tag = tag};
  int error = MPI_SUCCESS;
  if (source == MPI_PROC_NULL || !is_usual(wanted) || !is_usual(buffer, count, type)) {
    error = start(buffer, count, type, source, tag, comm, request);
    if (error != MPI_SUCCESS || source == MPI_PROC_NULL || surely_small(type, count)) return error;
    return posted(buffer, count, type, comm, request);
  }
  Early* early = nullptr;
  {
    const Gate gate(comm);
    early = take_early(wanted);
    if (!early) error = start(buffer, count, type, source, tag, comm, request);
  }
  if (early && early->message == MPI_MESSAGE_NULL)
    return start_early(early, {.buffer = buffer, .count = count, .type = type_info(type), .comm = comm},
                       request);
  if (early) {
    MPI_Message message = release_early(early);
    error = matched(buffer, count, type, &message, request);
  }
  if (error != MPI_SUCCESS || surely_small(type, count)) return error;
  return posted(buffer, count, type, comm, request);
}

// A matched message that was read already. The library checks the arguments against its stand-in.
template <class Mrecv, class Count>
int receive_matched(Mrecv whole, const Matched& matched, void* buffer, Count count, MPI_Datatype type,
                    MPI_Message* message, MPI_Status* status) {
  if (!is_usual(buffer, count, type)) return whole(buffer, count, type, message, status);
  forget_matched(*message);
  close_matched(matched, message);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const int error =
      bring_early(matched.early,
                  {.buffer = buffer, .count = count, .type = type_info(type), .comm = matched.comm}, *status);
  return error == MPI_SUCCESS ? MPI_SUCCESS : raise(matched.comm, error);
}
template <class Imrecv, class Count>
int start_matched(Imrecv whole, const Matched& matched, void* buffer, Count count, MPI_Datatype type,
                  MPI_Message* message, MPI_Request* request) {
  if (!is_usual(buffer, count, type)) return whole(buffer, count, type, message, request);
  forget_matched(*message);
  close_matched(matched, message);
  return start_early(matched.early,
                     {.buffer = buffer, .count = count, .type = type_info(type), .comm = matched.comm},
                     request);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

// Into less room than a descriptor needs: a compare and a jump.
#define NIGH_RECV(name, start, matched, Count)                                                               \
  [[gnu::noinline]] static int receive_##name(void* buffer, Count count, MPI_Datatype type, int source,      \
                                              int tag, MPI_Comm comm, MPI_Status* status) {                  \
    if (must_drive() && source != MPI_PROC_NULL) [[unlikely]]                                                \
      return driven_recv(nigh_mpi_##start, buffer, count, type, source, tag, comm, status);                  \
    if (look_early()) [[unlikely]]                                                                           \
      return careful_recv(real().name, real().start, real().matched, buffer, count, type, source, tag, comm, \
                          status);                                                                           \
    MPI_Status own;                                                                                          \
    if (status == MPI_STATUS_IGNORE) status = &own;                                                          \
    const int error = real().name(buffer, count, type, source, tag, comm, status);                           \
    if (error == MPI_SUCCESS && status_bytes(*status) != wire_bytes) [[likely]]                              \
      return MPI_SUCCESS;                                                                                    \
    return received(buffer, count, type, comm, *status, error);                                              \
  }                                                                                                          \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,      \
                      MPI_Status* status) {                                                                  \
    if (surely_small(type, count) && !must_drive() && !look_early()) [[likely]]                              \
      return real().name(buffer, count, type, source, tag, comm, status);                                    \
    return receive_##name(buffer, count, type, source, tag, comm, status);                                   \
  }
#define NIGH_IRECV(name, matched, Count)                                                                  \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,   \
                      MPI_Request* request) {                                                             \
    if (look_early()) [[unlikely]]                                                                        \
      return careful_irecv(real().name, real().matched, buffer, count, type, source, tag, comm, request); \
    if (surely_small(type, count)) [[likely]]                                                             \
      return real().name(buffer, count, type, source, tag, comm, request);                                \
    const int error = real().name(buffer, count, type, source, tag, comm, request);                       \
    if (error != MPI_SUCCESS || source == MPI_PROC_NULL) return error;                                    \
    return posted(buffer, count, type, comm, request);                                                    \
  }
// The communicator of a matched message that we did not note is nowhere to be had: errors of ours are raised
// on MPI_COMM_WORLD.
#define NIGH_MRECV(name, start, Count)                                                                     \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, MPI_Message* message,                  \
                      MPI_Status* status) {                                                                \
    if (must_drive()) [[unlikely]]                                                                         \
      return driven_mrecv(nigh_mpi_##start, buffer, count, type, message, status);                         \
    if (!message) [[unlikely]]                                                                             \
      return real().name(buffer, count, type, message, status);                                            \
    const Matched matched = find_matched(*message);                                                        \
    if (matched.early) return receive_matched(real().name, matched, buffer, count, type, message, status); \
    MPI_Status own;                                                                                        \
    if (status == MPI_STATUS_IGNORE) status = &own;                                                        \
    forget_matched(*message);                                                                              \
    const int error = real().name(buffer, count, type, message, status);                                   \
    return received(buffer, count, type, matched.comm, *status, error);                                    \
  }
#define NIGH_IMRECV(name, Count)                                                                          \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, MPI_Message* message,                 \
                      MPI_Request* request) {                                                             \
    if (!message || !request) [[unlikely]]                                                                \
      return real().name(buffer, count, type, message, request);                                          \
    const bool nobody = *message == MPI_MESSAGE_NO_PROC;                                                  \
    const Matched matched = find_matched(*message);                                                       \
    if (matched.early) return start_matched(real().name, matched, buffer, count, type, message, request); \
    forget_matched(*message);                                                                             \
    const int error = real().name(buffer, count, type, message, request);                                 \
    if (error != MPI_SUCCESS || nobody || surely_small(type, count)) return error;                        \
    return posted(buffer, count, type, matched.comm, request);                                            \
  }
NIGH_RECV(Recv, Irecv, Mrecv, int)
NIGH_IRECV(Irecv, Imrecv, int)
NIGH_MRECV(Mrecv, Imrecv, int)
NIGH_IMRECV(Imrecv, int)
NIGH_RECV(Recv_c, Irecv_c, Mrecv_c, MPI_Count)
NIGH_IRECV(Irecv_c, Imrecv_c, MPI_Count)
NIGH_MRECV(Mrecv_c, Imrecv_c, MPI_Count)
NIGH_IMRECV(Imrecv_c, MPI_Count)
