// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over levels: right for any nesting (2 sockets of 3 nodes of 2 ranks, lopsided and round-robin
// ones, 20 members without any), and a large operand crosses a border once for each domain, counted. Then the
// reproducible mode, and what becomes of a call when a member dies or memory ends.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>

#include "message/collective_tree.hpp"
#include "message/collective_trial.hpp"

namespace nigh::message::testing {
namespace {

using Groups = std::vector<std::vector<int>>;

plan::Levels by_width(int ranks, std::initializer_list<int> widths) {
  plan::Levels levels;
  for (const int width : widths) {
    Groups groups;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank % width == 0) groups.emplace_back();
      groups.back().push_back(rank);
    }
    levels.levels.push_back({groups});
  }
  return levels;
}

const plan::Levels two_three_two = by_width(12, {2, 6});
const plan::Levels lopsided = {{{Groups{{0}, {1, 2, 3, 4}, {5, 6}}}, {Groups{{0, 1, 2, 3, 4}, {5, 6}}}}};
const plan::Levels round_robin = {{{Groups{{0, 3}, {1, 4}, {2, 5}}}}};

void right_for(int ranks, const plan::Levels& levels) {
  run_job(ranks, levels, [&](Rank& self) {
    std::uint64_t seed = 9;
    for (const std::size_t bytes : {0, 8, 48, 600, 1024, 5000, 40000, 300000})
      for (const Kind kind : {Kind::barrier, Kind::bcast, Kind::reduce, Kind::allreduce})
        for (unsigned form = 0; form < 8; ++form) {
          ++seed;
          const Trial trial{.seed = seed,
                            .kind = kind,
                            .ranks = ranks,
                            .root = static_cast<int>(seed * 7 % static_cast<unsigned>(ranks)),
                            .in_place = (form & 1) != 0,
                            .affine = (form & 2) != 0,
                            .bytes = bytes,
                            .hidden = form & 4 ? static_cast<unsigned>(seed * 2654435761u) : 0};
          Side side(trial, self.space, self.group.member());
          ASSERT_EQ(self.group.run(side.call()), Outcome::ok);
          EXPECT_EQ(side.check(), "");
        }
    EXPECT_TRUE(self.group.validate());
  });
}

TEST(collective_levels, nested_three_deep) { right_for(12, two_three_two); }
TEST(collective_levels, lopsided_domains) { right_for(7, lopsided); }
TEST(collective_levels, domains_that_are_no_ranges) { right_for(6, round_robin); }
TEST(collective_levels, many_members_without_levels) { right_for(20, {}); }
TEST(collective_levels, levels_that_do_not_nest_are_ignored) {
  right_for(4, {{{Groups{{0, 1}, {2, 3}}}, {Groups{{0, 2}, {1, 3}}}}});
}

TEST(collective_levels, non_blocking_in_several_rounds) {
  run_job(7, lopsided, [&](Rank& self) {
    std::vector<std::unique_ptr<Side>> sides;
    std::vector<Group::Pending*> pending;
    for (unsigned call = 0; call < 8; ++call) {
      const Kind kinds[] = {Kind::allreduce, Kind::bcast, Kind::reduce};
      const Trial trial{.seed = call,
                        .kind = kinds[call % 3],
                        .ranks = 7,
                        .root = static_cast<int>(call % 7),
                        .bytes = call < 2 ? (std::size_t{4} << 20) + 80 : 20000,
                        .hidden = call % 2 ? ~0u : 0};
      sides.push_back(std::make_unique<Side>(trial, self.space, self.group.member()));
      pending.push_back(self.group.start(sides.back()->call()));
    }
    for (std::size_t call = 0; call < 8; ++call) {
      Outcome outcome;
      while ((outcome = self.group.advance(pending[call])) == Outcome::pending) std::this_thread::yield();
      EXPECT_EQ(outcome, Outcome::ok);
      EXPECT_EQ(sides[call]->check(), "");
    }
  });
}

// Bytes over each border, of all members together.
std::vector<std::uint64_t> crossings(int ranks, const plan::Levels& levels, const Call& pattern) {
  std::vector<std::uint64_t> sum(levels.levels.size());
  std::mutex mutex;
  run_job(ranks, levels, [&](Rank& self) {
    std::vector<std::uint32_t> send(pattern.bytes / 4, 1), receive(pattern.bytes / 4);
    Call call = pattern;
    call.send = send.data();
    call.receive = receive.data();
    ASSERT_EQ(self.group.run(call), Outcome::ok);
    std::lock_guard lock(mutex);
    for (std::size_t level = 0; level < sum.size(); ++level) sum[level] += self.group.counts().crossed[level];
  });
  return sum;
}

TEST(collective_levels, a_border_is_crossed_once_for_each_domain) {
  const std::size_t bytes = 384 << 10;
  const Combine* sum = find_combine(Op::sum, Element::u32);
  // Level 0 has 6 domains, level 1 has 2: a bcast enters each but the root's once.
  const auto bcast = crossings(12, two_three_two, {.kind = Kind::bcast, .bytes = bytes, .root = 3});
  EXPECT_EQ(bcast[0], 5 * bytes);
  EXPECT_EQ(bcast[1], 1 * bytes);
  // A reduce leaves each but one owner's once, and the result goes to the root: of its pieces, those that
  // were not made in the root's domain.
  const auto reduce =
      crossings(12, two_three_two, {.kind = Kind::reduce, .bytes = bytes, .root = 3, .combine = sum});
  EXPECT_LE(reduce[0], 6 * bytes);
  EXPECT_LE(reduce[1], 3 * bytes / 2);
  // An allreduce goes up and comes down.
  const auto allreduce =
      crossings(12, two_three_two, {.kind = Kind::allreduce, .bytes = bytes, .combine = sum});
  EXPECT_EQ(allreduce[0], 10 * bytes);
  EXPECT_EQ(allreduce[1], 2 * bytes);
}

TEST(collective_levels, owners_are_evenly_loaded) {
  const Tree tree(two_three_two, 12);
  for (int level = 0; level <= tree.top(); ++level) {
    std::vector<int> pieces(12);
    for (int piece = 0; piece < 24; ++piece) {
      for (int member = 0; member < 12; ++member)
        if (tree.owner(level, tree.domain(level, member), piece) == member)
          ++pieces[static_cast<std::size_t>(member)];
    }
    const int fair = 24 / static_cast<int>(tree.members(level, 0).size());
    for (const int count : pieces) EXPECT_EQ(count, fair) << "level " << level;
  }
}

// --- reproducible mode ---

TEST(collective_reproducible, any_permutation_and_placement_gives_the_same_bits) {
  const Element elements[] = {Element::f32, Element::f64, Element::f80,
                              Element::c32, Element::c64, Element::c80};
  for (const int ranks : {2, 3, 5, 12}) {
    for (const Op op : {Op::sum, Op::prod, Op::min, Op::max})
      for (const Element element : elements) {
        const Combine* combine = find_combine(op, element);
        if (!combine) continue;
        const std::size_t size = combine->element_bytes, count = 700, bytes = size * count;
        std::vector<unsigned char> first;
        for (unsigned round = 0; round < 4; ++round) {
          std::vector<int> holder(static_cast<std::size_t>(ranks));
          std::iota(holder.begin(), holder.end(), 0);
          std::mt19937 order(round);
          std::shuffle(holder.begin(), holder.end(), order);
          std::vector<unsigned char> result(bytes);
          run_job(ranks, round % 2 && ranks == 12 ? two_three_two : plan::Levels{}, [&](Rank& self) {
            self.group.set_reproducible(true);
            // Values of very different size and both signs, so that any other order rounds differently.
            std::mt19937_64 random(
                static_cast<unsigned>(holder[static_cast<std::size_t>(self.group.member())]));
            std::vector<unsigned char> send(bytes), receive(bytes);
            auto scalars = [&](auto zero) {
              using T = decltype(zero);
              for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
                T value = static_cast<T>(static_cast<double>(random() % 2001) - 1000) *
                          static_cast<T>(random() % 3 ? 1.0 : 1e10 / 3);
                if (random() % 50 == 0) value = random() % 2 ? T(-0.0) : T(0.0);
                std::memcpy(send.data() + at, &value, sizeof(T) == 16 ? 10 : sizeof(T));
              }
            };
            if (element == Element::f32 || element == Element::c32)
              scalars(0.0f);
            else if (element == Element::f64 || element == Element::c64)
              scalars(0.0);
            else
              scalars(0.0L);
            ASSERT_EQ(self.group.run({.kind = Kind::allreduce,
                                      .send = send.data(),
                                      .receive = receive.data(),
                                      .bytes = bytes,
                                      .combine = combine}),
                      Outcome::ok);
            if (size % sizeof(long double) == 0 && (element == Element::f80 || element == Element::c80))
              for (std::size_t at = 0; at < bytes; at += 16)
                std::memset(receive.data() + at + 10, 0, 6);  // padding
            if (self.group.member() == 0) result = receive;
          });
          if (round == 0) first = result;
          EXPECT_EQ(result, first) << "op " << static_cast<int>(op) << " element "
                                   << static_cast<int>(element);
        }
      }
  }
}

TEST(collective_reproducible, the_plain_mode_does_depend_on_the_order) {  // else the test above shows nothing
  float results[2];
  for (int round = 0; round < 2; ++round)
    run_job(3, {}, [&](Rank& self) {
      const float values[2][3] = {{1e10f, -1e10f, 1.0f}, {1e10f, 1.0f, -1e10f}};
      float receive = 0;
      self.group.run({.kind = Kind::allreduce,
                      .send = &values[round][self.group.member()],
                      .receive = &receive,
                      .bytes = 4,
                      .combine = find_combine(Op::sum, Element::f32)});
      if (self.group.member() == 0) results[round] = receive;
    });
  EXPECT_NE(results[0], results[1]);
}

// --- faults ---

// Nobody's operands go before all have ended: who leaves a broken call may still be read by who has not
// noticed yet. Between processes that is memory which stays mapped.
class Together {
 public:
  explicit Together(std::latch& ended) : ended_(ended) {}
  ~Together() { ended_.arrive_and_wait(); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  std::latch& ended_;
};

// Member 1 dies before its call number `calls`; all others must end, and soon.
void death(Kind kind, std::size_t bytes, int calls, bool blocking, const plan::Levels& levels, int ranks) {
  std::latch ended(ranks);
  run_job(ranks, levels, [&](Rank& self) {
    const auto began = std::chrono::steady_clock::now();
    std::vector<unsigned char> send(bytes * static_cast<std::size_t>(ranks)), receive(send.size());
    const Together together(ended);
    const Call call = {.kind = kind,
                       .send = send.data(),
                       .receive = receive.data(),
                       .bytes = bytes,
                       .root = 1,
                       .combine = find_combine(Op::sum, Element::u32)};
    for (int number = 0;; ++number) {
      if (self.group.member() == 1 && number == calls) {
        self.space.die();
        return;
      }
      Outcome outcome = Outcome::pending;
      if (blocking) {
        outcome = self.group.run(call);
      } else {
        Group::Pending* pending = self.group.start(call);
        while ((outcome = self.group.advance(pending)) == Outcome::pending) std::this_thread::yield();
      }
      if (outcome == Outcome::ok) {
        // A root or a writer of small operands may go on until its cells are used up, no further.
        ASSERT_LT(number, calls + 40);
        continue;
      }
      EXPECT_EQ(outcome, Outcome::peer_dead);
      EXPECT_GE(number, calls);
      EXPECT_EQ(self.group.run(call), Outcome::peer_dead);  // and stays so
      break;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  });
}

TEST(collective_faults, a_dead_member_ends_every_call) {
  for (int kind = 0; kind < 11; ++kind)
    for (const std::size_t bytes : {8, 20000}) death(static_cast<Kind>(kind), bytes, 3, kind % 2 == 0, {}, 3);
  death(Kind::allreduce, 100000, 2, true, two_three_two, 12);
  death(Kind::bcast, 500000, 2, false, two_three_two, 12);
  death(Kind::barrier, 0, 5, true, two_three_two, 12);
}

// Large calls in which a member shows its operand and then is no more.
TEST(collective_faults, a_member_that_dies_within_a_call) {
  for (const Kind kind :
       {Kind::bcast, Kind::allreduce, Kind::alltoall, Kind::gather, Kind::reduce, Kind::scan})
    for (const bool hidden : {false, true}) {
      std::latch ended(3);
      run_job(3, {}, [&](Rank& self) {
        const Trial trial{.seed = 3,
                          .kind = kind,
                          .ranks = 3,
                          .root = 0,
                          .bytes = std::size_t{3} << 20,
                          .hidden = hidden ? ~0u : 0};
        Side side(trial, self.space, self.group.member());
        const Together together(ended);
        if (self.group.member() == 1) {
          self.group.start(side.call());
          self.space.die();
          return;
        }
        const Outcome outcome = self.group.run(side.call());
        if (outcome == Outcome::ok) { EXPECT_EQ(side.check(), ""); }
      });
    }
}

TEST(collective_faults, memory_that_ends_is_told_to_all) {
  run_job(2, {}, [&](Rank& self) {
    const Trial trial{.seed = 3, .kind = Kind::allreduce, .ranks = 2, .bytes = 1 << 20, .hidden = 3};
    Side side(trial, self.space, self.group.member());
    if (self.group.member() == 0) self.space.limit = self.space.allocated;
    const Outcome outcome = self.group.run(side.call());
    if (self.group.member() == 0) { EXPECT_EQ(outcome, Outcome::no_memory); }
    EXPECT_NE(outcome, Outcome::ok);
  });
}

}  // namespace
}  // namespace nigh::message::testing
