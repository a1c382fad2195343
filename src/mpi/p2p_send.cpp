// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking sends. Small ones are one compare and a jump into the library. A large one is offered where it
// lies, its descriptor is sent in its place, and the call returns when the receiver has the bytes, or, about
// one copy later, when a private copy of them is left behind: never later than that, because the receiver may
// first want to receive what we send next.
#include <cstdlib>
#include <limits>

#include "mpi/early.hpp"
#include "mpi/ours.hpp"
#include "sys/variables.hpp"

namespace nigh::mpi {

std::atomic<bool> OrderLock::flags[OrderLock::count];
std::size_t g_threshold = 0;

namespace {

int most_tag = 32767;  // MPI_TAG_UB

// Measured (docs/decisions/0012): from here on our way is the faster one.
std::size_t default_threshold() {
  if (is_openmpi()) return space::Space::one_copy_bytes;
  return is_intel() ? std::size_t{256} << 10 : 8192;  // Intel MPI's own shared memory is twice as fast below
}

void start() {
  g_threshold = sys::number_in_variable("NIGH_MPI_P2P_MIN", 0, std::numeric_limits<std::size_t>::max(),
                                        default_threshold());
  if (g_threshold < wire_bytes) g_threshold = wire_bytes;
  void* value = nullptr;
  int found = 0;
  if (real().Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found) == MPI_SUCCESS &&
      found)
    most_tag = *static_cast<int*>(value);
}
void stop() {}
const Hooks hooks(start, stop);

bool is_synchronous(Function function) {
  return function == Function::Ssend || function == Function::Issend || function == Function::Ssend_init ||
         function == Function::Ssend_c || function == Function::Issend_c ||
         function == Function::Ssend_init_c;
}

bool left(Function function, std::size_t bytes, Reason reason) {
  count(function, reason, bytes);
  return false;
}

constexpr std::size_t huge_page = 2u << 20;

// Memory that nobody has.
bool is_nowhere(const void* buffer, const TypeInfo& info) {
  return buffer == MPI_IN_PLACE || reinterpret_cast<std::intptr_t>(buffer) + info.lower == 0;
}

}  // namespace

bool is_plain(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              bool receives) {
  const TypeInfo* info = type_info(type);
  const CommState* state = comm_state(comm);
  if (!info || !info->committed || !state || count < 0) return false;
  const bool known = (peer >= 0 && peer < state->peers) || peer == MPI_PROC_NULL;
  if (!known && !(receives && peer == MPI_ANY_SOURCE)) return false;
  if ((tag < 0 || tag > most_tag) && !(receives && tag == MPI_ANY_TAG)) return false;
  return count == 0 || info->size == 0 || !is_nowhere(buffer, *info);
}

// Asked of the library by a message to ourselves. If it has none, the program's call is the library's, which
// raises that.
bool buffer_has_room() {
  constexpr int own_tag = 32767;
  char data[wire_bytes] = {};
  const MPI_Comm self = own_comm();
  return self != MPI_COMM_NULL && real().Bsend(data, wire_bytes, MPI_BYTE, 0, own_tag, self) == MPI_SUCCESS &&
         real().Recv(data, wire_bytes, MPI_BYTE, 0, own_tag, self, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

bool prepare(Outgoing& out, Function function, const void* buffer, MPI_Count count, MPI_Datatype type,
             int dest, int tag, MPI_Comm comm) {
  out.info = type_info(type);
  if (!out.info || !out.info->committed || count <= 0 || dest < 0) return false;
  if (__builtin_mul_overflow(out.info->size, static_cast<std::size_t>(count), &out.bytes)) return false;
  if (out.bytes < g_threshold && out.bytes != wire_bytes) return false;
  const CommState* state = comm_state(comm);
  if (!state) return left(function, out.bytes, Reason::foreign);
  if (dest >= state->peers || tag < 0 || tag > most_tag || is_nowhere(buffer, *out.info)) return false;
  if (!state->inter && dest == state->rank) return left(function, out.bytes, Reason::self);
  out.to = state->space[static_cast<std::size_t>(dest)];
  if (out.to < 0) return left(function, out.bytes, state->inter ? Reason::inter : Reason::distant);
  auto& space = *process().space;
  if (out.to == space.rank()) return left(function, out.bytes, Reason::other);
  if (out.info->opaque || (!out.info->contiguous && !out.info->shared_layout))
    return left(function, out.bytes, Reason::type);
  // MPICH calls a message truncated that ends within a basic element of the receive's type, and the
  // receiver's type has the same basic elements as ours (MPI 4.0, 3.3.1).
  if (!is_openmpi() && !out.info->splits_well) return left(function, out.bytes, Reason::type);
  const ByteRange range = range_of(*out.info, buffer, count);
  // Peers find it there: shared static data lies elsewhere for them than for us.
  const auto* there = static_cast<const char*>(space.global(range.first, range.bytes));
  out.shared = there != nullptr;
  const char* first = there ? there : range.first;
  out.data = out.info->contiguous ? first : first + (static_cast<const char*>(buffer) - range.first);
  if (!out.shared && g_measures_staging.load(std::memory_order_relaxed) && may_be_staged(out.bytes))
      [[unlikely]]
    measure_staging(out.to);
  if (!out.shared && out.bytes != wire_bytes && !stages(out.bytes))
    return left(function, out.bytes, Reason::unshared);
  if (out.shared && out.bytes >= huge_page) space.collapse(range.first, range.bytes);
  out.synchronous = is_synchronous(function);
  out.envelope = {.to = out.to, .tag = tag, .context = state->context};
  return true;
}

message::Offer* make_offer(const Outgoing& out, Descriptor& wire, bool staged) {
  message::Offers& offers = *process().offers;
  const message::Layout* layout = out.info->contiguous ? nullptr : &out.info->layout;
  message::Offer* offer = staged || !out.shared ? offers.open_copy(out.data, layout, out.bytes, out.envelope)
                                                : offers.open(out.data, layout, out.bytes, out.envelope);
  if (!offer) return nullptr;
  wire.name = message::Offers::name_of(offer);
  wire.bytes = out.bytes;
  wire.from = process().space->rank();
  wire.to = out.to;
  wire.seal();
  return offer;
}

void await_release(message::Offer* offer, std::size_t bytes) {
  message::Offers& offers = *process().offers;
  if (g_large.any() || must_drive()) {
    const std::int64_t limit = message::now_ns() + 3000 + static_cast<std::int64_t>(bytes / 16);
    Patiently patience;
    while (!message::Offers::released(offer) && !message::Offers::claimed(offer) &&
           message::now_ns() < limit) {
      drive();
      patience.wait();
    }
    while (!message::Offers::released(offer) && !message::Offers::claimed(offer) && !offers.stage(offer)) {
      drive();  // no memory for a copy: as long as it takes
      patience.wait();
    }
  }
  offers.finish(offer);
  offers.close(offer);
}

namespace {

int send_wire(decltype(Library::Send) wire_send, decltype(Library::Isend) wire_start, const Descriptor& wire,
              int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  if (!process().multiple) return wire_send(&wire, wire_bytes, MPI_BYTE, dest, tag, comm);
  return wire_start(&wire, wire_bytes, MPI_BYTE, dest, tag, comm, request);  // must not wait under a lock
}

template <class Send, class Isend, class Count>
[[gnu::noinline]] int send(Function function, Send whole, Isend start, decltype(Library::Send) wire_send,
                           decltype(Library::Isend) wire_start, const void* buffer, Count count,
                           MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (must_drive()) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = start(buffer, count, type, dest, tag, comm, &request);
    return error == MPI_SUCCESS ? nigh_mpi_Wait(&request, MPI_STATUS_IGNORE) : error;
  }
  Outgoing out;
  if (!prepare(out, function, buffer, count, type, dest, tag, comm))
    return whole(buffer, count, type, dest, tag, comm);
  Descriptor wire;
  message::Offer* offer = nullptr;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
  {
    const OrderLock lock(out.to);
    offer = make_offer(out, wire, false);
    if (offer) error = send_wire(wire_send, wire_start, wire, dest, tag, comm, &request);
  }
  if (!offer) {
    mpi::count(function, Reason::memory, out.bytes);
    return whole(buffer, count, type, dest, tag, comm);
  }
  if (error == MPI_SUCCESS && request != MPI_REQUEST_NULL) error = real().Wait(&request, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) {
    process().offers->withdraw(offer);
    return error;
  }
  if (out.synchronous) process().waiter->until([&] { return !only_probed(offer, out.to); }, out.to);
  await_release(offer, out.bytes);
  mpi::count(function, Reason::covered, out.bytes);
  return MPI_SUCCESS;
}

// A message of just wire_bytes: as the library would, from a buffer of the user's, but a descriptor.
template <class Bsend, class Count>
int bsend(Function function, Bsend whole, const void* buffer, Count count, MPI_Datatype type, int dest,
          int tag, MPI_Comm comm) {
  const TypeInfo* info = type_info(type);
  Outgoing out;
  if (!info || count < 0 || info->size * static_cast<std::size_t>(count) != wire_bytes ||
      !prepare(out, function, buffer, count, type, dest, tag, comm) || !buffer_has_room())
    return whole(buffer, count, type, dest, tag, comm);
  Descriptor wire;
  const OrderLock lock(out.to);
  message::Offer* offer = make_offer(out, wire, true);
  if (!offer) return whole(buffer, count, type, dest, tag, comm);
  const int error = real().Bsend(&wire, wire_bytes, MPI_BYTE, dest, tag, comm);
  if (error == MPI_SUCCESS)
    process().offers->close(offer);
  else
    process().offers->withdraw(offer);
  return error;
}

}  // namespace
}  // namespace nigh::mpi

using namespace nigh::mpi;

// One compare and a jump for what is small.
#define NIGH_SEND(name, start, base, base_start, Count)                                                \
  int nigh_mpi_##name(const void* buffer, Count count, MPI_Datatype type, int dest, int tag,           \
                      MPI_Comm comm) {                                                                 \
    if ((surely_small(type, count) || is_small(type, count)) && !must_drive()) [[likely]]              \
      return real().name(buffer, count, type, dest, tag, comm);                                        \
    return send(Function::name, real().name, nigh_mpi_##start, real().base, real().base_start, buffer, \
                count, type, dest, tag, comm);                                                         \
  }
NIGH_SEND(Send, Isend, Send, Isend, int)
NIGH_SEND(Ssend, Issend, Ssend, Issend, int)
NIGH_SEND(Rsend, Irsend, Rsend, Irsend, int)
NIGH_SEND(Send_c, Isend_c, Send, Isend, MPI_Count)
NIGH_SEND(Ssend_c, Issend_c, Ssend, Issend, MPI_Count)
NIGH_SEND(Rsend_c, Irsend_c, Rsend, Irsend, MPI_Count)

int nigh_mpi_Bsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (surely_small(type, count)) return real().Bsend(buffer, count, type, dest, tag, comm);
  return bsend(Function::Bsend, real().Bsend, buffer, count, type, dest, tag, comm);
}
int nigh_mpi_Bsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm) {
  return bsend(Function::Bsend_c, real().Bsend_c, buffer, count, type, dest, tag, comm);
}
