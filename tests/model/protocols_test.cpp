// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The protocols of the room message in all their interleavings: the ring of lines, the life of an offer,
// chunks copied by both sides, probes against recycling and against receives, and the doorbell. Each scenario
// must hold as the code is, and must fail for every mutant listed with it: one weakened order, torn operation
// or lost store each.
#include <gtest/gtest.h>

#include <array>
#include <new>

#include "expect.hpp"
#include "message/channel.hpp"
#include "message/early_list.hpp"
#include "message/offer.hpp"
#include "message/offer_map.hpp"
#include "message/wait.hpp"
#include "space/thread_space.hpp"

namespace nigh::message {
namespace {

using model::Change;
using model::check;
using model::expect_caught;
using model::expect_holds;
using model::Operation;

constexpr Patience only_yields = {.spins = 1, .yields = 1'000'000'000};

// Ranks of a thread space with offers each, made before the fibers start.
struct Ranks : model::Scenario {
  explicit Ranks(int count) : common(count) {
    for (int rank = 0; rank < count; ++rank) {
      spaces.push_back(std::make_unique<space::ThreadSpace>(common, rank));
      waiters.push_back(std::make_unique<Waiter>(*spaces.back(), count));
      waiters.back()->set_patience(only_yields);
      offers.push_back(std::make_unique<Offers>(*spaces.back(), *waiters.back()));
      offers.back()->set_tuning({.halves_from = 16, .chunk = 8, .kept_bytes = 0});
    }
  }
  space::ThreadSpace::Common common;
  std::vector<std::unique_ptr<space::ThreadSpace>> spaces;
  std::vector<std::unique_ptr<Waiter>> waiters;
  std::vector<std::unique_ptr<Offers>> offers;
};

using Text = std::array<char, 24>;
constexpr Text first_text = {"the first text of all.."}, second_text = {"and a later one, of 24."};

// The bytes of a program: its own, which it may do with as it likes.
void write_text(Text& text, const Text& value) {
  text = value;
  note_write(text.data(), text.size());
}
void expect_text(const Text& text, const Text& value, const char* what) {
  note_read(text.data(), text.size());
  check(text == value, what);
}

// The sender stages, overwrites its buffer and sends another; the receiver may come at any moment.
struct Staging : Ranks {
  Staging() : Ranks(2) {
    offers[1]->set_tuning({.halves_from = 1000});
    write_text(buffer, first_text);
    offer = offers[0]->open(buffer.data(), nullptr, sizeof buffer, {.to = 1, .tag = 1});
    name = Offers::name_of(offer);
    ranks = {[this] { send(); }, [this] { receive(); }};
    after = [this] { check(offers[0]->validate() && offers[1]->validate(), "validate"); };
  }
  void send() {
    offers[0]->stage(offer);
    while (!Offers::released(offer)) pause_cpu();
    write_text(buffer, second_text);
    offers[0]->close(offer);
    Offer* next = offers[0]->open(buffer.data(), nullptr, sizeof buffer, {.to = 1, .tag = 2});
    second.store(Offers::name_of(next), std::memory_order_relaxed);  // names may come by any way
  }
  void receive() {
    Offer* it = offers[1]->find(0, name);
    check(it != nullptr, "the offer stands until it is taken");
    offers[1]->take(it, got.data(), nullptr, got.size());
    expect_text(got, first_text, "the first message");
    check(offers[1]->find(0, name) == nullptr, "an offer is taken once");
    while (second.load(std::memory_order_relaxed) == 0) pause_cpu();
    while (!(it = offers[1]->find(0, second.load(std::memory_order_relaxed)))) pause_cpu();
    offers[1]->take(it, got.data(), nullptr, got.size());
    expect_text(got, second_text, "the second message");
  }
  Text buffer{}, got{};
  Offer* offer;
  std::uint64_t name;
  atomic<std::uint64_t> second = 0;
};

// Both copy chunks; at the end each does with its own buffer as it likes.
struct Halves : Ranks {
  Halves() : Ranks(2) {
    write_text(buffer, first_text);
    offer = offers[0]->open(buffer.data(), nullptr, sizeof buffer, {.to = 1});
    ranks = {[this] {
               while (!Offers::released(offer))
                 if (!offers[0]->help(offer)) pause_cpu();
               write_text(buffer, second_text);
               offers[0]->close(offer);
             },
             [this] {
               offers[1]->take(offer, got.data(), nullptr, got.size());
               expect_text(got, first_text, "all chunks");
               write_text(got, second_text);
             }};
  }
  Text buffer{}, got{};
  Offer* offer;
};

// Rank 2 probes while the slot goes from an offer to rank 1 to one for rank 2.
struct Probing : Ranks {
  Probing() : Ranks(3) {
    write_text(buffer, first_text);
    offer = offers[0]->open(buffer.data(), nullptr, 8, {.to = 1, .tag = 1, .context = 1});
    ranks = {[this] {
               while (!Offers::released(offer)) pause_cpu();
               offers[0]->close(offer);
               offers[0]->open(buffer.data(), nullptr, sizeof buffer, {.to = 2, .tag = 1, .context = 1});
             },
             [this] { offers[1]->take(offer, got.data(), nullptr, 8); },
             [this] {
               Offer* it = offers[2]->oldest(0, 1, 1);
               if (!it) return;
               note_message_read(*it);
               check(Offers::bytes_of(it) == sizeof buffer, "a probe saw another rank's offer");
             }};
  }
  Text buffer{}, got{};
  Offer* offer;
};

// A library's queue, its own lock around each look; who receives takes its first.
struct Queued {
  int tag = 0, number = 0;
  Queued* next = nullptr;
};
struct LibraryQueue {
  Queued messages[3] = {{.tag = 1, .number = 0}, {.tag = 2, .number = 1}, {.tag = 1, .number = 2}};
  int first = 0;
  atomic<std::uint32_t> lock = 0;
  template <class Look>
  Queued* look(Look&& look) {
    const EarlyGate own(&lock);
    return look();
  }
  Queued* pop() {
    return look([&] { return first < 3 ? &messages[first++] : nullptr; });
  }
  bool has(int tag) {
    return look([&]() -> Queued* {
             for (int i = first; i < 3; ++i)
               if (messages[i].tag == tag) return &messages[i];
             return nullptr;
           }) != nullptr;
  }
};

// One thread probes for the second message and reads it, another receives whatever comes: in its order, if
// both go through the gate.
template <bool gated>
struct EarlyOrder : model::Scenario {
  EarlyOrder() {
    ranks = {[this] { probe(); }, [this] { receive(); }};
  }
  void probe() {
    const EarlyGate gate(&early.gate);
    if (early.find([](const Queued& one) { return one.tag == 2; }) || !library.has(2)) return;
    for (Queued* one = nullptr; !one || one->tag != 2;) {
      one = library.pop();
      check(one != nullptr, "what a probe has seen is there");
      early.append(one);
    }
  }
  void receive() {
    for (int expected = 0; expected < 3; ++expected) {
      const EarlyGate gate(gated ? &early.gate : nullptr);
      Queued* one = early.take([](const Queued&) { return true; });
      if (!one) one = library.pop();
      check(one && one->number == expected, "a message overtakes another beside a probe");
    }
  }
  EarlyList<Queued> early;
  LibraryQueue library;
};

// A synchronous send whose descriptor is read by a probe ends no earlier than a receive asks for the message.
struct EarlySynchronous : Ranks {
  EarlySynchronous() : Ranks(2) {
    write_text(buffer, first_text);
    offer = offers[0]->open(buffer.data(), nullptr, sizeof buffer, {.to = 1});
    ranks = {[this] {
               while (completed.load(std::memory_order_acquire) == 0) pause_cpu();
               while (only_probed(reading, offer)) pause_cpu();
               check(asked.load(std::memory_order_relaxed) == 1, "a probe has ended a synchronous send");
             },
             [this] {
               {
                 const EarlyReading mine(reading);
                 completed.store(1, std::memory_order_release);  // the library receives the descriptor
                 Offers::reserve(offer);
               }
               asked.store(1, std::memory_order_relaxed);
               offers[1]->take(offer, got.data(), nullptr, got.size());
               expect_text(got, first_text, "the message");
             }};
  }
  Text buffer{}, got{};
  Offer* offer;
  atomic<std::uint32_t> reading = 0, completed = 0, asked = 0;
};

// Messages of one and several lines through a ring of eight, with payload that looks like flags to come.
struct RingTraffic : model::Scenario {
  static constexpr std::uint32_t lines = 8;
  static constexpr std::size_t sizes[] = {48 + 60, 48 + 100, 48 + 128, 4, 48, 8};
  RingTraffic() {
    auto* top = new (memory) RingTop;
    for (std::uint32_t i = 0; i < lines; ++i) new (reinterpret_cast<Line*>(top + 1) + i) Line{};
    writer = RingWriter(top, lines, raw);
    reader = RingReader(top, lines);
    ranks = {[this] { write(); }, [this] { read(); }};
  }
  // The word in the place of line 1's flag must be the flag that is due there in the next lap.
  static void fill(std::array<std::uint32_t, 64>& words) { words.fill(flag_of(lines + 1)); }
  void write() {
    std::array<std::uint32_t, 64> words{};
    fill(words);
    std::int32_t tag = 0;
    for (const std::size_t bytes : sizes) {
      while (!writer.put({.bytes = static_cast<std::uint32_t>(bytes), .tag = tag}, words.data(), nullptr))
        pause_cpu();
      ++tag;
    }
  }
  void read() {
    std::array<std::uint32_t, 64> expected{};
    fill(expected);
    std::int32_t tag = 0;
    for (const std::size_t bytes : sizes) {
      Head head;
      while (!reader.look(head)) pause_cpu();
      check(head.tag == tag++ && head.bytes == bytes, "the messages in their order");
      std::array<std::uint32_t, 64> words{};
      reader.read(words.data(), nullptr, bytes);
      check(std::memcmp(words.data(), expected.data(), bytes) == 0, "the payload");
      reader.pass(head);
    }
  }
  alignas(64) char memory[sizeof(RingTop) + lines * sizeof(Line)] = {};
  unsigned char raw[1] = {};
  RingWriter writer;
  RingReader reader;
};

// A rank sleeps on its doorbell until another has stored something.
struct Bell : Ranks {
  Bell() : Ranks(2) {
    waiters[1]->ring(0);  // looks the doorbell up
    waiters[0]->set_patience({.spins = 0, .yields = 0, .sleep_ns = 1000});
    ranks = {[this] {
               const auto ready = [this] { return flag.load(std::memory_order_acquire) != 0; };
               check(waiters[0]->until(ready, 1) == Waited::ready, "woken in the end");
               expect_text(text, first_text, "what was stored before the ring");
             },
             [this] {
               write_text(text, first_text);
               flag.store(1, std::memory_order_release);
               waiters[1]->ring(0);
             }};
  }
  atomic<std::uint32_t> flag = 0;
  Text text{};
};

TEST(Model, StagingHolds) { expect_holds<Staging>(2); }
TEST(Model, StagingMutantsAreCaught) {
  expect_caught<Staging>({{"move_on", Operation::compare, Change::tear},
                          {"move_on", Operation::compare, Change::relax},
                          {"Offers::take(", Operation::store, Change::relax},
                          {"Offers::released", Operation::load, Change::relax},
                          {"Offers::publish", Operation::store, Change::relax},
                          {"Offers::publish", Operation::store, Change::pin_generation}});
}

TEST(Model, HalvesHold) { expect_holds<Halves>(2); }
TEST(Model, HalvesMutantsAreCaught) {
  expect_caught<Halves>({{"claim_front", Operation::rmw, Change::tear},
                         {"claim_back", Operation::rmw, Change::tear},
                         {"Offers::take_halves", Operation::store, Change::relax},
                         {"Offers::help", Operation::load, Change::relax},
                         {"Offers::help", Operation::rmw, Change::relax},
                         {"Offers::take_halves", Operation::load, Change::relax}});
}

TEST(Model, EarlyOrderHolds) { expect_holds<EarlyOrder<true>>(3); }
TEST(Model, EarlyOrderNeedsTheGate) {
  const std::string failure = model::explore<EarlyOrder<false>>({}, 2, 2, 200'000).failure;
  EXPECT_NE(failure.find("overtakes"), std::string::npos) << failure;
}

TEST(Model, EarlySynchronousHolds) { expect_holds<EarlySynchronous>(2); }
TEST(Model, EarlySynchronousMutantsAreCaught) {
  expect_caught<EarlySynchronous>({{"EarlyReading::~EarlyReading", Operation::rmw, Change::relax},
                                   {"only_probed", Operation::load, Change::relax},
                                   {"Offers::reserve", Operation::store, Change::drop}});
}

TEST(Model, ProbingHolds) { expect_holds<Probing>(1); }
TEST(Model, ProbingMutantsAreCaught) {
  expect_caught<Probing>({{"Offers::fill", Operation::store, Change::relax}});
}

TEST(Model, RingHolds) { expect_holds<RingTraffic>(2); }
TEST(Model, RingMutantsAreCaught) {
  expect_caught<RingTraffic>({{"RingWriter::put", Operation::store, Change::relax},
                              {"RingReader::look", Operation::load, Change::relax},
                              {"RingReader::pass", Operation::store, Change::relax},
                              {"RingWriter::room", Operation::load, Change::relax},
                              {"RingReader::pass", Operation::store, Change::drop},
                              {"RingWriter::mark", Operation::store, Change::drop}});
}

TEST(Model, BellHolds) { expect_holds<Bell>(2); }
TEST(Model, BellMutantsAreCaught) {
  expect_caught<Bell>({{"Waiter::tired", Operation::sleep, Change::forget_limit}});
}

}  // namespace
}  // namespace nigh::message
