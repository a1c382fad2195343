// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests. A send that may go by descriptor is a carrier with two persistent requests of the
// library behind it, one for a descriptor in memory of ours that is written anew at each start, one for the
// user's own buffer, which is started instead when that buffer is nowhere to be shared (or no memory is
// left). A receive is the library's, and is tracked.
#include <cstdlib>
#include <new>

#include "mpi/ours.hpp"
#include "mpi/p2p_isend.hpp"

namespace nigh::mpi {
namespace {

class PersistentSend final : public Operation {
 public:
  PersistentSend(const Outgoing& out, Function function, bool buffered)
      : out_(out), function_(function), buffered_(buffered) {
    persistent = true;
    active = false;
    hold(out_.info);
  }

  MPI_Request* wire_request() { return &by_offer_; }
  MPI_Request* plain_request() { return &plain_; }
  [[nodiscard]] const void* wire() const { return &wire_; }

  int start() override {
    const std::size_t bytes = out_.info->contiguous ? out_.bytes : 0;
    if (bytes != 0) out_.shared = process().space->global(out_.data, bytes) != nullptr;
    if (buffered_ && !buffer_has_room()) return offered_ = false, real().Start(&plain_);
    const OrderLock lock(out_.to);
    message::Offer* offer =
        out_.shared || out_.bytes == wire_bytes ? make_offer(out_, wire_, buffered_) : nullptr;
    offered_ = offer != nullptr;
    count(function_, offered_ ? Fate::covered : out_.shared ? Fate::memory : Fate::unshared);
    if (!offered_) return real().Start(&plain_);
    count_bytes(function_, out_.bytes);
    state_.begin(offer, out_.info, out_.bytes);
    const int error = real().Start(&by_offer_);
    if (error != MPI_SUCCESS) {
      MPI_Status ignored{};
      state_.cancelled = true;
      state_.end(ignored);
    }
    return error;
  }
  bool advance() override { return go_on(false); }
  bool attend() override { return go_on(true); }
  void hasten() override {
    if (offered_) state_.hasten();
  }
  int end(MPI_Status& status) override {
    plain_done_ = false;
    if (offered_) return state_.end(status);
    const int kept = status.MPI_ERROR;
    status = plain_status_;
    status.MPI_ERROR = kept;
    return plain_error_;
  }
  void cancel() override {
    if (!offered_)
      real().Cancel(&plain_);
    else if (!state_.sent)
      real().Cancel(&by_offer_);
  }
  void release() override {
    real().Request_free(&by_offer_);
    real().Request_free(&plain_);
    drop(out_.info);
    this->~PersistentSend();
    std::free(this);
  }

 private:
  bool go_on(bool attend) {
    if (offered_) return state_.advance(&by_offer_, attend);
    int done = plain_done_ ? 1 : 0;
    if (!done) {
      make_empty(plain_status_);
      plain_error_ = real().Test(&plain_, &done, &plain_status_);
      plain_done_ = done || plain_error_ != MPI_SUCCESS;
    }
    return plain_done_;
  }

  Descriptor wire_;
  Outgoing out_;
  Function function_;
  bool buffered_;
  bool offered_ = false, plain_done_ = false;
  int plain_error_ = MPI_SUCCESS;
  MPI_Status plain_status_;
  SendState state_;
  MPI_Request by_offer_ = MPI_REQUEST_NULL, plain_ = MPI_REQUEST_NULL;
};

template <class Init, class Count>
int send_init(Function function, Init whole, decltype(Library::Send_init) wire_init, bool buffered,
              const void* buffer, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Outgoing out;
  const bool ours = request && prepare(out, function, buffer, count, type, dest, tag, comm) &&
                    (!buffered || out.bytes == wire_bytes);
  if (!ours) return whole(buffer, count, type, dest, tag, comm, request);
  auto* memory = static_cast<PersistentSend*>(std::malloc(sizeof(PersistentSend)));
  if (!memory) return whole(buffer, count, type, dest, tag, comm, request);
  auto* operation = new (memory) PersistentSend(out, function, buffered);
  int error = whole(buffer, count, type, dest, tag, comm, operation->plain_request());
  if (error == MPI_SUCCESS) {
    error = wire_init(operation->wire(), wire_bytes, MPI_BYTE, dest, tag, comm, operation->wire_request());
    if (error == MPI_SUCCESS && adopt(operation, request)) return MPI_SUCCESS;
  }
  if (error !=
      MPI_SUCCESS) {  // the library has raised it; what little there is leaks with a broken communicator
    return error;
  }
  operation->release();
  return whole(buffer, count, type, dest, tag, comm, request);
}

template <class Init, class Count>
int recv_init(Init whole, void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int error = whole(buffer, count, type, source, tag, comm, request);
  if (error != MPI_SUCCESS || source == MPI_PROC_NULL || never_brings(type, count)) return error;
  if (track(*request, buffer, count, type, comm, true)) return MPI_SUCCESS;
  real().Request_free(request);
  return raise(comm, MPI_ERR_NO_MEM);
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

#define NIGH_SEND_INIT(name, base, buffered, Count)                                                         \
  int nigh_mpi_##name(const void* buffer, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, \
                      MPI_Request* request) {                                                               \
    if (surely_small(type, count)) return real().name(buffer, count, type, dest, tag, comm, request);       \
    return send_init(Function::name, real().name, real().base, buffered, buffer, count, type, dest, tag,    \
                     comm, request);                                                                        \
  }
#define NIGH_RECV_INIT(name, Count)                                                                     \
  int nigh_mpi_##name(void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
                      MPI_Request* request) {                                                           \
    return recv_init(real().name, buffer, count, type, source, tag, comm, request);                     \
  }
NIGH_SEND_INIT(Send_init, Send_init, false, int)
NIGH_SEND_INIT(Ssend_init, Ssend_init, false, int)
NIGH_SEND_INIT(Rsend_init, Rsend_init, false, int)
NIGH_SEND_INIT(Bsend_init, Bsend_init, true, int)
NIGH_RECV_INIT(Recv_init, int)
#ifdef NIGH_MPI_HAS_Recv_init_c
NIGH_SEND_INIT(Send_init_c, Send_init, false, MPI_Count)
NIGH_SEND_INIT(Ssend_init_c, Ssend_init, false, MPI_Count)
NIGH_SEND_INIT(Rsend_init_c, Rsend_init, false, MPI_Count)
NIGH_SEND_INIT(Bsend_init_c, Bsend_init, true, MPI_Count)
NIGH_RECV_INIT(Recv_init_c, MPI_Count)
#endif

int nigh_mpi_Start(MPI_Request* request) {
  Record* record = request ? find_request(*request) : nullptr;
  if (!record || record->active) {
    if (record) unpin(*record);
    return real().Start(request);
  }
  unpin(*record);
  const int error = record->carrier ? record->operation->start() : real().Start(request);
  if (error == MPI_SUCCESS) activate(*record);
  return error;
}

int nigh_mpi_Startall(int count, MPI_Request requests[]) {
  if (g_table.size() == 0 || !requests) return real().Startall(count, requests);
  for (int i = 0; i < count; ++i) {
    const int error = nigh_mpi_Start(&requests[i]);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}
