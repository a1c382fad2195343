// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Every kind of collective, at every size that takes another path, in place or not, shared or private,
// blocking or not, against a naive reference; then random traffic; then what must hold besides: bounded
// staging, more calls than cells, nothing left behind, no allocation on the way of small calls.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "message/collective_trial.hpp"
#include "message/scarce_memory.hpp"

namespace nigh::message::testing {
namespace {

void expect_right(const Side& side) {
  const std::string wrong = side.check();
  EXPECT_EQ(wrong, "");
}

void run_trial(Rank& self, const Trial& trial) {
  Side side(trial, self.space, self.group.member());
  ASSERT_EQ(self.group.run(side.call()), Outcome::ok);
  expect_right(side);
}

#ifdef NIGH_SANITIZED
// Only every fifth trial, another for each number of ranks; prime to all that is combined.
constexpr int every = 5;
#else
constexpr int every = 1;
#endif

TEST(collective, every_kind_size_and_form) {
  const std::size_t sizes[] = {0, 8, 40, 48, 56, 1000, 1024, 1032, 4096, 4104, 20000, 70001};
  for (int ranks = 1; ranks <= 9; ++ranks)
    run_job(ranks, {}, [&](Rank& self) {
      std::uint64_t seed = 1;
      for (int kind = 0; kind < 11; ++kind)
        for (const std::size_t bytes : sizes)
          for (unsigned form = 0; form < 8; ++form) {
            ++seed;
            if ((seed + static_cast<unsigned>(ranks)) % every != 0) continue;
            Trial trial{.seed = seed,
                        .kind = static_cast<Kind>(kind),
                        .ranks = ranks,
                        .root = static_cast<int>(seed % static_cast<unsigned>(ranks)),
                        .in_place = (form & 1) != 0,
                        .varied = (form & 2) != 0,
                        .affine = seed % 2 != 0,
                        .bytes = bytes,
                        .hidden = form & 4 ? static_cast<unsigned>(seed * 2654435761u) : 0};
            run_trial(self, trial);
          }
      EXPECT_TRUE(self.group.validate());
    });
}

TEST(collective, large_operands_in_rounds_and_parts) {
  for (int ranks = 2; ranks <= 3; ++ranks)
    run_job(ranks, {}, [&](Rank& self) {
      for (int kind = 1; kind < 11; ++kind)
        for (unsigned form = static_cast<unsigned>(ranks) - 2; form < 4; form += 2) {
          if (every > 1 && (static_cast<unsigned>(kind + ranks) + form / 2) % 2 != 0) continue;
          run_trial(self, {.seed = 40 + form,
                           .kind = static_cast<Kind>(kind),
                           .ranks = ranks,
                           .root = 1,
                           .in_place = (form & 1) != 0,
                           .affine = true,
                           .bytes = (std::size_t{5} << 20) + 8,
                           .hidden = form & 2 ? ~0u : 0});
        }
      // Private buffers went through stages that are far smaller than the operands.
      EXPECT_LT(self.space.allocated, std::size_t{16} << 20);
      EXPECT_GT(self.group.counts().staged, 0u);
      EXPECT_GT(self.group.counts().in_place, 0u);
    });
}

// The last member never makes the call, as a rank of MPI whose arguments were wrong: the others are not held
// up where they only give. 70000 bytes: more than any form keeps in the cells.
TEST(collective, who_only_gives_does_not_wait_for_a_member_that_is_gone) {
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::gather, Kind::scatter})
    for (const unsigned hidden : {0u, ~0u})
      for (int ranks = 2; ranks <= 4; ranks += 2)
        run_job(ranks, {}, [&](Rank& self) {
          if (self.group.member() == ranks - 1) return Group::close(self.group.cells());
          const bool from_root = kind == Kind::bcast || kind == Kind::scatter;
          if (from_root && self.group.member() != 0) return;
          const Trial trial{.seed = 7,
                            .kind = kind,
                            .ranks = ranks,
                            .root = from_root ? 0 : ranks - 1,
                            .bytes = 70000,
                            .hidden = hidden};
          Side side(trial, self.space, self.group.member());
          if (from_root && ranks > 2) return;  // the others would have to take
          EXPECT_EQ(self.group.run(side.call()), Outcome::ok) << static_cast<int>(kind);
          Group::Pending* pending = self.group.start(side.call());
          ASSERT_NE(pending, nullptr);
          while (self.group.advance(pending) == Outcome::pending) continue;
        });
}

// Ranks start calls, run others between, and end those they started in any order.
void traffic(Rank& self, std::uint64_t seed, int calls, std::size_t most) {
  std::mt19937_64 common(seed), own(seed + 1 + static_cast<unsigned>(self.group.member()));
  struct Started {
    std::unique_ptr<Side> side;
    Group::Pending* pending;
  };
  std::vector<Started> open;
  auto close = [&](std::size_t which) {
    Outcome outcome = Outcome::pending;
    while ((outcome = self.group.advance(open[which].pending)) == Outcome::pending)
      if (self.group.size() > 2) self.waiter.until([&] { return self.group.progress(); }, Waiter::nobody);
    ASSERT_EQ(outcome, Outcome::ok);
    expect_right(*open[which].side);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
  };
  for (int call = 0; call < calls; ++call) {
    const Trial trial = random_trial(common, self.group.size(), most);
    auto side = std::make_unique<Side>(trial, self.space, self.group.member());
    if (own() % 2) {
      ASSERT_EQ(self.group.run(side->call()), Outcome::ok);
      expect_right(*side);
    } else {
      Group::Pending* pending = self.group.start(side->call());
      ASSERT_NE(pending, nullptr);
      open.push_back({std::move(side), pending});
    }
    while (!open.empty() && own() % 40 < open.size()) close(own() % open.size());
  }
  while (!open.empty()) close(own() % open.size());
  EXPECT_TRUE(self.group.validate());
}

TEST(collective, random_traffic) {
  const char* given = std::getenv("NIGH_SEED");
  const std::uint64_t seed =
      given ? std::strtoull(given, nullptr, 0)
            : static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::fprintf(stderr, "NIGH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (std::uint64_t round = 0; std::chrono::steady_clock::now() < end && !HasFailure(); ++round) {
    const int ranks = static_cast<int>((seed + round) % 6) + 2;
    run_job(ranks, {}, [&](Rank& self) { traffic(self, seed + 1000 * round, 60, 200000); });
  }
}

TEST(collective, more_started_calls_than_cells) {
  run_job(3, {}, [&](Rank& self) {
    std::vector<std::unique_ptr<Side>> sides;
    std::vector<Group::Pending*> pending;
    for (int call = 0; call < 100; ++call) {
      const Trial trial{.seed = 5u + static_cast<unsigned>(call),
                        .kind = static_cast<Kind>(call % 11),
                        .ranks = 3,
                        .root = call % 3,
                        .bytes = call % 7 == 0 ? std::size_t{5000} : std::size_t{64}};
      sides.push_back(std::make_unique<Side>(trial, self.space, self.group.member()));
      pending.push_back(self.group.start(sides.back()->call()));
    }
    for (std::size_t call = 100; call-- > 0;) {  // the last first
      Outcome outcome;
      while ((outcome = self.group.advance(pending[call])) == Outcome::pending) {}
      EXPECT_EQ(outcome, Outcome::ok);
      expect_right(*sides[call]);
    }
    EXPECT_TRUE(self.group.validate());
  });
}

TEST(collective, a_bcast_root_runs_ahead_and_is_held_by_its_cells) {
  run_job(2, {}, [&](Rank& self) {
    for (std::uint32_t i = 0; i < 20000; ++i) {
      std::uint32_t value = self.group.member() == 0 ? i : 0;
      ASSERT_EQ(self.group.run({.kind = Kind::bcast, .receive = &value, .bytes = 4, .root = 0}), Outcome::ok);
      ASSERT_EQ(value, i);
    }
  });
}

TEST(collective, small_calls_allocate_nothing) {
  run_job(2, {}, [&](Rank& self) {
    double operand[128] = {}, result[256];  // alltoall and reduce_scatter send a block to each
    auto round = [&](std::size_t bytes) {
      for (int kind = 0; kind < 11; ++kind)
        self.group.run({.kind = static_cast<Kind>(kind),
                        .send = operand,
                        .receive = result,
                        .bytes = bytes,
                        .root = 1,
                        .combine = find_combine(Op::sum, Element::f64)});
    };
    round(8);
    round(512);
    const std::size_t before = news, in_space = self.space.allocs;
    for (int i = 0; i < 100; ++i) round(8), round(512);
    EXPECT_EQ(news, before);
    EXPECT_EQ(self.space.allocs, in_space);
  });
}

// One rank's memory is exhausted at each of its allocations in turn: nothing is thrown, and nobody is left
// waiting.
TEST(collective, without_memory_all_are_told) {
#ifdef NIGH_SANITIZED
  GTEST_SKIP() << "memory is the sanitizer's";
#endif
  std::atomic<int> refused = 0;
  std::barrier<> over(3);  // who gives up leaves, but here its memory goes with it
  auto body = [&](Rank& self, bool blocking, std::size_t room) {
    const bool mine = self.group.member() == 1;
    std::vector<unsigned char> out(300'000), in(300'000);
    self.space.hide(out.data(), out.size());
    self.space.hide(in.data(), in.size());
    const Call call = {.kind = Kind::alltoall, .send = out.data(), .receive = in.data(), .bytes = 100'000};
    Group::Pending* before = blocking ? nullptr : self.group.start({});
    if (mine) most_news = news + room;
    const Outcome outcome = self.group.run(call);
    most_news = ~std::size_t{0};
    EXPECT_TRUE(outcome == Outcome::ok || outcome == (mine ? Outcome::no_memory : Outcome::peer_dead));
    if (outcome == Outcome::no_memory) ++refused;
    while (before && self.group.advance(before) == Outcome::pending) std::this_thread::yield();
    over.arrive_and_wait();
  };
  for (const bool blocking : {true, false})
    for (std::size_t room = 0; room < 4; ++room)
      run_job(3, {}, [&](Rank& self) { body(self, blocking, room); });
  EXPECT_GE(refused, 2);  // blocking and not
}

TEST(collective, progress_is_called_while_waiting) {
  run_job(2, {}, [&](Rank& self) {
    static std::atomic<int> calls;
    self.waiter.progress = [](void*) { ++calls; };
    calls = 0;
    if (self.group.member() == 0)
      while (calls == 0) std::this_thread::yield();
    EXPECT_EQ(self.group.run({}), Outcome::ok);
  });
}

// The last look before a sleep may be the one that ends a call: nobody may look again.
TEST(collective, a_wait_that_ends_on_its_way_to_sleep) {
  run_job(1, {}, [&](Rank& self) {
    self.waiter.set_patience({.spins = 0, .yields = 0});
    int looks_after = 0;
    bool over = false;
    auto ready = [&] {
      looks_after += over ? 1 : 0;
      over = over || self.waiter.front().bell.asleep.load() != 0;
      return over;
    };
    EXPECT_EQ(self.waiter.until(ready), Waited::ready);
    EXPECT_EQ(looks_after, 0);
  });
}

TEST(collective, calls_that_end_on_their_way_to_sleep) {
  run_job(2, {}, [&](Rank& self) {
    self.waiter.set_patience({.spins = 0, .yields = 0});
    // The peer's word comes in here, between two looks.
    self.waiter.progress = [](void*) { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
    std::uint64_t seed = 0;
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4104}, (std::size_t{4} << 20) + 8})
      for (int kind = 0; kind < 11; ++kind)
        for (int repeat = 0; repeat < (bytes > 5000 ? 1 : 10); ++repeat) {
          run_trial(self, {.seed = ++seed,
                           .kind = static_cast<Kind>(kind),
                           .ranks = 2,
                           .root = static_cast<int>(seed % 2),
                           .bytes = bytes});
          ASSERT_TRUE(self.group.validate());
        }
  });
}

TEST(collective, a_member_may_leave_while_peers_still_read) {
  for (int round = 0; round < 50; ++round) {
    space::ThreadSpace::Common common(3);
    std::vector<std::unique_ptr<PartlyPrivate>> spaces;
    std::vector<Cells*> cells;
    for (int rank = 0; rank < 3; ++rank) {
      spaces.push_back(std::make_unique<PartlyPrivate>(common, rank));
      cells.push_back(Group::make_cells(*spaces.back(), 3));
    }
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        Waiter waiter(*spaces[static_cast<std::size_t>(rank)], 2);
        int value = rank == 0 ? 42 : 0;
        {
          Group group(*spaces[static_cast<std::size_t>(rank)], waiter, rank, cells, {0, 1, 2}, {});
          if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          group.run({.kind = Kind::bcast, .receive = &value, .bytes = sizeof(value)});
        }
        EXPECT_EQ(value, 42);
      });
    for (std::thread& thread : threads) thread.join();
    for (auto& space : spaces) space->release(Group::make_cells(*space, 1));
  }
}

}  // namespace
}  // namespace nigh::message::testing
