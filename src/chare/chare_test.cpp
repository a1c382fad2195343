// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The runtime as programs see it, on 1 to 8 PEs whatever the machine has.
#include "nigh/chare.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "chare/pe.hpp"
#include "chare/test_jobs.hpp"

namespace nigh::chare {
namespace {

class OnPes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Chare, OnPes, testing::Values(1, 2, 3, 8),
                         [](const auto& info) { return std::to_string(info.param); });

struct Ring : Element<Ring> {
  explicit Ring(int size) : size(size) {}
  void token(int hops) {
    if (hops == 0) return finish(7);
    array()[(index().x + 1) % size].send<&Ring::token>(hops - 1);
  }
  int size;
};
TEST_P(OnPes, ATokenGoesRound) {
  EXPECT_EQ(run_on(GetParam(), [] { Array<Ring>::create({10}, 10)[3].send<&Ring::token>(1000); }), 7);
}

// --- arguments ---

struct Counted {  // how many there are of them
  static inline std::atomic<int> alive = 0;
  int value;
  explicit Counted(int value = 0) : value(value) { ++alive; }
  Counted(const Counted& other) : value(other.value) { ++alive; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};
struct Taker : Element<Taker> {
  void values(int a, double b, const std::string& c, std::vector<int> d, Counted&& e) {
    FIND(a == -3 && b == 0.5 && c == std::string(100, 'c') && d == std::vector<int>({1, 2, 3}) &&
         e.value == 9);
    ++seen;
  }
  void spans(std::span<const double> a, char b, std::span<const std::uint8_t> c) {
    FIND(a.size() == 1001 && a[0] == 0 && a[1000] == 1000 && b == 'b' && c.size() == 3 && c[2] == 7);
    FIND(reinterpret_cast<std::uintptr_t>(a.data()) % 16 == 0);
    ++seen;
  }
  void nothing() noexcept { ++seen; }
  void empty(std::span<const int> none) const { FIND(none.empty()), ++seen; }
  void move_only(std::unique_ptr<int> value) { FIND(*value == 5), ++seen; }
  void buffer(Buffer<int>&& values, const int* same) {
    FIND(values.size() == 5000 && values[4999] == 4 && (!same || values.data() == same));
    ++seen;
  }
  void proxy(Proxy<Taker> to, Array<Taker> all) {
    FIND(all.number() == array_number()), to.send<&Taker::nothing>();
  }
};
TEST_P(OnPes, ArgumentsArrive) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     auto all = Array<Taker>::create({4});
                     for (int i = 0; i < 4; ++i) {
                       std::vector<int> d{1, 2, 3};
                       all[i].send<&Taker::values>(-3, 0.5F, std::string(100, 'c'), d, Counted(9));
                       std::vector<double> a(1001);
                       std::iota(a.begin(), a.end(), 0);
                       all[i].send<&Taker::spans>(a, 'b', std::vector<std::uint8_t>{5, 6, 7});
                       all[i].send<&Taker::nothing>();
                       all[i].send<&Taker::empty>(std::vector<int>());
                       all[i].send<&Taker::move_only>(std::make_unique<int>(5));
                       Buffer<int> buffer(5000);
                       buffer[4999] = 4;
                       const int* const at = buffer.data();
                       all[i].send<&Taker::buffer>(std::move(buffer), at);
                       all[i].send<&Taker::proxy>(all[3 - i], all);
                     }
                     on_quiescence(finish_callback());
                   }),
            0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 28);
  EXPECT_EQ(Counted::alive, 0);
}
TEST_P(OnPes, BroadcastsReachEachElementOnce) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     auto all = Array<Taker>::create({5, 4});
                     all.send<&Taker::values>(-3, 0.5, std::string(100, 'c'), std::vector<int>{1, 2, 3},
                                              Counted(9));
                     all.send<&Taker::spans>(
                         [] {
                           std::vector<double> a(1001);
                           std::iota(a.begin(), a.end(), 0);
                           return a;
                         }(),
                         'b', std::vector<std::uint8_t>{5, 6, 7});
                     Buffer<int> buffer(5000);
                     buffer[4999] = 4;
                     all.send<&Taker::buffer>(std::move(buffer), nullptr);
                     on_quiescence(finish_callback());
                   }),
            0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 60);
  EXPECT_EQ(Counted::alive, 0);
}

// --- arrays ---

struct Site : Element<Site> {
  explicit Site(Index extent) : extent(extent) { ++seen; }
  ~Site() { --seen; }
  void ask(Index expected, Proxy<Site> back) {
    FIND(index() == expected);
    back.send<&Site::answer>(pe());
  }
  void answer(int from) {
    FIND(from >= 0 && from < pes());
    if (++answers == static_cast<int>(extent.x * extent.y * extent.z)) finish(4);
  }
  Index extent;
  int answers = 0;
};
TEST_P(OnPes, ArraysOfAllDimensions) {
  for (const Index extent :
       {Index{1, 1, 1}, Index{7, 1, 1}, Index{3, 5, 1}, Index{4, 2, 3}, Index{1, 1, 6}}) {
    auto main = [extent] {
      auto sites = Array<Site>::create({extent.x, extent.y, extent.z}, extent);
      const Shape shape = sites.shape();
      FIND(shape.elements() == extent.x * extent.y * extent.z);
      for (int x = 0; x < extent.x; ++x)
        for (int y = 0; y < extent.y; ++y)
          for (int z = 0; z < extent.z; ++z) sites(x, y, z).send<&Site::ask>(Index{x, y, z}, sites(0));
    };
    EXPECT_EQ(run_on(GetParam(), main), 4);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(seen, 0) << "elements go with the job";
  }
}
TEST_P(OnPes, ArraysWithoutElements) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     auto none = Array<Site>::create({0, 3}, Index{});
                     none.send<&Site::answer>(0);
                     on_quiescence(finish_callback());
                   }),
            0);
}

struct Maker : Element<Maker> {  // arrays made by elements, everywhere, used before all PEs know them
  void go() {
    auto rings = Array<Ring>::create({20}, 20);
    array()[(index().x + 1) % 8].send<&Maker::use>(rings);
  }
  void use(Array<Ring> rings) {
    for (int i = 0; i < 20; ++i) rings[i].send<&Ring::token>(1 << 20);
    rings.send<&Ring::token>(1 << 20);
    if (++seen == 8) finish(2);
  }
};
TEST_P(OnPes, ArraysAreMadeAnywhere) {
  EXPECT_EQ(run_on(GetParam(), [] { Array<Maker>::create({8}).send<&Maker::go>(); }), 2);
}

struct Spot : Element<Spot> {
  explicit Spot(int value) : value(value) {}
  void check(int expected) { FIND(value == expected), ++seen; }
  void add(Callback then) { contribute(std::int64_t{value}, sum, then); }
  void total(std::int64_t value) { FIND(value == 900 * 899 / 2), finish(5); }
  void inserted() { array().send<&Spot::add>(array()[Index{-450}].callback<&Spot::total>()); }
  int value;
};
TEST_P(OnPes, SparseArrays) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     auto spots = Array<Spot>::create_sparse();
                     for (int i = 0; i < 900; ++i) {
                       const Index index{i - 450, 1000 * (i % 7), -(i % 3)};
                       spots[i == 0 ? Index{-450} : index].send<&Spot::check>(i);  // before it is there
                       spots.insert(i == 0 ? Index{-450} : index, i);
                     }
                     spots.done_inserting(spots[Index{-450}].callback<&Spot::inserted>());
                   }),
            5);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 900);
}

// --- order, priorities, time ---

struct Sink : Element<Sink> {
  explicit Sink(int senders) : next(static_cast<std::size_t>(senders)) {}
  void number(int from, int n) {
    FIND(next[static_cast<std::size_t>(from)]++ == n);
    if (++count == 1000 * static_cast<int>(next.size())) finish(3);
  }
  std::vector<int> next;
  int count = 0;
};
struct Source : Element<Source> {
  explicit Source(Proxy<Sink> to) : to(to) {}
  void go() {
    for (int i = 0; i < 1000; ++i) to.send<&Sink::number>(static_cast<int>(index().x), i);
  }
  Proxy<Sink> to;
};
TEST_P(OnPes, MessagesKeepTheirOrder) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     auto sink = Array<Sink>::create({1}, 16)[0];
                     Array<Source>::create({16}, sink).send<&Source::go>();
                   }),
            3);
  EXPECT_EQ(wrong, 0);
}

struct Queue : Element<Queue> {
  void start() {
    const int order[] = {0, 5, -1, 3, 0, -7, -1, 5};
    for (int i = 0; i < 8; ++i) proxy().with_priority(order[i]).send<&Queue::item>(order[i], i);
  }
  void item(int priority, int n) {
    got.push_back({priority, n});
    if (got.size() < 8) return;
    const std::vector<std::pair<int, int>> expected{{-7, 5}, {-1, 2}, {-1, 6}, {0, 0},
                                                    {0, 4},  {3, 3},  {5, 1},  {5, 7}};
    FIND(got == expected);
    finish(6);
  }
  std::vector<std::pair<int, int>> got;
};
TEST_P(OnPes, PrioritiesComeFirst) {
  EXPECT_EQ(run_on(GetParam(), [] { Array<Queue>::create({3})[1].send<&Queue::start>(); }), 6);
  EXPECT_EQ(wrong, 0);
}

struct Clock : Element<Clock> {
  void start() {
    begun = std::chrono::steady_clock::now();
    after(0.03, proxy().callback<&Clock::late>());
    after(0.01, proxy().callback<&Clock::early>());
    after(-1, proxy().callback<&Clock::now>());
  }
  void now() { FIND(seen++ == 0); }
  void early() { FIND(seen++ == 1); }
  void late() {
    FIND(seen++ == 2 && std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(30));
    finish(1);
  }
  std::chrono::steady_clock::time_point begun;
};
TEST_P(OnPes, TimersRing) {
  EXPECT_EQ(run_on(GetParam(), [] { Array<Clock>::create({2})[1].send<&Clock::start>(); }), 1);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 3);
}

// --- long entry methods ---

struct Worker : Element<Worker> {
  static constexpr int rounds = 300;
  static void wait_for(int value) {  // a long computation, which goes on until the other has heard
    const auto begun = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - begun; };
    while (passed() < std::chrono::microseconds(20) ||
           (seen.load() < value && passed() < std::chrono::seconds(10)))
      std::this_thread::yield();
    FIND(seen.load() >= value);
  }
  void hear() { ++seen; }
  void light(int round) { FIND(round >= 0); }  // as most are: that makes the next one no lighter
  void tell_and_compute(int round) {
    array()[1].send<&Worker::hear>();
    wait_for(round + 1);
    if (round + 1 == rounds || wrong > 0) return array()[0].send<&Worker::tell>(0);
    for (int i = 0; i < 5; ++i) array()[0].send<&Worker::light>(i);
    array()[0].send<&Worker::tell_and_compute>(round + 1);
  }
  void tell(int round) {
    array()[1].send<&Worker::hear>();
    array()[0].send<&Worker::compute>(round);
  }
  void compute(int round) {
    wait_for(rounds + round + 1);
    if (round + 1 == rounds || wrong > 0) return finish();
    array()[0].send<&Worker::tell>(round + 1);
  }
};
TEST(Chare, MessagesDoNotWaitForTheEndOfLongOnes) {
  EXPECT_EQ(run_on(2, [] { Array<Worker>::create({2})[0].send<&Worker::tell_and_compute>(0); }), 0);
  EXPECT_EQ(wrong, 0);
}

// --- reductions ---

struct Item {
  int who, length;
};
struct LongestItem {
  void operator()(Item& into, const Item& from) const {
    if (from.length > into.length) into = from;
  }
};
struct Part : Element<Part> {
  explicit Part(int count) : count(count) {}
  void go() {
    const int i = static_cast<int>(index().x);
    auto root = array()[0];
    contribute(i, sum, root.callback<&Part::got_sum>());
    contribute(i + 0.5, min, root.callback<&Part::got_min>());
    contribute(i + 0.5, max, array().callback<&Part::got_max>());
    const std::vector<std::int64_t> values{i, 1, -i};
    contribute(std::span<const std::int64_t>(values), sum, root.callback<&Part::got_values>());
    contribute(Item{i, (7 * i) % count}, LongestItem(), root.callback<&Part::got_longest>());
    contribute(root.callback<&Part::got_nothing>());
    contribute(1.5F, product, Callback());  // nobody asks
  }
  void got_sum(int value) { FIND(value == count * (count - 1) / 2), ++seen; }
  void got_min(double value) { FIND(value == 0.5), ++seen; }
  void got_max(const double& value) { FIND(value == count - 0.5), ++seen; }
  void got_values(std::span<const std::int64_t> values) {
    FIND(values.size() == 3 && values[0] == count * (count - 1) / 2 && values[1] == count &&
         values[2] == -values[0]);
    ++seen;
  }
  void got_longest(Item item) {
    FIND(item.length == count - 1 && (7 * item.who) % count == count - 1), ++seen;
  }
  void got_nothing() { ++seen; }
  int count;
};
TEST_P(OnPes, Reductions) {
  for (const int count : {1, 2, 5, 100}) {
    auto main = [count] {
      auto parts = Array<Part>::create({count}, count);
      for (int i = count - 1; i >= 0; --i) parts[i].send<&Part::go>();
      on_quiescence(finish_callback());
    };
    EXPECT_EQ(run_on(GetParam(), main), 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(seen, 5 + count);
  }
}

// --- quiescence ---

struct Burst : Element<Burst> {
  void split(int depth) {
    ++seen;
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) array()[(3 * index().x + i + depth) % 16].send<&Burst::split>(depth - 1);
    if (depth == 3 && index().x == 5) ask(array()[7]);
  }
  static void ask(Proxy<Burst> who) {
    ++asked;
    on_quiescence(who.callback<&Burst::quiet>());
  }
  void quiet() {  // as often as was asked: what is begun sooner isn't quiet for the others
    FIND(seen == (round == 0 ? 2047 : 2 * 2047));
    if (++told < asked) return;
    FIND(told == asked && told > 1);
    if (++round == 2) return finish(9);
    array()[1].send<&Burst::split>(10);
    ask(proxy());
  }
  static inline std::atomic<int> asked = 0;
  int round = 0, told = 0;
};
TEST_P(OnPes, QuiescenceIsTold) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     auto bursts = Array<Burst>::create({16});
                     bursts[0].send<&Burst::split>(10);
                     Burst::asked = 0;
                     Burst::ask(bursts[7]);
                   }),
            9);
  EXPECT_EQ(wrong, 0) << seen;
}

// --- random traffic, everything at once ---

struct Walker : Element<Walker> {
  explicit Walker(int size) : size(size), random(static_cast<unsigned>(index().x)) {}
  void walk(int hops, std::uint64_t sum, Buffer<std::uint32_t>&& load, std::span<const std::uint32_t> same) {
    FIND(load.size() == same.size());
    for (std::size_t i = 0; i < load.size(); ++i) FIND(load[i] == same[i]);
    if (hops == 0) return arrive(sum);
    Buffer<std::uint32_t> next(random() % 10 == 0 ? random() % 20000 : random() % 50);
    for (std::uint32_t& word : next) word = static_cast<std::uint32_t>(random());
    const std::vector<std::uint32_t> copy(next.begin(), next.end());
    const int priority = random() % 4 == 0 ? static_cast<int>(random() % 5) - 2 : 0;
    array()[static_cast<int>(random() % static_cast<unsigned>(size))]
        .with_priority(priority)
        .template send<&Walker::walk>(
            hops - 1, sum + 1, random() % 3 == 0 ? Buffer<std::uint32_t>(next) : std::move(next), copy);
  }
  void arrive(std::uint64_t sum) { contribute_ += sum, ++seen; }
  void tell() { contribute(contribute_, nigh::chare::sum, array()[0].callback<&Walker::total>()); }
  void total(std::uint64_t all) { FIND(all == 200 * 60), finish(8); }
  int size;
  std::mt19937 random;
  std::uint64_t contribute_ = 0;
};
void walk(const Options& options) {
  wrong = seen = 0;
  EXPECT_EQ(run(options,
                [] {
                  auto walkers = Array<Walker>::create({37}, 37);
                  for (int i = 0; i < 200; ++i)
                    walkers[i % 37].send<&Walker::walk>(60, std::uint64_t{0}, Buffer<std::uint32_t>(0),
                                                        std::vector<std::uint32_t>());
                  on_quiescence(walkers.callback<&Walker::tell>());
                }),
            8);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 200);
}
TEST_P(OnPes, RandomTraffic) { walk({.pes = GetParam()}); }
TEST_P(OnPes, RandomTrafficUnderTheDebugMode) {
  EXPECT_EQ(told_by([&] { walk({.pes = GetParam(), .debug = true}); }), "");
}

// --- memory ---

TEST(ChareExit, LosesNoMemory) {
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(
        run_on(3,
               [] {
                 auto all = Array<Taker>::create({6});
                 auto early = Array<Spot>::create_sparse();
                 early[5].send<&Spot::check>(1);  // never inserted
                 for (int n = 0; n < 300; ++n) {
                   all[n % 6].send<&Taker::values>(-3, 0.5, std::string(100, 'c'), std::vector<int>{1, 2, 3},
                                                   Counted(9));
                   all[n % 6].with_priority(n % 3 - 1).send<&Taker::move_only>(std::make_unique<int>(5));
                 }
                 finish(12);
               }),
        12);
  EXPECT_EQ(Counted::alive, 0);
}

// Mei's false sharing: no line is written by two PEs, but those that messages go through.
struct Surveyor : Element<Surveyor> {
  static inline std::mutex mutex;
  static inline std::vector<std::pair<int, message::OwnPart>> parts;
  void survey() {
    for (int i = 0; i < 300; ++i) Buffer<char>(static_cast<std::size_t>(100 * i + 1));  // shelves grow
    const std::lock_guard<std::mutex> lock(mutex);
    for (const message::OwnPart& part : Pe::mine().own_parts()) parts.emplace_back(pe(), part);
    contribute(array()[0].callback<&Surveyor::look>());
  }
  void look() {
    std::map<std::uintptr_t, std::pair<int, const char*>> lines;
    for (const auto& [owner, part] : parts) {
      const auto first = reinterpret_cast<std::uintptr_t>(part.at);
      for (auto line = first / 64; line <= (first + part.bytes - 1) / 64; ++line) {
        const auto [at, is_new] = lines.insert({line, {owner, part.what}});
        EXPECT_TRUE(is_new || at->second.first == owner)
            << part.what << " of PE " << owner << " shares a line with " << at->second.second << " of PE "
            << at->second.first;
      }
    }
    EXPECT_GT(lines.size(), 100U);
    finish();
  }
};
TEST_P(OnPes, NoLineIsWrittenByTwo) {
  mallopt(M_ARENA_MAX, 1);  // one for all threads, as with more threads than glibc makes arenas for
  Surveyor::parts.clear();
  EXPECT_EQ(run_on(GetParam(), [] { Array<Surveyor>::create({GetParam()}).send<&Surveyor::survey>(); }), 0);
}

}  // namespace
}  // namespace nigh::chare
