// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The form of an offer in shared memory, and its two small protocols: the state word and the chunk claims.
//
//     line 0   word | data | bytes | envelope | copy      word: generation << 8 | OfferState
//     line 1   invite | target | claims | helped | chunk  the receiver's invitation to copy together
//     line 2   layout | order, tag and context once more  atomics, for probes that read without owning
//     line 3   what only the sender uses
//
// The generation is new each time the slot is used, and part of the offer's name and of every
// compare-and-swap, so that nobody can act on the message that was here before. Words once written are never
// unmapped: a book and its offers live as long as their rank.
//
// Chunks: `claims` counts those taken from the front (low half) and from the back (high half) in one
// fetch_add each; a claim is good while both together had not reached the number of chunks. The receiver
// never waits for a sender that does not help: it takes every chunk that is left. It does wait for the chunk
// that the sender is copying at that moment, because a sender that was preempted there would wake up later
// and write into a buffer that is the user's again; only a sender that has died is replaced. Where ranks
// outnumber CPUs no sender helps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/atomic.hpp"
#include "message/offer.hpp"

namespace nigh::message {

struct alignas(64) Offer {
  atomic<std::uint64_t> word = 0;
  const void* data = nullptr;
  std::size_t bytes = 0;
  Envelope envelope;
  void* copy = nullptr;  // written before offered -> staged
  std::int32_t from = -1;
  std::uint32_t name_low = 0;  // book and slot

  alignas(64) atomic<std::uint64_t> invite = 0;  // generation << 32 | chunks, 0: not yet
  void* target = nullptr;
  std::size_t target_bytes = 0;
  std::size_t chunk = 0;
  atomic<std::uint64_t> claims = 0;
  atomic<std::uint64_t> helped = 0;  // chunks that the sender has finished

  alignas(64) Layout layout;
  atomic<std::uint64_t> order = 0;  // among all offers of this sender
  atomic<std::uint64_t> to_and_tag = 0;
  atomic<std::uint64_t> context = 0;
  atomic<std::uint32_t> reserved = 0;
  bool has_layout = false;

  alignas(64) Offer* next = nullptr;  // in the free list or the list of zombies
  std::size_t copy_bytes = 0;
  bool zombie = false;
};
static_assert(sizeof(Offer) == 256,
              "shared between ranks and libraries: a change changes space::abi_version");

struct Book {
  static constexpr int blocks = 20;
  static constexpr std::uint32_t first_block = 64;  // block b has 64 << b offers
  atomic<std::uint32_t> used = 1;                   // by an Offers object that lives
  atomic<std::uint32_t> block_count = 0;
  atomic<Offer*> block[blocks] = {};
  // The sender's own.
  atomic<std::uint32_t> lock = 0;  // between threads of the sender; no peer ever takes it
  std::uint32_t generation = 0;
  std::uint64_t order = 0;
  Offer* free = nullptr;
  Offer* zombies = nullptr;
  // Buffers for the next copies, by size: powers of two, each with a list through their first words.
  static constexpr int smallest_buffer = 12, largest_buffer = 25;  // 4 KiB, 32 MiB
  struct Shelf {
    void* first = nullptr;
    std::uint64_t used = 0;  // Book::order when one was last given or taken
  };
  Shelf shelves[largest_buffer - smallest_buffer + 1] = {};
  std::size_t kept_bytes = 0;    // on the shelves
  std::size_t copied_bytes = 0;  // in offers that are open
};

// The plain fields, for the model's race detector.
inline std::size_t span_of(const void* first, const void* end) {
  return static_cast<std::size_t>(static_cast<const char*>(end) - static_cast<const char*>(first));
}
inline void note_message_read(const Offer& o) { note_read(&o.data, span_of(&o.data, &o.copy)); }
inline void note_message_written(const Offer& o) { note_write(&o.data, span_of(&o.data, &o.copy)); }
inline void note_target_read(const Offer& o) { note_read(&o.target, span_of(&o.target, &o.claims)); }
inline void note_target_written(const Offer& o) { note_write(&o.target, span_of(&o.target, &o.claims)); }

constexpr std::uint64_t word_of(std::uint64_t generation, OfferState state) {
  return generation << 8 | static_cast<std::uint64_t>(state);
}
constexpr OfferState state_of(std::uint64_t word) { return static_cast<OfferState>(word & 0xff); }
constexpr std::uint32_t generation_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 8); }

inline std::uint64_t pack_to_and_tag(std::int32_t to, std::int32_t tag) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(to)) << 32 | static_cast<std::uint32_t>(tag);
}

// offered -> claimed (the receiver) or offered -> staged (the sender): true for the one that was first.
inline bool move_on(Offer& offer, std::uint32_t generation, OfferState to) {
  std::uint64_t expected = word_of(generation, OfferState::offered);
  return offer.word.compare_exchange_strong(expected, word_of(generation, to), std::memory_order_acq_rel,
                                            std::memory_order_acquire);
}

// The next chunk from the front or the back; -1: all are taken.
inline std::int64_t claim_front(Offer& offer, std::uint64_t chunks) {
  const std::uint64_t old = offer.claims.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t front = old & 0xffffffff, back = old >> 32;
  return front + back < chunks ? static_cast<std::int64_t>(front) : -1;
}
inline std::int64_t claim_back(Offer& offer, std::uint64_t chunks) {
  const std::uint64_t old = offer.claims.fetch_add(std::uint64_t{1} << 32, std::memory_order_relaxed);
  const std::uint64_t front = old & 0xffffffff, back = old >> 32;
  return front + back < chunks ? static_cast<std::int64_t>(chunks - 1 - back) : -1;
}

}  // namespace nigh::message
