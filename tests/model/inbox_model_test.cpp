// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The inbox in all its interleavings: rings so small that they are full at once, the list, the way back into
// the ring, lines that are published in parts, and the bits of those who have something.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "expect.hpp"
#include "message/inbox.hpp"

namespace nigh::message {
namespace {

using model::Change;
using model::check;
using model::expect_caught;
using model::expect_holds;
using model::Operation;

struct Note {
  Link link;
  std::uint32_t from = 0, number = 0;
};

// `Producers` send `Each` messages through lines of `Messages`, two lines each; the consumer takes all.
template <std::uint32_t Producers, std::uint32_t Each, unsigned Messages, bool Ready = false,
          bool FlushEach = true>
struct Traffic : model::Scenario {
  Traffic() : memory(::operator new(bytes, std::align_val_t{64})) {
    parts = InboxMemory<Messages>::make(memory.get(), Producers, 2);
    if (Ready) parts.ready = &bits;
    inbox = std::make_unique<Inbox<Messages>>(parts);
    for (std::uint32_t p = 0; p < Producers; ++p) {
      lanes.emplace_back(std::make_unique<Lane<Messages>>(parts, p));
      ranks.emplace_back([this, p] { produce(p); });
    }
    ranks.emplace_back([this] { consume(); });
    after = [this] { check(inbox->take([](Link*) {}) == 0, "a message twice"); };
  }
  void produce(std::uint32_t p) {
    for (std::uint32_t i = 0; i < Each; ++i) {
      Note& note = notes[p][i];
      note.from = p;
      note.number = i;
      note_write(&note.number, sizeof note.number);
      lanes[p]->push(&note.link);
      if (FlushEach) lanes[p]->flush();
    }
    lanes[p]->flush();
  }
  void consume() {
    std::array<std::uint32_t, Producers> next{};
    std::uint32_t all = 0;
    while (all < Producers * Each) {
      const std::size_t got = inbox->take([&](Link* link) {
        const Note& note = *reinterpret_cast<Note*>(link);
        note_read(&note.number, sizeof note.number);
        check(note.number == next[note.from]++, "each producer's order");
        ++all;
      });
      if (got == 0) pause_cpu();
    }
  }

  struct Free {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  static constexpr std::size_t bytes = InboxMemory<Messages>::bytes(Producers, 2);
  std::unique_ptr<void, Free> memory;
  InboxMemory<Messages> parts;
  atomic<std::uint64_t> bits = 0;
  std::array<std::array<Note, Each>, Producers> notes{};
  std::vector<std::unique_ptr<Lane<Messages>>> lanes;
  std::unique_ptr<Inbox<Messages>> inbox;
};

// The ring grows twice while the consumer may be anywhere; what it left must not be touched any more.
struct Growth : Traffic<1, 7, 1> {
  Growth() {  // by rings of the same size, so that some are given back
    parts.more = {[](std::size_t size) { return given.emplace_back(::operator new(size, line)).get(); },
                  [](void* data, std::size_t size) { model::given_back(data, size); }, 2};
    lanes[0] = std::make_unique<Lane<1>>(parts, 0);
    inbox = std::make_unique<Inbox<1>>(parts);
  }
  ~Growth() override {
    lanes.clear();
    given.clear();
  }
  static constexpr std::align_val_t line{64};
  // Kept to the end: were it handed out again, the model would take the new owner for a late reader.
  static inline std::vector<std::unique_ptr<void, Free>> given;
};
// The same with copies: their memory is the producer's again when they are published.
template <std::uint32_t Each, unsigned Messages>
struct CopyTraffic : model::Scenario {
  struct Small {
    Link link;
    std::uint32_t number = 0;
    char rest[copied_whole - sizeof(Link) - sizeof(std::uint32_t)] = {};
  };
  static_assert(sizeof(Small) == copied_whole);
  CopyTraffic() : memory(::operator new(InboxMemory<Messages>::bytes(1, 2), std::align_val_t{64})) {
    parts = InboxMemory<Messages>::make(memory.get(), 1, 2);
    inbox = std::make_unique<Inbox<Messages>>(parts);
    lane = std::make_unique<Lane<Messages>>(parts, 0);
    ranks.emplace_back([this] { produce(); });
    ranks.emplace_back([this] { consume(); });
    after = [this] { check(inbox->take(Takes{*this}) == 0, "a message twice"); };
  }
  void produce() {
    for (std::uint32_t i = 0; i < Each; ++i) {
      Small& small = smalls[i];
      small.number = i;
      note_write(&small.number, sizeof small.number);
      i % 3 == 1 ? lane->push(&small.link) : lane->push_copy(&small.link);
      lane->flush();
      lane->take_copied([](Link* link) {
        auto* const block = reinterpret_cast<Small*>(link);
        block->number = 99;
        note_write(&block->number, sizeof block->number);
      });
    }
  }
  struct Takes {
    CopyTraffic& all;
    void operator()(Link* link) const {
      const Small& small = *reinterpret_cast<Small*>(link);
      note_read(&small.number, sizeof small.number);
      check(small.number == all.next++, "the order");
    }
    void operator()(std::uint32_t, const char* copy) const {
      Small small;
      std::memcpy(reinterpret_cast<char*>(&small) + copied_from, copy, copied_bytes);
      check(small.number == all.next++, "the order, of a copy");
    }
  };
  void consume() {
    while (next < Each)
      if (inbox->take(Takes{*this}) == 0) pause_cpu();
  }
  struct Free {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<void, Free> memory;
  InboxMemory<Messages> parts;
  std::array<Small, Each> smalls{};
  std::unique_ptr<Lane<Messages>> lane;
  std::unique_ptr<Inbox<Messages>> inbox;
  std::uint32_t next = 0;
};
using Copied = CopyTraffic<5, 1>;       // lines of either kind, the list, the ring again
using CopiedParts = CopyTraffic<4, 2>;  // a message in a line that is published in parts goes as it is
using Full = Traffic<1, 5, 1>;          // ring, list, ring again
using Two = Traffic<2, 3, 1>;           // one list for both
using Parts = Traffic<1, 5, 2>;         // each line published twice
using Lines = Traffic<1, 5, 2, false, false>;
using Bits = Traffic<2, 2, 1, true>;

TEST(Model, InboxHolds) {
  expect_holds<Full>(3);
  expect_holds<Two>(2);
  expect_holds<Parts>(3);
  expect_holds<Lines>(3);
  expect_holds<Bits>(2);
  expect_holds<Growth>(2);
  expect_holds<Copied>(2);
  expect_holds<CopiedParts>(3);
}
TEST(Model, InboxMutantsAreCaught) {
  expect_caught<Full>({{"::publish(", Operation::store, Change::relax},
                       {"::publish(", Operation::store, Change::drop},
                       {"::take_ring(", Operation::load, Change::relax},
                       {"::give_back(", Operation::store, Change::relax},
                       {"::spill(", Operation::compare, Change::relax},
                       {"::take_list(", Operation::rmw, Change::relax}});
  expect_caught<Two>(
      {{"::spill(", Operation::compare, Change::tear}, {"::take_list(", Operation::rmw, Change::tear}});
  expect_caught<Growth>({{"::larger_ring(", Operation::store, Change::relax},
                         {"::next_ring(", Operation::load, Change::relax},
                         {"::larger_ring(", Operation::load, Change::relax}});
  expect_caught<Copied>({{"::publish(", Operation::store, Change::relax},
                         {"::publish(", Operation::store, Change::drop},
                         {"::take_ring(", Operation::load, Change::relax},
                         {"::give_back(", Operation::store, Change::relax}});
  expect_caught<Bits>({{"::publish(", Operation::rmw, Change::relax},
                       {"::publish(", Operation::rmw, Change::tear},
                       {"::take_ready(", Operation::rmw, Change::relax},
                       {"::take_ready(", Operation::rmw, Change::tear}});
}

}  // namespace
}  // namespace nigh::message
