// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point messages of one rank: small ones through rings of lines (channel.hpp), large ones as offers
// whose names travel in the same rings, so that one order holds for both. A send is done when its buffer may
// be used again, whatever the receiver does; a rank that waits keeps receiving, so that full rings can't lock
// two senders. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "message/channel.hpp"
#include "message/match.hpp"
#include "message/offer.hpp"
#include "message/wait.hpp"
#include "space/space.hpp"

namespace nigh::message {

enum class Error : int { ok, truncated, peer_dead, no_memory, bad_argument, unreachable };

struct Status {
  int source = any_source;
  int tag = any_tag;
  std::size_t bytes = 0;  // received: at most what the buffer holds
  Error error = Error::ok;
};

// A buffer to send from or to receive into: `bytes` of message at `data`, in one piece or as a layout says.
struct Piece {
  void* data = nullptr;
  std::size_t bytes = 0;
  const Layout* layout = nullptr;  // only read during the call; its blocks must live until the end of it all
};
inline Piece piece(const void* data, std::size_t bytes, const Layout* layout = nullptr) {
  return {.data = const_cast<void*>(data), .bytes = bytes, .layout = layout};
}

struct Request : Posted {
  Request* next = nullptr;  // of the sends without room, or of the free
  Piece piece;
  int peer = any_source;
  bool is_send = false;
  bool done = false;
  bool waiting_for_room = false;
  Offer* offer = nullptr;
  std::int64_t stage_at = 0;  // when to stop waiting for the receiver
  unsigned looks = 0;
  Status status;
};

class Endpoint {
 public:
  // `set`: which of the endpoints of a process; the same on all ranks, each used once in the life of a rank.
  Endpoint(space::Space& space, Waiter& waiter, Offers& offers, int set = 0);
  ~Endpoint();  // drains nothing; every request must have ended
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  [[nodiscard]] bool usable() const { return usable_; }

  Error send(const Piece& piece, int to, int tag, std::uint32_t context = 0);
  Error receive(const Piece& piece, int from, int tag, Status* status = nullptr, std::uint32_t context = 0);

  // nullptr: no memory, or an argument that can't be right.
  Request* start_send(const Piece& piece, int to, int tag, std::uint32_t context = 0);
  Request* start_receive(const Piece& piece, int from, int tag, std::uint32_t context = 0);
  // The request is gone afterwards.
  Error wait(Request* request, Status* status = nullptr);
  // True when it had ended; then it is gone.
  bool test(Request* request, Status* status = nullptr);

  Error probe(int from, int tag, Status* status, std::uint32_t context = 0);
  bool probe_now(int from, int tag, Status* status, std::uint32_t context = 0);

  // Receives what has come, sends what found no room. True when something moved.
  bool progress();

  static constexpr std::size_t default_eager_limit = 1024;
  // Largest message that travels in the rings; above, a single copy by offer.
  [[nodiscard]] std::size_t eager_limit() const { return eager_limit_; }
  void set_eager_limit(std::size_t bytes);

  struct Counts {
    std::uint64_t sent = 0, received = 0, offers = 0, copied_offers = 0, unexpected = 0, ring_full = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using Sends = Queue<Request, &Request::next>;

  [[nodiscard]] bool valid(const Piece& piece, int rank, int tag, bool receiving) const;
  bool make_rings();
  bool connect(int to);
  void begin_send(Request& request);
  bool put(Request& request);
  bool put_offer(Request& request);
  Offer* open_offer(const Piece& piece, const Envelope& envelope);
  void send_to_self(Request& request);
  void advance(Request& request);
  void advance_offer(Request& request);
  void flush(int to);
  void begin_receive(Request& request);
  bool try_at_once(Request& request);
  bool poll(int source, int most);
  void deliver(Request& request, int source, const Head& head);
  void deliver_offer(Request& request, int source, std::int32_t tag, std::uint64_t name);
  void deliver(Request& request, Unexpected* message);
  bool keep(int source, const Head& head);
  Unexpected* new_unexpected(std::size_t bytes);
  void free_unexpected(Unexpected* message);
  Error wait_for(Request& request);
  void give_up(Request& request);
  Request* new_request(const Piece& piece, int peer, int tag, std::uint32_t context, bool is_send);
  void free_request(Request* request);

  space::Space& space_;
  Waiter& waiter_;
  Offers& offers_;
  int set_;
  int rank_, size_;
  bool usable_ = false;
  bool starved_ = false;  // a message could not be kept for want of memory
  int without_room_ = 0;  // sends
  std::size_t eager_limit_ = 0;
  Matcher matcher_;
  Rings* mine_ = nullptr;
  std::unique_ptr<RingReader[]> in_;
  std::unique_ptr<RingWriter[]> out_;
  std::unique_ptr<Sends[]> pending_;
  std::unique_ptr<std::unique_ptr<unsigned char[]>[]> raw_;
  Request* free_requests_ = nullptr;
  Unexpected* free_unexpected_ = nullptr;
  Counts counts_;
};

}  // namespace nigh::message
