// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Large point-to-point messages by descriptor substitution: the library matches, orders, probes and completes
// a descriptor of wire_bytes bytes where the user's message would have been; the payload is one copy from the
// sender's buffer into the receiver's. What follows is shared by the files of sending and of receiving.
#pragma once

#include "mpi/comm.hpp"
#include "mpi/handlers.hpp"
#include "mpi/p2p_wire.hpp"
#include "mpi/process.hpp"
#include "mpi/request_table.hpp"

namespace nigh::mpi {

// Messages from here on go by descriptor (NIGH_MPI_P2P_MIN).
extern std::size_t g_threshold;
// Between these (NIGH_MPI_P2P_STAGED, or measured: p2p_stage.cpp) two copies of ours, of a message from
// memory that peers don't see, are faster than what the library does with it (docs/decisions/0012).
extern std::size_t g_least_staged;
extern std::atomic<std::size_t> g_most_staged;
inline bool stages(std::size_t bytes) {
  return bytes <= g_most_staged.load(std::memory_order_relaxed) && bytes > g_least_staged &&
         g_process.offers->has_room(bytes);
}
// Not measured yet; messages of such sizes may be staged then. To that rank of the space.
extern std::atomic<bool> g_measures_staging;
bool may_be_staged(std::size_t bytes);
void measure_staging(int to);

// Surely below it, where surely_small() could not tell by the number of elements alone. No calls in here, so
// that what it precedes can be a jump.
inline bool is_small(MPI_Datatype type, MPI_Count count) {
  const TypeInfo* info = cached_type_info(type);
  std::size_t bytes = 0;
  return info && count >= 0 && !__builtin_mul_overflow(info->size, static_cast<std::size_t>(count), &bytes) &&
         bytes < g_threshold && bytes != wire_bytes;
}

// A message that goes by descriptor.
struct Outgoing {
  TypeInfo* info = nullptr;
  const void* data = nullptr;  // of the offer: the first byte, or where the layout starts
  std::size_t bytes = 0;
  bool shared = false;       // peers can read it where it lies; else only a copy can be offered
  bool synchronous = false;  // ends no earlier than its receive has begun
  int to = -1;               // rank of the space
  message::Envelope envelope;
};
// Arguments that no library refuses. All else is the library's to judge, with nothing of ours under way: it
// may call a handler that does not come back.
bool is_plain(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              bool receives);
// True if the buffer that the program has attached has room for one more descriptor.
bool buffer_has_room();
// False: the call is the library's (and counted, unless small).
bool prepare(Outgoing& out, Function function, const void* buffer, MPI_Count count, MPI_Datatype type,
             int dest, int tag, MPI_Comm comm);
// Opens the offer and writes its descriptor; nullptr: no memory. `staged`: the buffer is free at once.
message::Offer* make_offer(const Outgoing& out, Descriptor& wire, bool staged);
// Until the buffer is the user's again: looks after receives of our own meanwhile, helps, and stages in the
// end.
void await_release(message::Offer* offer, std::size_t bytes);

// Two messages to one peer must be offered in the order in which the library sends their descriptors. Given
// back when the library fails to send and a handler of the program's is called.
class OrderLock final : public Unsettled {
 public:
  explicit OrderLock(int to) : flag_(flags[static_cast<unsigned>(to) % count]), locked_(g_process.multiple) {
    if (!locked_) return;
    while (flag_.exchange(true, std::memory_order_acquire)) message::yield_cpu();
    hold();
  }
  ~OrderLock() {
    if (locked_ && !settled()) flag_.store(false, std::memory_order_release);
  }
  OrderLock(const OrderLock&) = delete;
  OrderLock& operator=(const OrderLock&) = delete;

 private:
  void settle(int /*code*/) override { flag_.store(false, std::memory_order_release); }
  static constexpr unsigned count = 64;
  static std::atomic<bool> flags[count];
  std::atomic<bool>& flag_;
  bool locked_;
};

// The buffer for a message that the library has reported.
struct Landing {
  void* buffer = nullptr;
  MPI_Count count = 0;
  TypeInfo* type = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
};
// The library has put wire_bytes bytes there. True: it was a descriptor, and now the payload is there;
// `bytes` is its length, `error` MPI_SUCCESS or MPI_ERR_TRUNCATE (not raised).
bool land(const Landing& landing, const MPI_Status& status, std::uint64_t& bytes, int& error);
// The payload of an offer, or as much of it as there is room for; the same results.
void bring(message::Offer* offer, const Landing& landing, std::uint64_t& bytes, int& error);
// After a receive: does all that, in the status and by raising. Returns what MPI_Recv returns.
int finish_receive(const Landing& landing, MPI_Status& status);
int finish_receive(const Landing& landing, MPI_Status& status, Later& later);

// MPI_Request_free of what may be a persistent receive (p2p_persistent.cpp).
void forget_terms(MPI_Request request);

// Starts what `library_start` would (MPI_Isend and its kin), the request a placeholder.
int start_offer(const Outgoing& out, Function function, decltype(Library::Isend) wire_start, int dest,
                int tag, MPI_Comm comm, MPI_Request* request);

}  // namespace nigh::mpi
