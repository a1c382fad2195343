// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Non-blocking sends: an offer behind a placeholder (request.hpp). The library's own request is that of the
// descriptor, which is complete almost at once; the user's is complete when his buffer is his again.
#include "mpi/p2p_isend.hpp"

#include <cstdlib>
#include <new>

#include "mpi/early.hpp"
#include "mpi/ours.hpp"

namespace nigh::mpi {

void SendState::begin(message::Offer* an_offer, const Outgoing& out) {
  offer = an_offer;
  type = out.info;
  bytes = out.bytes;
  synchronous_to = out.synchronous ? out.to : -1;
  sent = cancelled = false;
  looks = 0;
  hold(type);
}

bool SendState::advance(MPI_Request* wire_request, bool attend) {
  if (!sent) {
    int done = 0;
    make_empty(status);
    error = real().Test(wire_request, &done, &status);
    if (error != MPI_SUCCESS) done = 1;
    if (!done) return false;
    sent = true;
    cancelled = error != MPI_SUCCESS || status_cancelled(status);
  }
  if (!cancelled && synchronous_to >= 0 && only_probed(offer, synchronous_to)) return false;
  if (cancelled || message::Offers::released(offer)) return true;
  message::Offers& offers = *process().offers;
  const bool helped = offers.help(offer);
  if (attend) return message::Offers::released(offer);
  // Tests without end must come to an end whatever the receiver does.
  if (!helped && ++looks % 8 == 1) {
    const std::int64_t now = message::now_ns();
    if (looks == 1) deadline = now + 3000 + static_cast<std::int64_t>(bytes / 16);
    if (now > deadline && !message::Offers::claimed(offer)) offers.stage(offer);
    if (now > deadline + 100'000'000) {  // a receiver that died with its claim
      offers.finish(offer);
      return true;
    }
  }
  return message::Offers::released(offer);
}

void SendState::hasten() {
  if (sent && !cancelled && !message::Offers::claimed(offer)) process().offers->stage(offer);
}

int SendState::end(MPI_Status& out) {
  if (cancelled)
    process().offers->withdraw(offer);
  else
    process().offers->close(offer);
  drop(type);
  offer = nullptr;
  const int kept = out.MPI_ERROR;
  out = status;
  out.MPI_ERROR = kept;
  return error;
}

namespace {

class SendOperation final : public Operation {
 public:
  Descriptor wire;
  MPI_Request request = MPI_REQUEST_NULL;
  SendState state;
  SendOperation* next = nullptr;

  bool advance() override { return state.advance(&request); }
  bool attend() override { return state.advance(&request, true); }
  void hasten() override { state.hasten(); }
  int end(MPI_Status& status) override { return state.end(status); }
  void cancel() override {
    if (!state.sent) real().Cancel(&request);
  }
  void release() override;
};

SendOperation* spare = nullptr;

SendOperation* new_operation() {
  const TableLock lock;
  if (!spare) {
    constexpr int chunk = 16;
    auto* made = static_cast<SendOperation*>(std::malloc(chunk * sizeof(SendOperation)));
    for (int i = 0; made && i < chunk; ++i) {
      auto* one = new (made + i) SendOperation;
      one->next = spare;
      spare = one;
    }
    if (!spare) return nullptr;
  }
  SendOperation* operation = spare;
  spare = operation->next;
  return operation;
}

void SendOperation::release() {
  const TableLock lock;
  active = true;
  request = MPI_REQUEST_NULL;
  next = spare;
  spare = this;
}

template <class Isend, class Count>
[[gnu::noinline]] int isend(Function function, Isend whole, decltype(Library::Isend) wire_start,
                            const void* buffer, Count count, MPI_Datatype type, int dest, int tag,
                            MPI_Comm comm, MPI_Request* request) {
  Outgoing out;
  if (!request || !prepare(out, function, buffer, count, type, dest, tag, comm))
    return whole(buffer, count, type, dest, tag, comm, request);
  const int error = start_offer(out, function, wire_start, dest, tag, comm, request);
  if (error != no_offer) return error;
  mpi::count(function, Reason::memory, out.bytes);
  return whole(buffer, count, type, dest, tag, comm, request);
}

template <class Ibsend, class Count>
int ibsend(Function function, Ibsend whole, const void* buffer, Count count, MPI_Datatype type, int dest,
           int tag, MPI_Comm comm, MPI_Request* request) {
  const TypeInfo* info = type_info(type);
  Outgoing out;
  if (!request || !info || count < 0 || info->size * static_cast<std::size_t>(count) != wire_bytes ||
      !prepare(out, function, buffer, count, type, dest, tag, comm) || !buffer_has_room())
    return whole(buffer, count, type, dest, tag, comm, request);
  Descriptor wire;
  const OrderLock lock(out.to);
  message::Offer* offer = make_offer(out, wire, true);
  if (!offer) return whole(buffer, count, type, dest, tag, comm, request);
  // The library copies the descriptor into the attached buffer before it returns.
  const int error = real().Ibsend(&wire, wire_bytes, MPI_BYTE, dest, tag, comm, request);
  if (error == MPI_SUCCESS)
    process().offers->close(offer);
  else
    process().offers->withdraw(offer);
  return error;
}

// A message that was copied is over once its descriptor is on its way, almost always at once: its request is
// one of the library's that is complete, so that tests of others need not ask about it.
int start_copied(const Outgoing& out, Function function, decltype(Library::Isend) wire_start, int dest,
                 int tag, MPI_Comm comm, MPI_Request* request) {
  SendOperation* operation = new_operation();
  if (!operation) return no_offer;
  message::Offer* offer = nullptr;
  int error = MPI_SUCCESS, sent = 0;
  {
    const OrderLock lock(out.to);
    offer = make_offer(out, operation->wire, true);
    if (offer)
      error = wire_start(&operation->wire, wire_bytes, MPI_BYTE, dest, tag, comm, &operation->request);
  }
  if (!offer) return operation->release(), no_offer;
  if (error != MPI_SUCCESS) {
    process().offers->withdraw(offer);
    operation->release();
    return error;
  }
  operation->state.begin(offer, out);
  count(function, Reason::covered, out.bytes);
  if (real().Test(&operation->request, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS || !sent) {
    if (adopt(operation, request)) return MPI_SUCCESS;
    real().Wait(&operation->request, MPI_STATUS_IGNORE);
  }
  MPI_Status ignored = {};
  operation->state.end(ignored);
  operation->release();
  return completed(request) ? MPI_SUCCESS : raise(comm, MPI_ERR_NO_MEM);
}

}  // namespace

int start_offer(const Outgoing& out, Function function, decltype(Library::Isend) wire_start, int dest,
                int tag, MPI_Comm comm, MPI_Request* request) {
  if (!out.shared && !out.synchronous && !handlers_made())
    return start_copied(out, function, wire_start, dest, tag, comm, request);
  SendOperation* operation = new_operation();
  if (!operation) return no_offer;
  message::Offer* offer = nullptr;
  int error = MPI_SUCCESS;
  {
    const OrderLock lock(out.to);
    offer = make_offer(out, operation->wire, false);
    if (offer && !adopt(operation, request)) {
      process().offers->withdraw(offer);
      offer = nullptr;
    }
    if (offer)
      error = wire_start(&operation->wire, wire_bytes, MPI_BYTE, dest, tag, comm, &operation->request);
  }
  if (!offer) {
    operation->release();
    return no_offer;
  }
  if (error != MPI_SUCCESS) {
    process().offers->withdraw(offer);
    disown(request);
    return error;
  }
  operation->state.begin(offer, out);
  count(function, Reason::covered, out.bytes);
  return MPI_SUCCESS;
}

}  // namespace nigh::mpi

using namespace nigh::mpi;

#define NIGH_ISEND(name, base, Count)                                                                       \
  int nigh_mpi_##name(const void* buffer, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, \
                      MPI_Request* request) {                                                               \
    if (surely_small(type, count) || is_small(type, count)) [[likely]]                                      \
      return real().name(buffer, count, type, dest, tag, comm, request);                                    \
    return isend(Function::name, real().name, real().base, buffer, count, type, dest, tag, comm, request);  \
  }
NIGH_ISEND(Isend, Isend, int)
NIGH_ISEND(Issend, Issend, int)
NIGH_ISEND(Irsend, Irsend, int)
NIGH_ISEND(Isend_c, Isend, MPI_Count)
NIGH_ISEND(Issend_c, Issend, MPI_Count)
NIGH_ISEND(Irsend_c, Irsend, MPI_Count)

int nigh_mpi_Ibsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request) {
  if (surely_small(type, count)) return real().Ibsend(buffer, count, type, dest, tag, comm, request);
  return ibsend(Function::Ibsend, real().Ibsend, buffer, count, type, dest, tag, comm, request);
}
int nigh_mpi_Ibsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request* request) {
  return ibsend(Function::Ibsend_c, real().Ibsend_c, buffer, count, type, dest, tag, comm, request);
}
