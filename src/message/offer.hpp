// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A large message as one copy. The sender offers its buffer where it lies; whoever learns of the offer
// (through our own channels, or a descriptor that an MPI library matched) copies from there. Neither side
// depends on the other's progress: a sender that has waited long enough leaves a private copy behind and goes
// on, and while it waits it copies half of the chunks itself. An offer lives in the sender's memory, and only
// the sender recycles it:
//
//     free -> offered -> claimed -> done -> free      the receiver came in time
//                \-> staged --------^                 it did not: `source` is now our copy, the user's buffer
//                is his
//
// offered -> claimed | staged is one compare-and-swap, the only place where the two sides race; a receiver
// that dies while it holds a claim leaves it to the sender to find out (Space::alive).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "message/layout.hpp"
#include "message/wait.hpp"
#include "space/space.hpp"

namespace nigh::message {

enum class OfferState : std::uint32_t { free, offered, claimed, staged, done };

// What a probe needs to know of a message it can't look into.
struct Envelope {
  std::int32_t to = -1;  // rank of the space
  std::int32_t tag = 0;
  std::uint64_t context = 0;  // the communicator
};

struct Offer;  // shared, in the sender's memory; see offer.cpp for its map

class Offers {
 public:
  Offers(space::Space& space, Waiter& waiter);
  ~Offers();

  // --- the sender ---
  // Offers `bytes` bytes at `data`, which must be Space::global (a layout's blocks too). nullptr: no memory
  // left.
  Offer* open(const void* data, const Layout* layout, std::size_t bytes, const Envelope& envelope);
  // A name for the offer that fits into a descriptor; valid until close.
  static std::uint64_t name_of(const Offer* offer);
  // True once the buffer may be used again: the receiver has all, or a copy was staged.
  static bool released(const Offer* offer);
  // Copies some chunks for a receiver that is at it; true when it did something.
  bool help(Offer* offer);
  // Leaves a private copy behind unless the receiver was faster; afterwards released() is true or soon will
  // be. False: no memory for the copy, the offer stands.
  bool stage(Offer* offer);
  // Helps, waits about as long as a copy takes, then stages: bounded time whatever the receiver does.
  void finish(Offer* offer);
  // Gives the offer back when it is done, else as soon as it is. Only after released().
  void close(Offer* offer);
  // The message will never be received (it was cancelled): takes it back.
  void withdraw(Offer* offer);

  // --- the receiver ---
  // The offer called `name` in the memory of `from`; nullptr when there is none such (a stray or hostile
  // descriptor).
  Offer* find(int from, std::uint64_t name);
  static std::size_t bytes_of(const Offer* offer);
  static const Envelope& envelope_of(const Offer* offer);
  // Copies the message (at most `capacity` bytes of it) to `to` and lets the sender go. Exactly once an
  // offer.
  void take(Offer* offer, void* to, const Layout* to_layout, std::size_t capacity);
  // The oldest offer of `from` to us in `context` with `tag` that was neither taken nor reserved; nullptr:
  // none.
  Offer* oldest(int from, std::uint64_t context, std::int32_t tag);
  // Hides it from oldest(): a matched probe has it.
  static void reserve(Offer* offer);

  // --- for tests and --explain ---
  struct Counts {
    std::uint64_t opened = 0, staged = 0, helped_bytes = 0, taken = 0, taken_bytes = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] bool validate() const;  // every invariant of our own offers

 private:
  struct Book;
  space::Space& space_;
  Waiter& waiter_;
  Book* book_ = nullptr;
  Counts counts_;
};

}  // namespace nigh::message
