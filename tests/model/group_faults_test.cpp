// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Groups whose members die, leave, or run out of memory, at every moment and in all interleavings: nobody is
// left waiting, nobody touches what is gone, and what a call that went well has given is right. Waiting
// sleeps here, since only who sleeps asks whether his peer lives; the doorbell itself is another scenario's.
#include "expect.hpp"
#include "group_ranks.hpp"

namespace nigh::message {
namespace {

using model::Change;
using model::check;
using model::expect_caught;
using model::expect_holds;
using model::Operation;

struct Mortal : GroupRanks {
  explicit Mortal(int count, const plan::Levels& levels = {}) : GroupRanks(count, levels, sleeps) {
    calm = {"Waiter::"};
    mortal = count - 1;
    died = [this] {
      dead = true;
      spaces.back()->die();
    };
  }
  // False: the group has ended, as it may once a member is dead.
  bool goes_on(Outcome outcome) const {
    if (outcome == Outcome::ok) return true;
    check(outcome == Outcome::peer_dead && dead, "a call fails only when a member is dead");
    return false;
  }
  bool dead = false;
};

// A barrier lets nobody through before all have come, alive or not.
template <int rounds>
struct DyingAtBarriers : Mortal {
  explicit DyingAtBarriers(const plan::Levels& levels = {}) : Mortal(3, levels) {}
  void body(int rank) override {
    for (int round = 0; round < rounds; ++round) {
      words[at(rank)][at(round)].write(7);
      if (!goes_on(run(rank, {}))) break;
      for (int peer = 0; peer < 3; ++peer)
        words[at(peer)][at(round)].expect(7, "all had come to the barrier");
    }
  }
  std::array<std::array<Words<1>, rounds>, 3> words;
};
struct DyingInTrees : DyingAtBarriers<2> {
  DyingInTrees() : DyingAtBarriers(plan::Levels{{{{{0, 1}, {2}}}}}) {}
};

// Only member 1 ever waits for the dead one; it must tell member 0.
struct Telling : Mortal {
  Telling() : Mortal(3) {}
  void body(int rank) override {
    Words<1> mine, sum;
    mine.write(10 + at(rank));
    if (!goes_on(run(rank, {.kind = Kind::reduce,
                            .send = mine.word.data(),
                            .receive = sum.word.data(),
                            .bytes = 8,
                            .root = 1,
                            .combine = &sum_of_words})))
      return;
    if (!goes_on(run(rank, {.kind = Kind::bcast, .receive = sum.word.data(), .bytes = 8, .root = 1}))) return;
    sum.expect(33, "the sum of all");
  }
};

// The root is held by the cells of one that does not come any more.
struct DyingBehind : Mortal {
  DyingBehind() : Mortal(2) {}
  void body(int rank) override {
    Words<1> words;
    for (std::uint64_t call = 1; call <= 7; ++call) {
      if (rank == 0) words.write(call);
      if (!goes_on(run(rank, {.kind = Kind::bcast, .receive = words.word.data(), .bytes = 8}))) return;
      words.expect(call, "what the root sent");
    }
  }
};

// Each leaves at once after a call that the others may still be in, and later looks what can be released.
struct Leaving : GroupRanks {
  Leaving() : GroupRanks(3) {
    after = [this] {
      for (auto& space : spaces) {
        Group::make_cells(*space, 1);
        check(space->released == 1, "the cells are released in the end");
      }
    };
  }
  void body(int rank) override {
    Words<1> words;
    if (rank == 0) words.write(5);
    run_well(rank, {.kind = Kind::bcast, .receive = words.word.data(), .bytes = 8});
    words.expect(5, "what the root sent");
    groups[at(rank)].reset();
    Group::make_cells(*spaces[at(rank)], 1);
  }
};

// All have the new group or none, when one member is not able to make it.
template <bool all_able>
struct Splitting : GroupRanks {
  Splitting() : GroupRanks(2) {}
  ~Splitting() override { parts = {}; }
  void body(int rank) override {
    std::unique_ptr<Group>& part = parts[at(rank)];
    const Outcome outcome = groups[at(rank)]->split(0, -rank, all_able || rank == 0, part);
    check(outcome == (all_able ? Outcome::ok : Outcome::no_memory), "one answer for all");
    check((part != nullptr) == all_able, "all have it or none");
    if (part) check(part->member() == 1 - rank && part->run({}) == Outcome::ok, "the new group works");
    run_well(rank, {});  // and so does the old one
  }
  std::array<std::unique_ptr<Group>, 2> parts;
};

struct DyingInSplits : Mortal {
  DyingInSplits() : Mortal(3) {}
  ~DyingInSplits() override { parts = {}; }
  void body(int rank) override {
    std::unique_ptr<Group>& part = parts[at(rank)];
    const bool made = goes_on(groups[at(rank)]->split(0, 0, true, part));
    check((part != nullptr) == made, "a group for those who were told so");
    if (made) goes_on(part->run({}));
    part.reset();
  }
  std::array<std::unique_ptr<Group>, 3> parts;
};

TEST(ModelFaults, DeathHolds) {
  expect_holds<DyingAtBarriers<1>>(1, 0);
  expect_holds<DyingInTrees>(0, 1);
  expect_holds<DyingBehind>(1, 1);
}
TEST(ModelFaults, TellingHolds) { expect_holds<Telling>(1, 0); }
TEST(ModelFaults, TellingMutantsAreCaught) {
  expect_caught<Telling>({{"State::give_up", Operation::store, Change::drop},
                          {"State::failed", Operation::load, Change::blind},
                          {"State::failed", Operation::load, Change::assume}},
                         1, 1);
}

TEST(ModelFaults, LeavingHolds) { expect_holds<Leaving>(2, 1); }
TEST(ModelFaults, LeavingMutantsAreCaught) {
  expect_caught<Leaving>({{"::leave_peer", Operation::rmw, Change::drop},
                          {"::leave_peer", Operation::rmw, Change::tear},
                          {"::leave_peer", Operation::rmw, Change::relax},
                          {"Cells::left", Operation::load, Change::relax},
                          {"Cells::left", Operation::load, Change::ahead}},
                         1, 1);
}

TEST(ModelFaults, SplitsHold) {
  expect_holds<Splitting<true>>(2);
  expect_holds<Splitting<false>>(2);
  expect_holds<DyingInSplits>(0, 0);
}

}  // namespace
}  // namespace nigh::message
