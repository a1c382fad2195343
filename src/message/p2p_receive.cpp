// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: what stands in a ring goes to the receive that waits for it, straight from the line, or is kept
// until one comes. A receive that finds nothing older in its way looks at its source's ring before it is even
// posted; that is the path of a small message to a receiver that waits.
#include <algorithm>
#include <new>

#include "message/p2p.hpp"

namespace nigh::message {
namespace {

constexpr std::size_t small_unexpected = 64;

bool fits(const Request& receive, const Head& head) {
  return (receive.tag == any_tag || receive.tag == head.tag) && receive.context == head.context;
}

void end_receive(Request& request, int source, std::int32_t tag, std::size_t bytes) {
  const std::size_t got = std::min(bytes, request.piece.bytes);
  request.status = {
      .source = source, .tag = tag, .bytes = got, .error = got < bytes ? Error::truncated : Error::ok};
  request.done = true;
}

}  // namespace

Error Endpoint::receive(const Piece& piece, int from, int tag, Status* status, std::uint32_t context) {
  if (!valid(piece, from, tag, true)) return Error::bad_argument;
  Request request;
  request.piece = piece;
  request.peer = request.source = from;
  request.tag = tag;
  request.context = context;
  if (!try_at_once(request)) {
    begin_receive(request);
    wait_for(request);
  }
  if (status) *status = request.status;
  return request.status.error;
}

Request* Endpoint::start_receive(const Piece& piece, int from, int tag, std::uint32_t context) {
  if (!valid(piece, from, tag, true)) return nullptr;
  Request* request = new_request(piece, from, tag, context, false);
  if (request) begin_receive(*request);
  return request;
}

// The next message of the source, if nothing older is in the way and it comes soon.
bool Endpoint::try_at_once(Request& request) {
  if (request.source < 0 || request.source == rank_ || without_room_ != 0 || !matcher_.idle(request.source))
    return false;
  RingReader& ring = in_[static_cast<std::size_t>(request.source)];
  Head head;
  const bool two_lines = request.piece.bytes > inline_bytes;
  for (int looks = waiter_.patience().crowded ? 1 : 200; !ring.look(head);) {
    if (two_lines) ring.expect_more();
    if (--looks == 0) return false;
  }
  if (!fits(request, head)) return false;
  deliver(request, request.source, head);
  return true;
}

void Endpoint::begin_receive(Request& request) {
  if (request.source >= 0 && request.source != rank_ && !space_.reachable(request.source)) {
    request.done = true;
    request.status.error = Error::unreachable;
    return;
  }
  if (Unexpected* message = matcher_.find(request.source, request.tag, request.context, true))
    deliver(request, message);
  else
    matcher_.post(&request);
}

bool Endpoint::progress() {
  bool moved = false;
  for (int source = 0; source < size_; ++source)
    if (source != rank_) moved |= poll(source, 16);
  if (without_room_ > 0)
    for (int to = 0; to < size_; ++to)
      if (pending_[static_cast<std::size_t>(to)].first) flush(to);
  return moved;
}

bool Endpoint::poll(int source, int most) {
  RingReader& ring = in_[static_cast<std::size_t>(source)];
  Head head;
  bool moved = false;
  while (most-- > 0 && ring.look(head)) {
    if (Posted* receive = matcher_.take_posted(source, head.tag, head.context)) {
      deliver(*static_cast<Request*>(receive), source, head);
    } else if (!keep(source, head)) {
      starved_ = true;  // stays in the ring; its sender waits
      return moved;
    }
    moved = true;
  }
  starved_ = false;
  return moved;
}

// From the ring to its receive, and on to the next message.
void Endpoint::deliver(Request& request, int source, const Head& head) {
  RingReader& ring = in_[static_cast<std::size_t>(source)];
  ++counts_.received;
  if (head.parcel == Parcel::eager) {
    ring.read(request.piece.data, request.piece.layout,
              std::min<std::size_t>(head.bytes, request.piece.bytes));
    end_receive(request, source, head.tag, head.bytes);
    ring.pass(head);
    return;
  }
  OfferNote note{};
  ring.read(&note, nullptr, sizeof note);
  ring.pass(head);
  deliver_offer(request, source, head.tag, note.name);
}

void Endpoint::deliver_offer(Request& request, int source, std::int32_t tag, std::uint64_t name) {
  Offer* offer = offers_.find(source, name);
  if (!offer) {  // its sender gave it up
    request.status = {.source = source, .tag = tag, .bytes = 0, .error = Error::peer_dead};
    request.done = true;
    return;
  }
  const std::size_t bytes = Offers::bytes_of(offer);
  offers_.take(offer, request.piece.data, request.piece.layout, request.piece.bytes);
  end_receive(request, source, tag, bytes);
}

void Endpoint::deliver(Request& request, Unexpected* message) {
  if (message->is_offer) {
    deliver_offer(request, message->source, message->tag, message->offer_name);
  } else {
    const std::size_t bytes = std::min(message->bytes, request.piece.bytes);
    copy(request.piece.data, request.piece.layout, message->data, nullptr, 0, bytes);
    end_receive(request, message->source, message->tag, message->bytes);
  }
  free_unexpected(message);
}

bool Endpoint::keep(int source, const Head& head) {
  RingReader& ring = in_[static_cast<std::size_t>(source)];
  Unexpected* message = new_unexpected(head.bytes);
  if (!message) return false;
  message->source = source;
  message->tag = head.tag;
  message->context = head.context;
  ring.read(message->data, nullptr, head.bytes);
  if (head.parcel == Parcel::offer) {
    OfferNote note{};
    std::memcpy(&note, message->data, sizeof note);
    message->is_offer = true;
    message->offer_name = note.name;
    message->bytes = note.bytes;
  }
  ring.pass(head);
  matcher_.arrived(message);
  ++counts_.received;
  ++counts_.unexpected;
  return true;
}

Unexpected* Endpoint::new_unexpected(std::size_t bytes) {
  Unexpected* message = bytes <= small_unexpected ? free_unexpected_ : nullptr;
  if (message) {
    free_unexpected_ = message->next;
  } else {
    void* memory = ::operator new(sizeof(Unexpected) + std::max(bytes, small_unexpected), std::nothrow);
    if (!memory) return nullptr;
    message = static_cast<Unexpected*>(memory);
  }
  new (message) Unexpected;
  message->data = reinterpret_cast<char*>(message + 1);
  message->bytes = bytes;
  message->reusable = bytes <= small_unexpected;
  return message;
}

void Endpoint::free_unexpected(Unexpected* message) {
  if (!message->reusable) return ::operator delete(message);
  message->next = free_unexpected_;
  free_unexpected_ = message;
}

bool Endpoint::probe_now(int from, int tag, Status* status, std::uint32_t context) {
  if (!valid({}, from, tag, true)) return false;
  progress();
  const Unexpected* message = matcher_.find(from, tag, context, false);
  if (!message) return false;
  if (status)
    *status = {.source = message->source, .tag = message->tag, .bytes = message->bytes, .error = Error::ok};
  return true;
}

Error Endpoint::probe(int from, int tag, Status* status, std::uint32_t context) {
  if (!valid({}, from, tag, true)) return Error::bad_argument;
  const auto ready = [&] { return starved_ || probe_now(from, tag, status, context); };
  const int peer = from == any_source ? Waiter::anybody : from == rank_ ? Waiter::nobody : from;
  if (waiter_.until(ready, peer) == Waited::peer_dead) return Error::peer_dead;
  return starved_ && !probe_now(from, tag, status, context) ? Error::no_memory : Error::ok;
}

}  // namespace nigh::message
