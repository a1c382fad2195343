// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The queue of messages of one consumer with many producers, in memory that all of them have mapped at the
// same addresses (a space, or one process). Each producer has a ring of its own, of cache lines that carry
// both the messages and the word that publishes them, so that the reader pays one miss for up to seven:
//
//     Ring:     next ring, where this one ends | lines
//     line:     lap << 8 | how many are published, seven messages; or | copied_mark, a copy of a small one
//     Returned: lines and rings given back, spilled ones taken: a line, written by the consumer
//     ready:    a bit for each producer that has published, only where there are many
//
// A copy is read where it lies: no second miss for the message, and its memory is the producer's again.
//
// A line is published when it is full, or by flush(); what comes later into a line that was published in part
// is published by a higher count. The producer looks at what the consumer gave back only when its ring seems
// full. (FastForward, Giacomoni et al., PPoPP 2008, by line instead of by slot; batching after MCRingBuffer,
// Lee et al., ANCS 2009.)
//
// Nothing is ever dropped and nobody waits: where a ring is full, its producer goes on in one of twice the
// size. Where there is no memory for one, messages are linked through themselves into a list of all
// producers, and go on going there until the consumer has taken all that this producer linked, so that its
// order is kept. The list is pushed by compare-and-swap, which leaves no gap that a preempted producer could
// hold open (an exchange, as in Vyukov's and liburcu's queues, does).
//
// Memory: 64 (lines + 2) bytes and a bit for each producer, and when messages pile up at most 28 bytes for
// each of them (128 for copies, whose own memory is free): 10 000 producers with rings of 4 lines, 3.9 MB.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "message/atomic.hpp"
#include "message/lines.hpp"

namespace nigh::message {

// First in every message: the queue links it through this while rings are full.
struct Link {
  Link* next = nullptr;
  std::uint32_t producer = 0;
};

// A message of 64 bytes may go as what is behind this of it, in a line of its own. Its `producer` goes with
// it: the consumer knows whose line it is, so that the field may hold something else on the way.
inline constexpr std::size_t copied_from = offsetof(Link, producer);
inline constexpr std::size_t copied_whole = 64, copied_bytes = copied_whole - copied_from;

inline constexpr unsigned line_messages = 7;
inline constexpr unsigned copied_mark =
    0x80;  // in a line's header: it holds a copy, and so do that many more
// Up to so many rings are looked at one by one; above, producers say in a bit that there is something.
inline constexpr std::uint32_t few_producers = 16;

template <unsigned Messages = line_messages>
struct alignas(64) RingLine {
  atomic<std::uint64_t> header = 0;
  Link* messages[Messages] = {};
  [[nodiscard]] char* copy() { return reinterpret_cast<char*>(this) + sizeof header; }
};
static_assert(sizeof(RingLine<>) == 64 && sizeof(RingLine<>::header) + copied_bytes <= 64, "one line");

struct alignas(64) Returned {
  atomic<std::uint64_t> lines = 0;    // that may be written again
  atomic<std::uint64_t> rings = 0;    // that were entered after the first
  atomic<std::uint64_t> spilled = 0;  // messages of the list that were taken
};

// The words that the producers of one inbox share beside their rings.
struct alignas(64) Spill {
  atomic<Link*> newest = nullptr;
  char own_line[64 - sizeof(atomic<Link*>)];
};
static_assert(sizeof(Spill) == 64, "a line of its own");

template <unsigned Messages>
struct alignas(64) Ring {
  atomic<Ring*> next = nullptr;        // written before, and read after it: where this one ends
  std::uint64_t begin = 0, lines = 0;  // number of its first line; how many: a power of two
  std::uint64_t end = 0;               // number of the next ring's first line
  RingLine<Messages>* at(std::uint64_t line) {
    return reinterpret_cast<RingLine<Messages>*>(this + 1) + ((line - begin) & (lines - 1));
  }
  std::uint64_t lap(std::uint64_t line) const { return (line - begin) / lines + 1; }

  static constexpr std::size_t bytes(std::uint64_t lines) {
    return sizeof(Ring) + lines * sizeof(RingLine<Messages>);
  }
  static Ring* make(void* memory, std::uint64_t lines, std::uint64_t begin) {
    Ring* ring = new (memory) Ring;
    ring->begin = begin;
    ring->lines = lines;
    for (std::uint64_t i = 0; i < lines; ++i) new (ring->at(begin + i)) RingLine<Messages>;
    note_write(&ring->begin, 2 * sizeof(std::uint64_t));
    return ring;
  }
};

// The source of larger rings: memory that producer and consumer have mapped at the same address, aligned to a
// line. `get` may return null.
struct RingMemory {
  void* (*get)(std::size_t bytes) = nullptr;
  void (*give)(void* memory, std::size_t bytes) = nullptr;
  std::uint64_t most_lines = 1 << 16;  // of one ring: 4 MB; beyond, rings of that size follow each other
};

// The places of the parts of an inbox. `lines` of each producer's first ring: a power of two, at least 2.
template <unsigned Messages = line_messages>
struct InboxMemory {
  char* rings = nullptr;         // of producer 0, then of producer 1, ...
  Returned* returned = nullptr;  // one for each producer
  Spill* spill = nullptr;
  atomic<std::uint64_t>* ready = nullptr;  // 64 producers a word; null: they are few
  std::uint32_t producers = 0, lines = 0;
  RingMemory more;

  [[nodiscard]] Ring<Messages>* ring(std::uint32_t producer) const {
    return reinterpret_cast<Ring<Messages>*>(rings + producer * Ring<Messages>::bytes(lines));
  }
  static constexpr std::size_t ready_words(std::size_t producers) {
    return producers > few_producers ? (producers + 63) / 64 : 0;
  }
  static constexpr std::size_t bytes(std::size_t producers, std::size_t lines) {
    return sizeof(Spill) + producers * (sizeof(Returned) + Ring<Messages>::bytes(lines)) +
           ready_words(producers) * sizeof(std::uint64_t);
  }
  // Makes the parts in `memory` (bytes(), aligned to a line), empty.
  static InboxMemory make(void* memory, std::uint32_t producers, std::uint32_t lines, RingMemory more = {}) {
    char* at = static_cast<char*>(memory);
    InboxMemory out;
    out.producers = producers;
    out.lines = lines;
    out.more = more;
    out.spill = new (at) Spill;
    at += sizeof(Spill);
    out.returned = reinterpret_cast<Returned*>(at);
    for (std::uint32_t p = 0; p < producers; ++p, at += sizeof(Returned)) new (at) Returned;
    out.rings = at;
    for (std::uint32_t p = 0; p < producers; ++p, at += Ring<Messages>::bytes(lines))
      Ring<Messages>::make(at, lines, 0);
    if (const std::size_t words = ready_words(producers); words > 0) {
      out.ready = reinterpret_cast<atomic<std::uint64_t>*>(at);
      for (std::size_t i = 0; i < words; ++i) new (out.ready + i) atomic<std::uint64_t>(0);
    }
    return out;
  }
};

// A producer's end. One thread uses it.
template <unsigned Messages = line_messages>
class alignas(line_bytes) Lane {
 public:
  void own_parts(std::vector<OwnPart>& out) const {
    out.push_back({"lane", this, sizeof *this});
    out.push_back({"lane: ring", ring_, Ring<Messages>::bytes(lines_)});
  }
  Lane(const InboxMemory<Messages>& inbox, std::uint32_t producer)
      : ring_(inbox.ring(producer)),
        lines_(inbox.lines),
        returned_(inbox.returned + producer),
        spill_(inbox.spill),
        ready_(inbox.ready ? inbox.ready + producer / 64 : nullptr),
        more_(inbox.more),
        first_(ring_),
        oldest_(ring_),
        producer_(producer) {
    at_ = ring_->at(0);
  }
  Lane(Lane&& other) noexcept : Lane(other) { other.ring_ = nullptr; }
  Lane& operator=(Lane&&) = delete;
  Lane& operator=(const Lane&) = delete;
  // Call it when the consumer is done: larger rings go.
  ~Lane() {
    if (!ring_) return;  // it was moved from
    give_back_until(rings_);
    if (ring_ != first_) give_back(ring_);
  }

  // The message is the consumer's from now on, and seen by it once there are `batch` of them or they are
  // flushed. True: all were published.
  bool push(Link* message) {
    staged_[count_] = message;
    if (++count_ < batch) return false;
    publish();
    return true;
  }
  // The same, for one of at most copied_whole bytes that can be copied as such: once it is published it is
  // the producer's again (take_copied()), unless there was no line for it.
  bool push_copy(Link* message) {
    is_copy_ |= 1U << count_;
    return push(message);
  }
  // Calls use(Link*) for each message that was copied.
  template <class Use>
  void take_copied(Use&& use) {
    while (copied_ > 0) use(staged_[--copied_]);
  }

  // Messages that were pushed, but can't be seen yet.
  [[nodiscard]] unsigned staged() const { return count_; }

  // Makes all pushed messages visible. False: there was none.
  bool flush() {
    if (count_ == 0) return false;
    publish();
    return true;
  }

 private:
  Lane(const Lane&) = default;

  // Line by line at once: the consumer may be looking at a line, and each write after such a look costs a
  // miss.
  void publish() {
    copied_ = 0;
    for (unsigned next = 0; next < count_;) {
      if (filled_ == Messages && !next_line()) {
        while (next < count_) spill(staged_[next++]);
        break;
      }
      if (filled_ == 0 && (is_copy_ >> next & 1)) {
        Link* const message = staged_[next++];
        std::memcpy(at_->copy(), reinterpret_cast<const char*>(message) + copied_from, copied_bytes);
        note_write(at_->copy(), copied_bytes);
        filled_ = Messages;
        const auto more = static_cast<unsigned>(std::countr_one(is_copy_ >> next));
        at_->header.store(ring_->lap(line_) << 8 | copied_mark | more, std::memory_order_release);
        staged_[copied_++] = message;
        continue;
      }
      while (filled_ < Messages && next < count_) {
        at_->messages[filled_] = staged_[next++];
        note_write(&at_->messages[filled_++], sizeof(Link*));
      }
      at_->header.store(ring_->lap(line_) << 8 | filled_, std::memory_order_release);
    }
    count_ = 0;
    is_copy_ = 0;
    // Always: to look first whether it is set would need a full fence, and costs the same miss.
    if (ready_) ready_->fetch_or(std::uint64_t{1} << producer_ % 64, std::memory_order_acq_rel);
  }

  // The line is full and published. False: older messages are in the list, or there is no memory.
  bool next_line() {
    if (spilled_ != taken_) {
      taken_ = returned_->spilled.load(std::memory_order_relaxed);  // tells the order, gives no memory back
      if (spilled_ != taken_) return false;
    }
    if (full()) {
      free_ = returned_->lines.load(std::memory_order_acquire);
      if (full() && !larger_ring()) return false;
    }
    at_ = ring_->at(++line_);
    filled_ = 0;
    return true;
  }
  [[nodiscard]] bool full() const { return line_ + 2 - std::max(free_, begin_) > lines_; }

  // The consumer finds it where this ring ends.
  bool larger_ring() {
    give_back_until(returned_->rings.load(std::memory_order_acquire));
    const std::uint64_t lines = std::min(2 * lines_, more_.most_lines);
    void* memory = more_.get ? more_.get(Ring<Messages>::bytes(lines)) : nullptr;
    if (!memory) return false;
    auto* ring = Ring<Messages>::make(memory, lines, line_ + 1);
    ring_->end = line_ + 1;
    note_write(&ring_->end, sizeof ring_->end);
    ring_->next.store(ring, std::memory_order_release);
    ++rings_;
    ring_ = ring;
    lines_ = lines;
    begin_ = line_ + 1;
    return true;
  }
  // Rings that the consumer has left, of which `left` were entered since.
  void give_back_until(std::uint64_t left) {
    for (; given_back_ < left; ++given_back_) {
      Ring<Messages>* const ring = oldest_;
      oldest_ = ring->next.load(std::memory_order_relaxed);
      if (ring != first_) give_back(ring);
    }
  }
  void give_back(Ring<Messages>* ring) { more_.give(ring, Ring<Messages>::bytes(ring->lines)); }

  void spill(Link* message) {
    message->producer = producer_;
    Link* newest = spill_->newest.load(std::memory_order_relaxed);
    do {
      message->next = newest;
      note_write(message, sizeof *message);
    } while (!spill_->newest.compare_exchange_weak(newest, message, std::memory_order_release,
                                                   std::memory_order_relaxed));
    ++spilled_;
  }

  // The consumer stays so far behind that it seldom asks for a line that is still being written.
  static constexpr unsigned batch = 4 * Messages;
  Link* staged_[batch] = {};
  unsigned count_ = 0;                // of these
  std::uint32_t is_copy_ = 0;         // a bit each
  unsigned copied_ = 0;               // the first of `staged_`, until the next are published
  unsigned filled_ = 0;               // of the line
  RingLine<Messages>* at_ = nullptr;  // that line
  std::uint64_t line_ = 0;            // its number
  Ring<Messages>* ring_;
  std::uint64_t lines_, begin_ = 0;  // of the ring
  std::uint64_t free_ = 0;           // lines that were given back, when last looked
  std::uint64_t spilled_ = 0, taken_ = 0;
  Returned* returned_;
  Spill* spill_;
  atomic<std::uint64_t>* ready_;
  RingMemory more_;
  Ring<Messages>*first_, *oldest_;            // oldest: that the consumer has not left, as far as we know
  std::uint64_t rings_ = 0, given_back_ = 0;  // begun after the first; left by the consumer, and given back
  std::uint32_t producer_;
};

// The consumer's end. One thread uses it.
template <unsigned Messages = line_messages>
class alignas(line_bytes) Inbox {
 public:
  explicit Inbox(const InboxMemory<Messages>& memory)
      : memory_(memory), left_(memory.ready ? (memory.producers + 63) / 64 : 0, 0) {
    cursors_.reserve(memory.producers);
    for (std::uint32_t p = 0; p < memory.producers; ++p) cursors_.push_back({memory.ring(p)});
  }

  void own_parts(std::vector<OwnPart>& out) const {
    out.push_back({"inbox", this, sizeof *this});
    out.push_back({"inbox: cursors", cursors_.data(), cursors_.size() * sizeof cursors_[0]});
    out.push_back({"inbox: returned", memory_.returned, memory_.producers * sizeof *memory_.returned});
  }

  // Hands over what is there, each producer's messages in their order: deliver(Link*), and where producers
  // push copies deliver(producer, const char* bytes). Stops soon after `most`. Returns how many.
  template <class Deliver>
  std::size_t take(Deliver&& deliver, std::size_t most = ~std::size_t{0}) {
    std::size_t count = 0;
    if (listed_ || memory_.spill->newest.load(std::memory_order_relaxed)) count += take_list(deliver, most);
    if (memory_.ready) return count + take_ready(deliver, most - std::min(count, most));
    for (std::uint32_t i = 0; i < memory_.producers && count < most; ++i) {
      count += take_ring(turn_, deliver, most - count);
      if (++turn_ == memory_.producers) turn_ = 0;
    }
    return count;
  }

 private:
  struct Cursor {
    Ring<Messages>* ring = nullptr;
    std::uint64_t line = 0, returned = 0, spilled = 0, rings = 0;
    unsigned taken = 0;  // of the line
  };

  template <class Deliver>
  std::size_t take_ready(Deliver&& deliver, std::size_t most) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < left_.size() && count < most; ++i) {
      std::uint64_t& bits = left_[turn_];
      if (memory_.ready[turn_].load(std::memory_order_relaxed) != 0)
        bits |= memory_.ready[turn_].exchange(0, std::memory_order_acq_rel);
      while (bits != 0 && count < most) {
        const auto producer = static_cast<std::uint32_t>(turn_ * 64 + __builtin_ctzll(bits));
        const std::size_t room = most - count;
        const std::size_t taken = take_ring(producer, deliver, room);
        count += taken;
        if (taken < room) bits &= bits - 1;  // else there may be more
      }
      if (bits == 0 && ++turn_ == left_.size()) turn_ = 0;
    }
    return count;
  }

  template <class Deliver>
  std::size_t take_ring(std::uint32_t producer, Deliver&& deliver, std::size_t most) {
    Cursor& at = cursors_[producer];
    std::size_t count = 0;
    while (count < most) {
      RingLine<Messages>& line = *at.ring->at(at.line);
      const std::uint64_t header = line.header.load(std::memory_order_acquire);
      const auto filled = static_cast<unsigned>(header & 0xff);
      // Still of the lap before, or no more than last time: the producer may be in another ring.
      if (header >> 8 != at.ring->lap(at.line) || filled == at.taken) {
        if (at.taken != 0 || !next_ring(producer, at)) break;
        continue;
      }
      if constexpr (std::invocable<Deliver, std::uint32_t, const char*>)
        if (filled & copied_mark) {
          for (unsigned i = 1; i <= std::max(filled & 0x3f, 1U); ++i)
            __builtin_prefetch(at.ring->at(at.line + i));
          note_read(line.copy(), copied_bytes);
          deliver(producer, const_cast<const char*>(line.copy()));
          ++count;
          ++at.line;
          continue;
        }
      prefetch(at, line, filled);
      for (; at.taken < filled; ++at.taken, ++count) {
        note_read(&line.messages[at.taken], sizeof(Link*));
        deliver(line.messages[at.taken]);
      }
      if (filled == Messages) {
        ++at.line;
        at.taken = 0;
      }
    }
    give_back(producer, at);
    return count;
  }

  // All misses of a line's messages at once, and of the line that comes next.
  static void prefetch(const Cursor& at, const RingLine<Messages>& line, unsigned filled) {
    __builtin_prefetch(at.ring->at(at.line + 1));
    for (unsigned i = at.taken; i < filled; ++i) __builtin_prefetch(line.messages[i]);
  }

  bool next_ring(std::uint32_t producer, Cursor& at) {
    Ring<Messages>* const next = at.ring->next.load(std::memory_order_acquire);
    if (!next) return false;
    note_read(&at.ring->end, sizeof at.ring->end);
    if (at.line != at.ring->end) return false;
    note_read(&next->begin, 2 * sizeof(std::uint64_t));
    at.ring = next;
    memory_.returned[producer].rings.store(++at.rings, std::memory_order_release);
    return true;
  }

  // Not every line at once: the producer's line with that word would go to and fro.
  void give_back(std::uint32_t producer, Cursor& at) {
    if (at.line - at.returned < (at.ring->lines + 3) / 4) return;
    at.returned = at.line;
    memory_.returned[producer].lines.store(at.line, std::memory_order_release);
  }

  // Oldest first; before each, all that its producer had put into its ring.
  template <class Deliver>
  std::size_t take_list(Deliver&& deliver, std::size_t most) {
    std::size_t count = 0;
    while (count < most) {
      if (!listed_) listed_ = reversed(memory_.spill->newest.exchange(nullptr, std::memory_order_acquire));
      if (!listed_) break;
      Link* const message = listed_;
      const std::uint32_t producer = message->producer;
      listed_ = message->next;
      count += take_ring(producer, deliver, ~std::size_t{0});
      deliver(message);
      ++count;
      memory_.returned[producer].spilled.store(++cursors_[producer].spilled, std::memory_order_relaxed);
    }
    return count;
  }

  static Link* reversed(Link* newest) {
    Link* oldest = nullptr;
    while (newest) {
      note_read(newest, sizeof *newest);
      Link* const next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }

  InboxMemory<Messages> memory_;
  LineVector<Cursor> cursors_;
  std::vector<std::uint64_t> left_;  // bits that were taken from `ready` and not followed to the end
  std::uint32_t turn_ = 0;           // the ring, or the word of `ready`, that comes next
  Link* listed_ = nullptr;           // taken from the list, oldest first
};

}  // namespace nigh::message
