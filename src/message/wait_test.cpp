// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that outnumber CPUs: who shares mine is seen, and a barrier costs each CPU the one switch that it
// can't do without, counted by the kernel.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "message/collective.hpp"
#include "message/thread_ranks.hpp"

namespace nigh::message {
namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void sit_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

rusage of_this_thread() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}
long sleeps() { return of_this_thread().ru_nvcsw; }
long switches() { return sleeps() + of_this_thread().ru_nivcsw; }

// Ranks 0, 2 on one CPU, 1, 3 on another.
template <class Body>
void four_ranks_on_two_cpus(Body body) {
  const std::vector<int> cpus = allowed_cpus();
  run_ranks(
      4,
      [&](ThreadRank r) {
        sit_on(cpus[static_cast<std::size_t>(r.rank % 2)]);
        r.meet();
        body(r);
      },
      2);
}

TEST(wait, who_shares_my_cpu) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  std::atomic<int> turn = 0;
  four_ranks_on_two_cpus([&](ThreadRank r) {
    for (int peer = 0; peer < r.size; ++peer) r.waiter.ring(peer);  // knows where the bells are now
    r.meet();
    // Each in turn after the others have waited: all have been seen where they sit.
    while (turn.load() % 4 != r.rank)
      r.waiter.until([&] { return turn.load() % 4 == r.rank; }, (r.rank + 3) % 4);
    turn.fetch_add(1);
    int looks = 0;
    r.waiter.until([&] { return ++looks > r.waiter.patience().spins + 1; });
    r.meet();
    EXPECT_TRUE(r.waiter.in_the_way_of((r.rank + 2) % 4));
    EXPECT_FALSE(r.waiter.in_the_way_of((r.rank + 1) % 4));
    EXPECT_FALSE(r.waiter.in_the_way_of(Waiter::anybody));
  });
}

TEST(wait, the_environment_says_how) {
  const char* const before = std::getenv("NIGH_WAIT");
  const std::string kept = before ? before : "";
  ::unsetenv("NIGH_WAIT");
  const Patience usual = patience_for(1, 2);
  const auto with = [](const char* how) {
    ::setenv("NIGH_WAIT", how, 1);
    return patience_for(1, 2);
  };
  EXPECT_GT(with("spin").spins, 1000 * usual.spins);
  EXPECT_GT(with("yield").yields, 1000 * usual.yields);
  EXPECT_EQ(with("sleep").yields, 0);
  EXPECT_GT(usual.yields, 0);
  for (const char* junk : {"", "Spin", "100"}) {
    EXPECT_EQ(with(junk).spins, usual.spins) << junk;
    EXPECT_EQ(with(junk).yields, usual.yields) << junk;
  }
  before ? ::setenv("NIGH_WAIT", kept.c_str(), 1) : ::unsetenv("NIGH_WAIT");
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}
double cpu_of_this_thread() {
  const rusage usage = of_this_thread();
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// With a CPU of its own a rank spins without a system call. Beside a thread of its own process that wants the
// same CPU it gives that up; what the two get is compared, so that other work changes nothing.
TEST(wait, spins_on_but_not_in_the_way_of_its_own_threads) {
#ifdef NIGH_SANITIZED
  GTEST_SKIP() << "for what users get";
#endif
  const int cpu = allowed_cpus().front();
  run_ranks(
      2,
      [&](ThreadRank r) {
        if (r.rank != 0) return;
        sit_on(cpu);
        r.waiter.set_patience({.spins = 100, .spins_on = true});
        rusage before = of_this_thread();
        const std::int64_t start = now_ns();
        r.waiter.until([&] { return now_ns() - start > 100'000'000; });
        EXPECT_EQ(of_this_thread().ru_nvcsw, before.ru_nvcsw);
        EXPECT_LT(seconds(of_this_thread().ru_stime) - seconds(before.ru_stime), 0.03);

        std::atomic<bool> done = false;
        std::thread worker([&] {
          sit_on(cpu);
          while (cpu_of_this_thread() < 0.3) {}
          done = true;
        });
        const double mine = cpu_of_this_thread();
        r.waiter.until([&] { return done.load(); });
        EXPECT_LT(cpu_of_this_thread() - mine, 0.15);
        worker.join();
      },
      2);
}

// Peers' accesses to this rank's memory may need its progress: given at each look, and no sleep.
TEST(wait, attentive_ranks_give_progress) {
  run_ranks(
      2,
      [&](ThreadRank r) {
        static constexpr int looks = 1000;
        int given = 0;
        r.waiter.progress_argument = &given;
        r.waiter.progress = [](void* count) { ++*static_cast<int*>(count); };
        r.waiter.progress_yields = true;
        r.waiter.set_patience({.spins = looks / 2, .yields = 0, .sleep_ns = 1'000'000'000});
        auto look = [&] {
          int looked = 0;
          given = 0;
          r.waiter.until([&] { return ++looked > looks; });
          return given;
        };
        r.waiter.attend(true);
        const long before = sleeps();
        EXPECT_GT(look(), looks / 2);
        EXPECT_LT(sleeps() - before, looks / 100);
        r.waiter.attend(false);
        r.waiter.set_patience({.spins = looks, .yields = 0});
        EXPECT_LT(look(), looks / 100);
        r.waiter.progress = nullptr;
      },
      2);
}

TEST(wait, a_barrier_costs_a_cpu_one_switch) {
#ifdef NIGH_SANITIZED
  GTEST_SKIP() << "for what users get";
#endif
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  constexpr int rounds = 1000, barriers = 50;  // shorter than a time slice: other work misses some
  std::vector<Cells*> cells(4);
  long counted[rounds][4] = {};
  four_ranks_on_two_cpus([&](ThreadRank r) {
    cells[static_cast<std::size_t>(r.rank)] = Group::make_cells(r.space, 4, true);
    r.meet();
    {
      Group group(r.space, r.waiter, r.rank, cells, {0, 1, 2, 3}, {});
      const Call barrier{.kind = Kind::barrier};
      for (auto& round : counted) {
        const long before = switches();
        for (int i = 0; i < barriers; ++i) ASSERT_EQ(group.run(barrier), Outcome::ok);
        round[r.rank] = switches() - before;
      }
    }
    r.meet();
    r.space.release(Group::make_cells(r.space, 1));  // sweeps
  });
  double best = 1e9;
  for (const auto& round : counted)
    best = std::min(best, static_cast<double>(round[0] + round[1] + round[2] + round[3]) / barriers);
  EXPECT_LE(best, 3.0) << "switches of all four ranks per barrier; two are needed";
}

}  // namespace
}  // namespace nigh::message
