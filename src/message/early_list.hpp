// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Early messages: taken out of a library by a probe before any receive has asked for them (mpi/early.hpp says
// why). What is here knows no library, so that it can be explored in all interleavings (tests/model).
//
// Order: a probe takes out all that comes before what it looks for, and appends it; so this list followed by
// the library's own queue is what it was. Receivers look here first. Between that look and the library's
// answer, as between the library's giving a message up and its standing here, the gate is held.
#pragma once

#include <cstdint>

#include "message/atomic.hpp"
#include "message/offer.hpp"

namespace nigh::message {

// A Message has a `next`.
template <class Message>
class EarlyList {
 public:
  EarlyList() = default;
  EarlyList(const EarlyList&) = delete;
  EarlyList& operator=(const EarlyList&) = delete;

  void append(Message* message) {
    message->next = nullptr;
    *last_ = message;
    last_ = &message->next;
  }
  // nullptr: none.
  template <class Matches>
  [[nodiscard]] Message* find(Matches&& matches) const {
    Message* at = first_;
    while (at && !matches(*at)) at = at->next;
    return at;
  }
  // The same, and it is the caller's.
  template <class Matches>
  Message* take(Matches&& matches) {
    Message** at = &first_;
    while (*at && !matches(**at)) at = &(*at)->next;
    Message* message = *at;
    if (!message) return nullptr;
    *at = message->next;
    if (last_ == &message->next) last_ = at;
    return message;
  }

  atomic<std::uint32_t> gate = 0;

 private:
  Message* first_ = nullptr;
  Message** last_ = &first_;
};

// A lock for several threads; nullptr: there is but one.
class EarlyGate {
 public:
  explicit EarlyGate(atomic<std::uint32_t>* gate) : gate_(gate) {
    if (gate_)
      while (gate_->exchange(1, std::memory_order_acquire) != 0) yield_cpu();
  }
  ~EarlyGate() {
    if (gate_) gate_->store(0, std::memory_order_release);
  }
  EarlyGate(const EarlyGate&) = delete;
  EarlyGate& operator=(const EarlyGate&) = delete;

 private:
  atomic<std::uint32_t>* gate_;
};

// A synchronous send must not end because a probe has read its descriptor, which its library takes for a
// receive. The reader says so as long as it reads, in memory that the sender sees, and marks the offer before
// it stops saying it.
class EarlyReading {
 public:
  explicit EarlyReading(atomic<std::uint32_t>& reading) : reading_(reading) {
    reading_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~EarlyReading() { reading_.fetch_sub(1, std::memory_order_release); }
  EarlyReading(const EarlyReading&) = delete;
  EarlyReading& operator=(const EarlyReading&) = delete;

 private:
  atomic<std::uint32_t>& reading_;
};
// Asked by the sender once its library has completed the descriptor: no receive has asked for the message
// yet.
inline bool only_probed(const atomic<std::uint32_t>& reading, const Offer* offer) {
  if (reading.load(std::memory_order_acquire) != 0) return true;
  return Offers::reserved(offer) && !Offers::claimed(offer) && !Offers::taken(offer);
}

}  // namespace nigh::message
