// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Large collectives in all their interleavings: operands that are read, and results that are written, where
// they lie, and those that their rank must stage: chunks through a ring, parts through two halves, rounds.
// The sizes are those of NIGH_MODEL, so that a few hundred bytes use each stage again.
#include "expect.hpp"
#include "group_ranks.hpp"

namespace nigh::message {
namespace {

using model::Change;
using model::expect_caught;
using model::expect_holds;
using model::Operation;

// Afterwards each does with its buffer as it likes.
template <int count, bool hidden>
struct Spreading : GroupRanks {
  static constexpr std::size_t length = 32;  // four chunks, two of which fit into a ring
  explicit Spreading(const plan::Levels& levels = {}) : GroupRanks(count, levels) {
    if (hidden)
      for (int rank = 0; rank < count; ++rank) spaces[at(rank)]->hidden = words[at(rank)].word.data();
  }
  void body(int rank) override {
    Words<length>& mine = words[at(rank)];
    if (rank == 0) mine.write(100);
    run_well(rank, {.kind = Kind::bcast, .receive = mine.word.data(), .bytes = sizeof mine.word});
    mine.expect(100, "what the root sent");
    mine.write(900);
  }
  std::array<Words<length>, count> words;
};
struct Chain : Spreading<3, true> {
  Chain() : Spreading(plan::Levels{{{{{0}, {1, 2}}}}}) {}
};

// An allreduce in two rounds; the operand and the result of member 0 are private, or nobody's.
template <int count, bool hidden, std::size_t length>
struct Reducing : GroupRanks {
  Reducing() : GroupRanks(count) {
    if (hidden) spaces[0]->hidden = operands[0].word.data();
    if (hidden) spaces[1]->hidden = sums[1].word.data();
  }
  void body(int rank) override {
    operands[at(rank)].write(10 * at(rank));
    run_well(rank, {.kind = Kind::allreduce,
                    .send = operands[at(rank)].word.data(),
                    .receive = sums[at(rank)].word.data(),
                    .bytes = sizeof sums[0].word,
                    .combine = &sum_of_words});
    sums[at(rank)].expect(10 * count * (count - 1) / 2, "the sum", count);
    operands[at(rank)].write(900);
    sums[at(rank)].write(900);
  }
  std::array<Words<length>, count> operands, sums;
};

// Blocks of three parts through two halves; member 0 stages, or both do because the result comes to lie where
// the operand is.
template <bool in_place_too, bool hidden>
struct Exchanging : GroupRanks {
  static constexpr std::size_t length = 24;
  Exchanging() : GroupRanks(2) {
    if (hidden) spaces[0]->hidden = out[0][0].word.data();
  }
  void body(int rank) override {
    auto& mine = in_place_too ? in[at(rank)] : out[at(rank)];
    for (int to = 0; to < 2; ++to) mine[at(to)].write(value(rank, to));
    run_well(rank, {.kind = Kind::alltoall,
                    .send = in_place_too ? in_place : static_cast<const void*>(mine.data()),
                    .receive = in[at(rank)].data(),
                    .bytes = sizeof mine[0]});
    for (int from = 0; from < 2; ++from) in[at(rank)][at(from)].expect(value(from, rank), "what it sent me");
    for (auto& words : out[at(rank)]) words.write(900);
    for (auto& words : in[at(rank)]) words.write(900);
  }
  static std::uint64_t value(int from, int to) { return static_cast<std::uint64_t>(1000 * from + 100 * to); }
  std::array<std::array<Words<length>, 2>, 2> out, in;
};

// Members write into the root's buffer.
struct Gathering : GroupRanks {
  Gathering() : GroupRanks(2) {}
  void body(int rank) override {
    for (std::uint64_t call = 0; call < 2; ++call) {
      Words<16>& mine = out[at(rank)];
      mine.write(value(rank, call));
      run_well(rank, {.kind = Kind::gather,
                      .send = mine.word.data(),
                      .receive = rank == 0 ? in.data() : nullptr,
                      .bytes = sizeof mine.word});
      for (int from = 0; rank == 0 && from < 2; ++from)
        in[at(from)].expect(value(from, call), "what it sent me");
    }
  }
  static std::uint64_t value(int from, std::uint64_t call) {
    return 1000 * static_cast<std::uint64_t>(from) + 100 * call;
  }
  std::array<Words<16>, 2> out, in;
};

const std::vector<model::Mutant> mutants = {
    {"::post(", Operation::store, Change::relax},   {"::posted(", Operation::load, Change::relax},
    {"::reach(", Operation::store, Change::relax},  {"::reach(", Operation::store, Change::drop},
    {"::reached(", Operation::load, Change::relax}, {"::reached(", Operation::load, Change::assume}};
// A chunk, a part, a round too early.
const model::Mutant early = {"::reached(", Operation::load, Change::ahead};

TEST(ModelLarge, SpreadsHold) {
  expect_holds<Spreading<2, false>>(2);
  expect_holds<Spreading<2, true>>(2);
  expect_holds<Chain>(0, 0);
}
TEST(ModelLarge, SpreadMutantsAreCaught) {
  expect_caught<Spreading<2, true>>(mutants);
  expect_caught<Spreading<2, true>>({early});
}

TEST(ModelLarge, ReductionsHold) {
  expect_holds<Reducing<2, false, 40>>(2);
  expect_holds<Reducing<2, true, 40>>(2);
  expect_holds<Reducing<3, true, 10>>(1, 0);
}
TEST(ModelLarge, ReductionMutantsAreCaught) {
  expect_caught<Reducing<2, true, 40>>(mutants);
  expect_caught<Reducing<2, true, 40>>({early});
}

TEST(ModelLarge, ExchangesHold) {
  expect_holds<Exchanging<false, false>>(2);
  expect_holds<Exchanging<false, true>>(2);
  expect_holds<Exchanging<true, false>>(1);
  expect_holds<Gathering>(2);
}
TEST(ModelLarge, ExchangeMutantsAreCaught) {
  expect_caught<Exchanging<false, true>>(mutants);
  expect_caught<Exchanging<false, true>>({early});
  expect_caught<Exchanging<true, false>>({early});
}

}  // namespace
}  // namespace nigh::message
