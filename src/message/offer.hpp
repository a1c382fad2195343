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
//                \-> staged --------^                 it did not: the message is now our copy, the user's
//                buffer
//                                                     is his
//
// offered -> claimed | staged is one compare-and-swap, the only place where the two sides race; a receiver
// that dies while it holds a claim leaves it to the sender to find out (Space::alive). Both sides may copy
// chunks of one message, the receiver from the front and the sender from the back, claimed by one counter;
// see offer_map.hpp for who waits for whom then. All functions may be called by several threads of a rank,
// each offer by one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/layout.hpp"
#include "message/wait.hpp"
#include "space/space.hpp"

namespace nigh::message {

enum class OfferState : std::uint32_t { free, offered, claimed, staged, done };

// The properties of a message that a probe reports without looking into it.
struct Envelope {
  std::int32_t to = -1;  // rank of the space
  std::int32_t tag = 0;
  std::uint64_t context = 0;  // the communicator
};

struct Offer;  // shared, in the sender's memory; see offer_map.hpp
struct Book;

class Offers {
 public:
  Offers(space::Space& space, Waiter& waiter);
  ~Offers();  // what was staged stays for its receivers as long as this rank lives
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;
  [[nodiscard]] bool usable() const { return book_ != nullptr; }

  // --- the sender ---
  // Offers `bytes` bytes at `data`, which must be Space::global (a layout's blocks too). nullptr: no memory
  // left.
  Offer* open(const void* data, const Layout* layout, std::size_t bytes, const Envelope& envelope);
  // The same for bytes that no peer can reach (stacks), or that are to be free at once: offers a copy, which
  // is released() from the start.
  Offer* open_copy(const void* data, const Layout* layout, std::size_t bytes, const Envelope& envelope);
  // A name for the offer that fits into a descriptor; valid until close.
  static std::uint64_t name_of(const Offer* offer);
  // True once the buffer may be used again: the receiver has all, or a copy was staged.
  static bool released(const Offer* offer);
  // A receiver has claimed it: released() is not far.
  static bool claimed(const Offer* offer);
  // Copies some chunks for a receiver that is at it; true when it did something.
  bool help(Offer* offer);
  // Leaves a private copy behind unless the receiver was faster; afterwards released() is true or soon will
  // be. False: no memory for the copy, the offer stands.
  bool stage(Offer* offer);
  // Helps, waits about as long as a copy takes, then stages: bounded time whatever the receiver does (a
  // receiver that has claimed it and is stopped holds the sender up until it goes on or dies).
  void finish(Offer* offer);
  // Gives the offer back when it is done, else as soon as it is. Only after released().
  void close(Offer* offer);
  // True if `bytes` more fit below the limit of copies that nobody has received yet (Tuning::most_copied).
  bool has_room(std::size_t bytes);
  // The message will never be received (it was cancelled): takes it back, and closes it.
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
  // Hides it from oldest(): a probe has its name. The sender sees that, too.
  static void reserve(Offer* offer);
  static bool reserved(const Offer* offer);
  // The receiver has all of it.
  static bool taken(const Offer* offer);

  // --- for tests and --explain ---
  struct Counts {
    std::uint64_t opened = 0, staged = 0, staged_bytes = 0, helped_bytes = 0, taken = 0, taken_bytes = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] bool validate() const;  // every invariant of our own offers
  [[nodiscard]] int open_offers() const;

  // Measured thresholds (docs/decisions/0009); tests and benchmarks set their own, the same on both sides.
  struct Tuning {
    std::size_t halves_from = std::size_t{256} << 10;  // from here on the sender copies chunks as well
    std::size_t chunk = std::size_t{64} << 10;         // what is claimed at a time
    std::size_t kept_bytes = std::size_t{32} << 20;    // memory for staged copies that is kept for the next
    std::size_t most_copied = std::size_t{64} << 20;   // in copies, for has_room()
  };
  void set_tuning(const Tuning& tuning) { tuning_ = tuning; }

 private:
  friend class Lock;
  class Lock;
  Offer* take_free();
  bool grow();
  void recycle(Offer* offer);
  void reclaim(int most);
  static std::size_t buffer_bytes(std::size_t bytes);
  void* take_buffer(std::size_t bytes);
  void give_buffer(void* buffer, std::size_t bytes);
  bool drop_buffer();
  Offer* fill(Offer* offer, const void* data, const Layout* layout, std::size_t bytes,
              const Envelope& envelope);
  void publish(Offer* offer, std::uint64_t state);
  void take_halves(Offer* offer, void* to, void* to_global, std::size_t bytes);
  bool copy_out(Offer* offer, void* buffer);
  static void count(std::uint64_t& counter, std::uint64_t by);

  space::Space& space_;
  Waiter& waiter_;
  Book* book_ = nullptr;
  std::uint32_t book_index_ = 0;
  Tuning tuning_;
  Counts counts_;
};

}  // namespace nigh::message
