// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Groups made out of groups: who is in them and in which order, and that all members have the new one or none
// when one of them runs out of memory, at whichever of its allocations that is.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "message/collective_trial.hpp"
#include "message/scarce_memory.hpp"

namespace nigh::message::testing {
namespace {

// The sum of all members' numbers in the parent.
int sum_over(Group& group, int mine) {
  int sum = 0;
  const Outcome outcome = group.run({.kind = Kind::allreduce,
                                     .send = &mine,
                                     .receive = &sum,
                                     .bytes = sizeof sum,
                                     .combine = find_combine(Op::sum, Element::i32)});
  return outcome == Outcome::ok ? sum : -1;
}

TEST(collective_split, colours_keys_and_those_who_stay_out) {
  run_job(6, {}, [](Rank& self) {
    const int me = self.group.member();
    std::unique_ptr<Group> part;
    // 0, 2, 4 backwards; 1, 3 forwards; 5 in none.
    const int colour = me == 5 ? -1 : me % 2;
    ASSERT_EQ(self.group.split(colour, colour == 0 ? -me : 7, true, part), Outcome::ok);
    ASSERT_EQ(part != nullptr, me != 5);
    if (!part) return;
    EXPECT_EQ(part->size(), colour == 0 ? 3 : 2);
    EXPECT_EQ(part->member(), colour == 0 ? 2 - me / 2 : me / 2);
    EXPECT_EQ(sum_over(*part, me), colour == 0 ? 6 : 4);
    std::unique_ptr<Group> again;
    ASSERT_EQ(part->split(0, 0, true, again), Outcome::ok);
    EXPECT_EQ(sum_over(*again, me), colour == 0 ? 6 : 4);
  });
}

// Until all have said so; false: not within ten seconds.
bool all_over(const std::atomic<int>& over, int all) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (over < all) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

// Member 1 of 3 has memory for `news_left` objects and `bytes_left` in the space. Returns whether it was
// refused any.
bool split_with(std::size_t news_left, std::size_t bytes_left, bool able) {
  std::atomic<int> over = 0, refused = 0;
  std::array<Outcome, 3> outcomes{};
  run_job(3, {}, [&](Rank& self) {
    const int me = self.group.member();
    std::unique_ptr<Group> part;
    if (me == 1) {
      most_news = news + news_left;
      self.space.limit = self.space.allocated + bytes_left;
    }
    Outcome outcome = Outcome::no_memory;
    try {
      outcome = self.group.split(0, 0, me != 1 || able, part);
    } catch (const std::bad_alloc&) {}
    if (me == 1) {
      most_news = self.space.limit = ~std::size_t{0};
      refused = outcome != Outcome::ok;
    }
    outcomes[static_cast<std::size_t>(me)] = outcome;
    EXPECT_EQ(part != nullptr, outcome == Outcome::ok);
    if (part) { EXPECT_EQ(sum_over(*part, me), 3); }
    ++over;
    if (me == 1 && !all_over(over, 3)) {
      ADD_FAILURE() << "peers wait for ever, with memory for " << news_left << " objects";
      self.space.die();
      return;
    }
    EXPECT_EQ(sum_over(self.group, me), 3) << "the parent goes on";
  });
  EXPECT_EQ(outcomes[0], outcomes[1]);
  EXPECT_EQ(outcomes[2], outcomes[1]);
  return refused != 0;
}

TEST(collective_split, without_memory_nobody_has_the_group_and_nobody_waits) {
  const std::size_t plenty = ~std::size_t{0} / 2;
  EXPECT_FALSE(split_with(plenty, plenty, true));
  EXPECT_TRUE(split_with(plenty, 0, true));
  EXPECT_TRUE(split_with(plenty, plenty, false));
#ifndef NIGH_SANITIZED
  std::size_t left = 0;
  while (left < 100 && split_with(left, plenty, true)) ++left;
  EXPECT_GT(left, 5u) << "each allocation was refused in its turn";
  EXPECT_LT(left, 100u);
#endif
}

// The memory of a refused group is given back.
TEST(collective_split, a_refused_group_leaves_nothing_behind) {
  run_job(2, {}, [](Rank& self) {
    std::unique_ptr<Group> part;
    const std::size_t before = self.space.allocs - self.space.releases;
    if (self.group.member() == 1) self.space.limit = self.space.allocated;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(self.group.split(0, 0, true, part), Outcome::no_memory);
    EXPECT_EQ(self.space.allocs - self.space.releases, before);
  });
}

}  // namespace
}  // namespace nigh::message::testing
