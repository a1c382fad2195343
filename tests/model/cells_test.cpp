// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Small collectives in all their interleavings: barriers, operands in the line of a word and in the area,
// cells used again under flow control, the tree of levels, and calls that were only started. Each scenario
// must hold as the code is, and must fail for every mutant listed with it.
#include "expect.hpp"
#include "group_ranks.hpp"

namespace nigh::message {
namespace {

using model::Change;
using model::check;
using model::expect_caught;
using model::expect_holds;
using model::Operation;

// The words that each wrote before a barrier are read by all after it; two words take turns, since the next
// may be written at once.
template <int count, int rounds>
struct Barriers : GroupRanks {
  explicit Barriers(const plan::Levels& levels = {}) : GroupRanks(count, levels) {}
  void body(int rank) override {
    for (int round = 0; round < rounds; ++round) {
      word(rank, round).write(value(rank, round));
      run_well(rank, {});
      for (int peer = 0; peer < count; ++peer)
        word(peer, round).expect(value(peer, round), "all had come to the barrier");
    }
  }
  static std::uint64_t value(int rank, int round) { return static_cast<std::uint64_t>(round * 8 + rank); }
  Words<1>& word(int rank, int round) { return words[at(rank)][at(round % 2)]; }
  std::array<std::array<Words<1>, 2>, count> words;
};

// The root runs ahead until its cells are in use.
template <std::size_t length>
struct RunningAhead : GroupRanks {
  RunningAhead() : GroupRanks(2) {}
  void body(int rank) override {
    Words<length> words;
    for (std::uint64_t call = 1; call <= 7; ++call) {
      if (rank == 0) words.write(call * 100);
      run_well(rank, {.kind = Kind::bcast, .receive = words.word.data(), .bytes = sizeof words.word});
      words.expect(call * 100, "what the root sent");
    }
  }
};

// The others run ahead of the root of a reduction.
struct Reducing : GroupRanks {
  Reducing() : GroupRanks(2) {}
  void body(int rank) override {
    Words<1> mine, sum;
    for (std::uint64_t call = 1; call <= 7; ++call) {
      mine.write(call * 100 + static_cast<std::uint64_t>(rank));
      run_well(rank, {.kind = Kind::reduce,
                      .send = mine.word.data(),
                      .receive = sum.word.data(),
                      .bytes = 8,
                      .combine = &sum_of_words});
      if (rank == 0) sum.expect(call * 200 + 1, "the sum");
    }
  }
};

template <int count, std::size_t length, int calls>
struct Summing : GroupRanks {
  explicit Summing(const plan::Levels& levels = {}) : GroupRanks(count, levels) {}
  void body(int rank) override {
    Words<length> mine, sum;
    for (std::uint64_t call = 1; call <= calls; ++call) {
      mine.write(call * 100 + static_cast<std::uint64_t>(rank));
      run_well(rank, {.kind = Kind::allreduce,
                      .send = mine.word.data(),
                      .receive = sum.word.data(),
                      .bytes = sizeof mine.word,
                      .combine = &sum_of_words});
      sum.expect(call * 100 * count + count * (count - 1) / 2, "the sum", count);
    }
  }
};

// One member blocks in calls that the other has only started, and ends in another order.
struct Started : GroupRanks {
  Started() : GroupRanks(2) {}
  static constexpr int calls = 6;
  void body(int rank) override {
    std::array<Words<1>, calls> words;
    std::array<Group::Pending*, calls> pending{};
    for (int call = 0; call < calls; ++call) {
      if (rank == call % 2) words[at(call)].write(at(call) * 100);
      const Call bcast = {
          .kind = Kind::bcast, .receive = words[at(call)].word.data(), .bytes = 8, .root = call % 2};
      if (rank == 0)
        pending[at(call)] = groups[0]->start(bcast);
      else
        run_well(rank, bcast);
    }
    for (int call = calls; rank == 0 && call-- > 0;) {
      Outcome outcome;
      while ((outcome = groups[0]->advance(pending[at(call)])) == Outcome::pending) pause_cpu();
      check(outcome == Outcome::ok, "a started call ends well");
    }
    for (int call = 0; call < calls; ++call) words[at(call)].expect(at(call) * 100, "what was sent");
  }
};

const plan::Levels two_and_one = {{{{{0, 1}, {2}}}}};
struct TreeBarriers : Barriers<3, 2> {
  TreeBarriers() : Barriers(two_and_one) {}
};
struct TreeSumming : Summing<3, 1, 2> {
  TreeSumming() : Summing(two_and_one) {}
};

using Two = Barriers<2, 6>;
using Three = Barriers<3, 2>;

TEST(ModelCells, BarriersHold) {
  expect_holds<Two>(2);
  expect_holds<Three>(1, 1);
}
TEST(ModelCells, BarrierMutantsAreCaught) {
  expect_caught<Two>({{"::post(", Operation::store, Change::relax},
                      {"::post(", Operation::store, Change::drop},
                      {"::posted(", Operation::load, Change::relax},
                      {"::posted(", Operation::load, Change::assume},
                      {"::posted(", Operation::load, Change::ahead}});
}

TEST(ModelCells, FlowControlHolds) {
  expect_holds<RunningAhead<1>>(2);
  expect_holds<RunningAhead<8>>(2);  // in the area
  expect_holds<Reducing>(2);
}
TEST(ModelCells, FlowControlMutantsAreCaught) {
  expect_caught<RunningAhead<1>>({{"::post(", Operation::store, Change::relax},
                                  {"::posted(", Operation::load, Change::relax},
                                  {"::is_done(", Operation::load, Change::relax},
                                  {"::is_done(", Operation::load, Change::assume},
                                  {"::is_done(", Operation::load, Change::ahead, cell_batch},
                                  {"::leave(", Operation::store, Change::relax},
                                  {"::leave(", Operation::store, Change::drop}});
}

TEST(ModelCells, SumsHold) {
  expect_holds<Summing<2, 1, 5>>(2);
  expect_holds<Summing<2, 8, 3>>(2);
  expect_holds<Summing<3, 1, 2>>(1, 0);
}

TEST(ModelCells, TreesHold) {
  expect_holds<TreeBarriers>(1, 0);
  expect_holds<TreeSumming>(1, 0);
}
TEST(ModelCells, TreeMutantsAreCaught) {
  expect_caught<TreeSumming>({{"::reach(", Operation::store, Change::relax},
                              {"::reach(", Operation::store, Change::drop},
                              {"::reached(", Operation::load, Change::relax},
                              {"::reached(", Operation::load, Change::assume}},
                             1);
}

TEST(ModelCells, StartedCallsHold) { expect_holds<Started>(2); }
TEST(ModelCells, StartedCallMutantsAreCaught) {
  expect_caught<Started>(
      {{"::posted(", Operation::load, Change::assume}, {"::leave(", Operation::store, Change::drop}});
}

}  // namespace
}  // namespace nigh::message
