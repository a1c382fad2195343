// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests. A send that may go by descriptor is a placeholder with two persistent requests of the
// library behind it, one for a descriptor in memory of ours that is written anew at each start, one for the
// user's own buffer, which is started instead when that buffer is nowhere to be shared (or no memory is
// left). A receive is the library's, and is tracked; one that once found its message among the early ones is
// a placeholder from then on, since the library must not be asked again for what it has given up.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>

#include "mpi/early.hpp"
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
    if (bytes != 0) {
      const void* there = process().space->global(out_.data, bytes);
      out_.shared = there != nullptr;
      if (there) out_.data = there;
    }
    if (buffered_ && !buffer_has_room()) return offered_ = false, real().Start(&plain_);
    const OrderLock lock(out_.to);
    message::Offer* offer = out_.shared || out_.bytes == wire_bytes || stages(out_.bytes)
                                ? make_offer(out_, wire_, buffered_)
                                : nullptr;
    offered_ = offer != nullptr;
    count(function_,
          offered_      ? Reason::covered
          : out_.shared ? Reason::memory
                        : Reason::unshared,
          out_.bytes);
    if (!offered_) return real().Start(&plain_);
    state_.begin(offer, out_);
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

// The arguments of a persistent receive; kept from MPI_Recv_init to MPI_Request_free.
struct Terms {
  MPI_Request handle = MPI_REQUEST_NULL;
  Landing landing;
  int source = 0, tag = 0;
  Terms* next = nullptr;
  [[nodiscard]] Wanted wanted() const { return {.comm = landing.comm, .source = source, .tag = tag}; }
};
Terms* terms[64];
std::atomic<int> terms_count = 0;

Terms** place_of(MPI_Request handle) {
  Terms** at = &terms[type_cache_index(handle_bits_of(handle))];
  while (*at && (*at)->handle != handle) at = &(*at)->next;
  return at;
}

bool keep_terms(const Terms& made) {
  auto* one = static_cast<Terms*>(std::malloc(sizeof(Terms)));
  if (!one) return false;
  hold(made.landing.type);
  const TableLock lock;
  Terms** at = place_of(made.handle);
  *one = made;
  one->next = *at;
  *at = one;
  add(terms_count, 1);
  return true;
}

bool find_terms(MPI_Request handle, Terms& found) {
  if (terms_count.load(std::memory_order_relaxed) == 0) return false;
  const TableLock lock;
  const Terms* one = *place_of(handle);
  if (one) found = *one;
  return one != nullptr;
}

class PersistentReceive final : public Operation {
 public:
  explicit PersistentReceive(const Terms& made) : terms_(made) {
    persistent = true;
    active = false;
    raise_on = made.landing.comm;
    hold(terms_.landing.type);
  }

  int start() override {
    raise_on = terms_.landing.comm;
    Early* early = nullptr;
    {
      const Gate gate(terms_.landing.comm);
      early = take_early(terms_.wanted());
      if (!early) {
        stage_ = Stage::posted;
        return real().Start(&terms_.handle);
      }
    }
    take(early);
    return MPI_SUCCESS;
  }
  // A message that was not read has a request of its own; it is received as bytes, since the user's type may
  // be gone.
  void take(Early* early) {
    read_early(*early);
    make_empty(status_);
    if (early->message == MPI_MESSAGE_NULL) {
      error_ = bring_early(early, terms_.landing, status_);
      stage_ = Stage::over;
      return;
    }
    status_ = early->status;
    const std::uint64_t bytes = status_bytes(status_);
    bytes_ = bytes <= INT_MAX ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
    if (!bytes_) {
      free_early(early);
      error_ = MPI_ERR_NO_MEM;
      stage_ = Stage::over;
      return;
    }
    MPI_Message message = release_early(early);
    error_ = real().Imrecv(bytes_, static_cast<int>(bytes), MPI_BYTE, &message, &matched_);
    stage_ = error_ == MPI_SUCCESS ? Stage::matched : Stage::over;
  }
  bool advance() override {
    if (stage_ == Stage::over) return true;
    int done = 0;
    if (stage_ == Stage::posted) make_empty(status_);
    error_ = real().Test(stage_ == Stage::posted ? &terms_.handle : &matched_, &done, &status_);
    if (!done && error_ == MPI_SUCCESS) return false;
    raise_on = error_ == MPI_SUCCESS ? terms_.landing.comm : MPI_COMM_NULL;  // the library has raised its own
    if (error_ == MPI_SUCCESS) land_now();
    stage_ = Stage::over;
    return true;
  }
  int end(MPI_Status& status) override {
    const int kept = status.MPI_ERROR;
    status = status_;
    status.MPI_ERROR = kept;
    return error_;
  }
  void cancel() override {
    if (stage_ == Stage::posted) real().Cancel(&terms_.handle);
  }
  void release() override {
    real().Request_free(&terms_.handle);
    drop(terms_.landing.type);
    this->~PersistentReceive();
    std::free(this);
  }

 private:
  enum class Stage { posted, matched, over };
  void land_now() {
    const Landing& to = terms_.landing;
    if (stage_ == Stage::posted) {
      Later later;  // end() tells of it
      if (status_bytes(status_) == wire_bytes) error_ = finish_receive(to, status_, later);
      return;
    }
    const std::size_t room = to.type->size * static_cast<std::size_t>(to.count);
    const std::size_t came = status_bytes(status_), bytes = came < room ? came : room;
    if (!unpack(bytes_, bytes, to.buffer, to.count, *to.type)) error_ = MPI_ERR_NO_MEM;
    if (error_ == MPI_SUCCESS && came > room) error_ = MPI_ERR_TRUNCATE;
    set_status_bytes(status_, bytes);
    std::free(bytes_);
    bytes_ = nullptr;
  }

  Terms terms_;
  Stage stage_ = Stage::over;
  MPI_Request matched_ = MPI_REQUEST_NULL;
  void* bytes_ = nullptr;
  MPI_Status status_;
  int error_ = MPI_SUCCESS;
};

// The library's request is started unless the message is here. `record`: of one that is tracked.
int start_receive(const Terms& made, MPI_Request* request, Record* record) {
  Early* early = nullptr;
  int error = MPI_SUCCESS;
  {
    const Gate gate(made.landing.comm);
    early = take_early(made.wanted());
    if (!early) error = real().Start(request);
  }
  if (!early) {
    if (record && error == MPI_SUCCESS) activate(*record);
    return error;
  }
  void* memory = std::malloc(sizeof(PersistentReceive));
  auto* operation = memory ? new (memory) PersistentReceive(made) : nullptr;
  if (operation && record) untrack(*record);
  Record* placeholder = operation ? carry(*request, operation) : nullptr;
  if (!placeholder) {
    std::free(memory);
    free_early(early);
    return raise(made.landing.comm, MPI_ERR_NO_MEM);
  }
  operation->take(early);
  activate(*placeholder);
  return MPI_SUCCESS;
}

template <class Init, class Count>
int recv_init(Init whole, void* buffer, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int error = whole(buffer, count, type, source, tag, comm, request);
  if (error != MPI_SUCCESS || source == MPI_PROC_NULL) return error;
  const Terms made = {.handle = *request,
                      .landing = {.buffer = buffer, .count = count, .type = type_info(type), .comm = comm},
                      .source = source,
                      .tag = tag};
  const bool known = is_usual(made.wanted()) && is_usual(buffer, count, type);
  if ((!known || keep_terms(made)) &&
      (surely_small(type, count) || track(*request, buffer, count, type, comm, true)))
    return MPI_SUCCESS;
  nigh_mpi_Request_free(request);
  return raise(comm, MPI_ERR_NO_MEM);
}

}  // namespace

void forget_terms(MPI_Request request) {
  if (terms_count.load(std::memory_order_relaxed) == 0) return;
  Terms* one = nullptr;
  {
    const TableLock lock;
    Terms** at = place_of(request);
    one = *at;
    if (!one) return;
    *at = one->next;
  }
  drop(one->landing.type);
  std::free(one);
  add(terms_count, -1);
}

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
NIGH_SEND_INIT(Send_init_c, Send_init, false, MPI_Count)
NIGH_SEND_INIT(Ssend_init_c, Ssend_init, false, MPI_Count)
NIGH_SEND_INIT(Rsend_init_c, Rsend_init, false, MPI_Count)
NIGH_SEND_INIT(Bsend_init_c, Bsend_init, true, MPI_Count)
NIGH_RECV_INIT(Recv_init_c, MPI_Count)

int nigh_mpi_Start(MPI_Request* request) {
  if (!request) return real().Start(request);
  Record* record = find_request(*request);
  if (record) unpin(*record);
  if (record && record->active) return real().Start(request);
  Terms made;
  if (look_early() && !(record && record->placeholder) && find_terms(*request, made))
    return start_receive(made, request, record);
  if (!record) return real().Start(request);
  const int error = record->placeholder ? record->operation->start() : real().Start(request);
  if (error == MPI_SUCCESS) activate(*record);
  return error;
}

int nigh_mpi_Startall(int count, MPI_Request requests[]) {
  const bool ours = requests && count > 0 && (g_table.size() != 0 || look_early());
  // The library starts none of several requests if one is wrong.
  if (!ours || std::find(requests, requests + count, MPI_REQUEST_NULL) != requests + count)
    return real().Startall(count, requests);
  for (int i = 0; i < count; ++i) {
    const int error = nigh_mpi_Start(&requests[i]);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}
