// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Setting up, sending and waiting. A send goes into the ring of its receiver if there is room, else it queues
// behind the others for that receiver; a large one first becomes an offer. See p2p_receive.cpp for the rest.
#include "message/p2p.hpp"

#include <algorithm>
#include <new>

namespace nigh::message {
namespace {

// Few enough that those in use stay in the first cache, and together about a megabyte for 128 ranks.
std::uint32_t lines_for(int ranks) {
  std::uint32_t lines = 128;
  while (lines > 64 && static_cast<std::size_t>(lines) * line_bytes * static_cast<unsigned>(ranks) > 1 << 20)
    lines /= 2;
  return lines;
}

}  // namespace

Endpoint::Endpoint(space::Space& space, Waiter& waiter, Offers& offers, int set)
    : space_(space),
      waiter_(waiter),
      offers_(offers),
      set_(set),
      rank_(space.rank()),
      size_(space.size()),
      matcher_(space.size()) {
  const auto ranks = static_cast<std::size_t>(size_);
  in_.reset(new (std::nothrow) RingReader[ranks]);
  out_.reset(new (std::nothrow) RingWriter[ranks]);
  pending_.reset(new (std::nothrow) Sends[ranks]);
  raw_.reset(new (std::nothrow) std::unique_ptr<unsigned char[]>[ranks]);
  usable_ = matcher_.usable() && waiter.usable() && offers.usable() && in_ && out_ && pending_ && raw_ &&
            set >= 0 && set < RankWords::channel_sets && make_rings();
}

// The rings stay as long as the rank lives: peers may still write there.
Endpoint::~Endpoint() {
  while (Request* request = free_requests_) {
    free_requests_ = request->next;
    delete request;
  }
  while (Unexpected* message = free_unexpected_) {
    free_unexpected_ = message->next;
    ::operator delete(message);
  }
  if (!matcher_.usable()) return;
  while (Unexpected* message = matcher_.any()) ::operator delete(message);
}

bool Endpoint::make_rings() {
  const std::uint32_t lines = lines_for(size_);
  const std::size_t stride = Rings::stride_of(lines);
  const std::size_t top = (sizeof(Rings) + line_bytes - 1) / line_bytes * line_bytes;
  auto* memory = static_cast<char*>(space_.alloc(top + stride * static_cast<std::size_t>(size_), 4096));
  if (!memory) return false;
  mine_ = new (memory) Rings{.lines = lines, .stride = stride, .base = memory + top};
  for (int rank = 0; rank < size_; ++rank) {
    auto* ring = new (mine_->top(rank)) RingTop;
    auto* first = reinterpret_cast<Line*>(ring + 1);
    for (std::uint32_t i = 0; i < lines; ++i) new (first + i) Line{};
    in_[static_cast<std::size_t>(rank)] = RingReader(ring, lines);
  }
  set_eager_limit(default_eager_limit);
  void* nothing = nullptr;
  return waiter_.front().channels[set_].compare_exchange_strong(nothing, mine_, std::memory_order_acq_rel);
}

void Endpoint::set_eager_limit(std::size_t bytes) {
  const std::size_t largest = (static_cast<std::size_t>(lines_for(size_)) / 4 - 2) * line_bytes;
  eager_limit_ = std::clamp(bytes, inline_bytes, largest);
}

bool Endpoint::connect(int to) {
  RankWords* front = waiter_.front_of(to);
  auto* rings = front ? static_cast<Rings*>(front->channels[set_].load(std::memory_order_acquire)) : nullptr;
  if (!rings) return false;
  auto& raw = raw_[static_cast<std::size_t>(to)];
  raw.reset(new (std::nothrow) unsigned char[rings->lines / 8]());
  if (!raw) return false;
  out_[static_cast<std::size_t>(to)] = RingWriter(rings->top(rank_), rings->lines, raw.get());
  return true;
}

bool Endpoint::valid(const Piece& piece, int rank, int tag, bool receiving) const {
  if (rank < (receiving ? any_source : 0) || rank >= size_) return false;
  if (tag < (receiving ? any_tag : 0)) return false;
  if (piece.layout && piece.bytes > 0 && piece.layout->element_bytes == 0) return false;
  return piece.data || piece.bytes == 0;
}

Error Endpoint::send(const Piece& piece, int to, int tag, std::uint32_t context) {
  if (!valid(piece, to, tag, false)) return Error::bad_argument;
  const auto t = static_cast<std::size_t>(to);
  if (piece.bytes <= eager_limit_ && out_[t].connected() && !pending_[t].first &&
      out_[t].put({.bytes = static_cast<std::uint32_t>(piece.bytes), .tag = tag, .context = context},
                  piece.data, piece.layout)) {
    ++counts_.sent;
    waiter_.ring(to);
    return Error::ok;
  }
  Request request;
  request.piece = piece;
  request.peer = to;
  request.tag = tag;
  request.context = context;
  request.is_send = true;
  begin_send(request);
  return wait_for(request);
}

Request* Endpoint::start_send(const Piece& piece, int to, int tag, std::uint32_t context) {
  if (!valid(piece, to, tag, false)) return nullptr;
  Request* request = new_request(piece, to, tag, context, true);
  if (request) begin_send(*request);
  return request;
}

void Endpoint::begin_send(Request& request) {
  if (request.peer == rank_) return send_to_self(request);
  if (!space_.reachable(request.peer)) {
    request.done = true;
    request.status.error = Error::unreachable;
    return;
  }
  Sends& before = pending_[static_cast<std::size_t>(request.peer)];
  if (!before.first && put(request)) return;
  ++counts_.ring_full;
  ++without_room_;
  request.waiting_for_room = true;
  before.add(&request);
}

// Into the ring; true when the request needs no more room (it may have failed for good).
bool Endpoint::put(Request& request) {
  const auto to = static_cast<std::size_t>(request.peer);
  if (!out_[to].connected() && !connect(request.peer)) return false;
  if (request.piece.bytes > eager_limit_) return put_offer(request);
  const Head head = {.bytes = static_cast<std::uint32_t>(request.piece.bytes),
                     .tag = request.tag,
                     .context = request.context};
  if (!out_[to].put(head, request.piece.data, request.piece.layout)) return false;
  request.done = true;
  ++counts_.sent;
  waiter_.ring(request.peer);
  return true;
}

bool Endpoint::put_offer(Request& request) {
  if (!request.offer)
    request.offer =
        open_offer(request.piece, {.to = request.peer, .tag = request.tag, .context = request.context});
  if (!request.offer) {
    request.done = true;
    request.status.error = Error::no_memory;
    return true;
  }
  const OfferNote note = {.name = Offers::name_of(request.offer), .bytes = request.piece.bytes};
  const Head head = {
      .parcel = Parcel::offer, .bytes = sizeof note, .tag = request.tag, .context = request.context};
  if (!out_[static_cast<std::size_t>(request.peer)].put(head, &note, nullptr)) return false;
  ++counts_.sent;
  ++counts_.offers;
  waiter_.ring(request.peer);
  return true;
}

// The buffer itself if peers can reach all of it, else a copy.
Offer* Endpoint::open_offer(const Piece& piece, const Envelope& envelope) {
  const Layout* layout = piece.layout;
  if (!layout) {
    if (void* global = space_.global(piece.data, piece.bytes))
      return offers_.open(global, nullptr, piece.bytes, envelope);
  } else {
    std::ptrdiff_t low = layout->blocks[0].offset, high = low;
    for (std::size_t i = 0; i < layout->block_count; ++i) {
      const Block& block = layout->blocks[i];
      low = std::min(low, block.offset);
      high = std::max(high, block.offset + static_cast<std::ptrdiff_t>(block.bytes));
    }
    const auto last = static_cast<std::ptrdiff_t>((piece.bytes - 1) / layout->element_bytes) * layout->extent;
    (last < 0 ? low : high) += last;
    auto* first = static_cast<char*>(
        space_.global(static_cast<char*>(piece.data) + low, static_cast<std::size_t>(high - low)));
    void* blocks = space_.global(layout->blocks, layout->block_count * sizeof(Block));
    if (first && blocks) {
      Layout global = *layout;
      global.blocks = static_cast<const Block*>(blocks);
      return offers_.open(first - low, &global, piece.bytes, envelope);
    }
  }
  ++counts_.copied_offers;
  return offers_.open_copy(piece.data, layout, piece.bytes, envelope);
}

void Endpoint::send_to_self(Request& request) {
  request.done = true;
  ++counts_.sent;
  if (auto* receive = static_cast<Request*>(matcher_.take_posted(rank_, request.tag, request.context))) {
    const std::size_t bytes = std::min(request.piece.bytes, receive->piece.bytes);
    copy(receive->piece.data, receive->piece.layout, request.piece.data, request.piece.layout, 0, bytes);
    receive->status = {.source = rank_,
                       .tag = request.tag,
                       .bytes = bytes,
                       .error = bytes < request.piece.bytes ? Error::truncated : Error::ok};
    receive->done = true;
    return;
  }
  Unexpected* message = new_unexpected(request.piece.bytes);
  if (!message) {
    request.status.error = Error::no_memory;
    return;
  }
  copy(message->data, nullptr, request.piece.data, request.piece.layout, 0, request.piece.bytes);
  message->source = rank_;
  message->tag = request.tag;
  message->context = request.context;
  matcher_.arrived(message);
}

void Endpoint::flush(int to) {
  Sends& sends = pending_[static_cast<std::size_t>(to)];
  while (sends.first && put(*sends.first)) {
    sends.first->waiting_for_room = false;
    sends.remove(&sends.first);
    --without_room_;
  }
}

// Brings a send on: it helps the receiver to copy, and stops waiting for him after about a copy's time.
void Endpoint::advance_offer(Request& request) {
  Offer* offer = request.offer;
  if (!Offers::released(offer) && !offers_.help(offer) && !Offers::claimed(offer) &&
      (++request.looks % 16 == 0 || waiter_.patience().crowded)) {
    const std::int64_t now = now_ns();
    if (request.stage_at == 0)
      request.stage_at = now + 3000 + static_cast<std::int64_t>(request.piece.bytes / 16);
    if (now > request.stage_at) offers_.stage(offer);
  }
  if (!Offers::released(offer)) return;
  offers_.close(offer);
  request.offer = nullptr;
  request.done = true;
}

void Endpoint::advance(Request& request) {
  if (request.done || !request.is_send) return;
  if (request.waiting_for_room) flush(request.peer);
  if (!request.waiting_for_room && request.offer) advance_offer(request);
}

Error Endpoint::wait_for(Request& request) {
  unsigned looks = 0;
  const bool any = !request.is_send && request.peer == any_source;
  const auto ready = [&] {
    if (request.done) return true;
    if (!any && request.peer != rank_) poll(request.peer, 16);
    if (any || ++looks % 32 == 0) progress();
    advance(request);
    if (starved_ && !request.is_send && !request.done) {
      give_up(request);
      request.status.error = Error::no_memory;
    }
    return request.done;
  };
  const int peer = any ? Waiter::anybody : request.peer == rank_ ? Waiter::nobody : request.peer;
  if (waiter_.until(ready, peer) == Waited::peer_dead) {
    give_up(request);
    request.status.error = Error::peer_dead;
  }
  return request.status.error;
}

// Takes the request out of all lists.
void Endpoint::give_up(Request& request) {
  if (!request.is_send) {
    matcher_.unpost(&request);
  } else if (request.waiting_for_room) {
    Sends& sends = pending_[static_cast<std::size_t>(request.peer)];
    if (Request** place = sends.find([&](Request& other) { return &other == &request; })) sends.remove(place);
    request.waiting_for_room = false;
    --without_room_;
  }
  if (request.offer) offers_.withdraw(request.offer);
  request.offer = nullptr;
  request.done = true;
}

Request* Endpoint::new_request(const Piece& piece, int peer, int tag, std::uint32_t context, bool is_send) {
  Request* request = free_requests_;
  if (request)
    free_requests_ = request->next;
  else
    request = new (std::nothrow) Request;
  if (!request) return nullptr;
  *request = Request{};
  request->piece = piece;
  request->peer = peer;
  request->source = peer;
  request->tag = tag;
  request->context = context;
  request->is_send = is_send;
  return request;
}

void Endpoint::free_request(Request* request) {
  request->next = free_requests_;
  free_requests_ = request;
}

Error Endpoint::wait(Request* request, Status* status) {
  if (!request) return Error::bad_argument;
  const Error error = wait_for(*request);
  if (status) *status = request->status;
  free_request(request);
  return error;
}

bool Endpoint::test(Request* request, Status* status) {
  if (!request) return true;
  if (!request->done) progress();
  advance(*request);
  if (!request->done) return false;
  if (status) *status = request->status;
  free_request(request);
  return true;
}

}  // namespace nigh::message
