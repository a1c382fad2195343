// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Sections, elements that move, and those that are written to files.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "chare/saver.hpp"
#include "chare/test_jobs.hpp"
#include "sys/start.hpp"

namespace nigh::chare {
namespace {

class MovingOnPes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Chare, MovingOnPes, testing::Values(1, 2, 3, 8),
                         [](const auto& info) { return std::to_string(info.param); });

// --- sections ---

struct Square : Element<Square> {
  void take(const std::string& text, std::span<const int> values, int row) {
    FIND(text == "to a row of " + std::to_string(values.size()) && index().y == row);
    for (std::size_t i = 0; i < values.size(); ++i) FIND(values[i] == static_cast<int>(i));
    ++seen;
  }
};
struct Sender : Element<Sender> {
  void send(Section<Square> row, int number, int members) {  // perhaps before it knows the array
    std::vector<int> values(static_cast<std::size_t>(members));
    std::iota(values.begin(), values.end(), 0);
    row.send<&Square::take>("to a row of " + std::to_string(members), values, number);
    FIND(row.elements().size() == static_cast<std::size_t>(members));
  }
};
TEST_P(MovingOnPes, SectionsGetWhatIsForThem) {
  auto main = [] {
    auto senders = Array<Sender>::create({9});
    auto squares = Array<Square>::create({5, 9});
    for (int row = 0; row < 9; ++row) {
      std::vector<Index> some;
      for (int x = 0; x < row % 6; ++x) some.push_back({x, row});
      senders[row].send<&Sender::send>(Section<Square>(squares, some), row, row % 6);
    }
    on_quiescence(finish_callback());
  };
  EXPECT_EQ(run_on(GetParam(), main), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 0 + 1 + 2 + 3 + 4 + 5 + 0 + 1 + 2);
}

// --- elements that move ---

struct Mover : Element<Mover> {
  Mover() = default;
  explicit Mover(int count) : count(count), values(index().x % 7), more(100) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::to_string(index().x + static_cast<int>(i));
    for (std::size_t i = 0; i < more.size(); ++i)
      more[i] = static_cast<int>(index().x * 100 + static_cast<int>(i));
    contribute(1, sum, Callback());  // of a reduction that goes on while elements move
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count, values, more, heard, told, rounds, moved);
    was_on = -1;
  }
  void check() {
    FIND(values.size() == static_cast<std::size_t>(index().x % 7));
    for (std::size_t i = 0; i < values.size(); ++i)
      FIND(values[i] == std::to_string(index().x + static_cast<int>(i)));
    for (std::size_t i = 0; i < more.size(); ++i)
      FIND(more[i] == static_cast<int>(index().x * 100 + static_cast<int>(i)));
  }
  void hear(int number) { told += static_cast<std::uint64_t>(number); }  // one
  void hear_all(int number) { heard += static_cast<std::uint64_t>(number); }
  void work() {  // the first elements have the most to do
    check();
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::microseconds((index().x + 3 * rounds) % count < count / 4 ? 60 : 2);
    while (std::chrono::steady_clock::now() < end) {}
    was_on = pe();
    balance(array().callback<&Mover::go_on>());
    if (index().x < count / 2) add_up();  // the others do when they may have moved
  }
  void add_up() { contribute(index().x, sum, array()[2].callback<&Mover::sum_of_indices>()); }
  void go_on() {
    check();
    moved += was_on != pe();
    if (index().x >= count / 2) add_up();
    ++rounds;
  }
  void sum_of_indices(std::int64_t all) {
    FIND(all == count * (count - 1LL) / 2);
    if (++seen == 8) return array().send<&Mover::tell>();
    array().send<&Mover::work>();
  }
  void tell() { contribute(moved, sum, array()[1].callback<&Mover::moves>()); }
  void moves(int all);
  void end() { contribute(Found{heard, told}, FoundSum(), array()[0].callback<&Mover::ended>()); }
  struct Found {
    std::uint64_t heard, told;
  };
  struct FoundSum {
    void operator()(Found& into, const Found& from) const {
      into.heard += from.heard, into.told += from.told;
    }
  };
  void ended(Found found);
  int count = 0;
  std::vector<std::string> values;
  Buffer<int> more;
  std::uint64_t heard = 0, told = 0;
  int rounds = 0, moved = 0, was_on = 0;
};
// Talk to them all the while.
std::atomic<int> talkers_talk = 1, elements_moved = 0;
std::atomic<std::uint64_t> said_to_one = 0, said_to_all = 0;
struct Talker : Element<Talker> {
  explicit Talker(int count) : count(count), random(static_cast<unsigned>(index().x)) {}
  void begin(Array<Mover> movers) {
    all = movers;
    talk();
  }
  void talk() {
    if (talkers_talk == 0) return;
    ++number;
    for (int i = 0; i < 4; ++i)
      all[static_cast<int>(random() % static_cast<unsigned>(count))].send<&Mover::hear>(number);
    said_to_one += 4 * static_cast<std::uint64_t>(number);
    if (number % 4 == 0) {  // it may be one and the same thrice
      const auto some = [&] { return Index{static_cast<int>(random() % static_cast<unsigned>(count))}; };
      Section<Mover>(all, {some(), some(), some()}).send<&Mover::hear>(number);
      said_to_one += 3 * static_cast<std::uint64_t>(number);
    }
    if (number % 8 == 0) {
      all.send<&Mover::hear_all>(number);
      said_to_all += static_cast<std::uint64_t>(number);
    }
    after(20e-6, proxy().callback<&Talker::talk>());
  }
  Array<Mover> all;
  int count, number = 0;
  std::mt19937 random;
};
void Mover::moves(int all) {
  elements_moved = all;
  talkers_talk = 0;
  on_quiescence(array().callback<&Mover::end>());
}
void Mover::ended(Found found) {
  FIND(found.heard == said_to_all * static_cast<std::uint64_t>(count) && found.told == said_to_one);
  finish(11);
}
TEST_P(MovingOnPes, ElementsMoveWhileMessagesAreUnderWay) {
  // Moving is measured: an element whose PE lost its CPU in it outweighs all others, and then nothing moves,
  // in one job or two, but not in each of many.
  const int most_jobs = 10;
  for (const int count : {1, 5, 64}) {
    const bool must_move = GetParam() > 1 && count == 64;
    elements_moved = 0;
    for (int job = 0; job == 0 || (must_move && elements_moved == 0 && job < most_jobs); ++job) {
      talkers_talk = 1;
      said_to_one = said_to_all = 0;
      auto main = [count] {
        auto movers = Array<Mover>::create({std::max(count, 3)}, std::max(count, 3));
        Array<Talker>::create({pes()}, std::max(count, 3)).send<&Talker::begin>(movers);
        movers.send<&Mover::work>();
      };
      EXPECT_EQ(run_on(GetParam(), main), 11) << count;
      EXPECT_EQ(wrong, 0) << count;
      EXPECT_EQ(seen, 8) << count;
    }
    if (GetParam() == 1 || must_move) { EXPECT_EQ(elements_moved > 0, must_move); }
  }
}

// The work of elements of another array counts, too.
void be_busy(int us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < end) {}
}
struct Heavy : Element<Heavy> {
  void work() {
    if (pe() == 0) be_busy(20'000);
  }
};
struct Small : Element<Small> {
  Small() = default;
  template <class Archive>
  void serialize(Archive&) {}
  void work() { be_busy(100); }
  void even_out() { balance(array().callback<&Small::where>()); }
  void where() { contribute(pe() == 0 ? 1 : 0, sum, array()[0].callback<&Small::on_first>()); }
  void on_first(int count) { finish(count); }
};
TEST(ChareBalance, OtherArraysCount) {
  EXPECT_LT(run_on(2,
                   [] {
                     const auto heavy = Array<Heavy>::create({4});
                     const auto small = Array<Small>::create({40});
                     heavy.send<&Heavy::work>();
                     small.send<&Small::work>();
                     on_quiescence(small.callback<&Small::even_out>());
                   }),
            10);  // 20 at the beginning
}

// Requests made at once are served one after the other.
struct Hasty : Element<Hasty> {
  Hasty() = default;
  explicit Hasty(int count) : count(count) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count, times);
  }
  void hurry(const std::string& path) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::microseconds(index().x < count / 4 ? 50 : 1);
    while (std::chrono::steady_clock::now() < end) {}
    for (int i = 0; i < 3; ++i) {
      balance(array().callback<&Hasty::done>());
      checkpoint(path, array().callback<&Hasty::saved>());
    }
  }
  void saved(int status) { FIND(status == 0), done(); }
  void done() {
    if (++times == 6) contribute(1, sum, array()[0].callback<&Hasty::all_done>());
  }
  void all_done(int all) { FIND(all == count), finish(4); }
  int count = 0, times = 0;
};
TEST_P(MovingOnPes, BalancingAndWritingTakeTurns) {
  const std::string path = testing::TempDir() + "nigh_hasty_" + std::to_string(sys::own_pid());
  EXPECT_EQ(run_on(GetParam(), [&] { Array<Hasty>::create({40}, 40).send<&Hasty::hurry>(path); }), 4);
  EXPECT_EQ(wrong, 0);
  auto again = [&] {
    Array<Hasty>::restore(path);
    on_quiescence(finish_callback());
  };
  EXPECT_EQ(run_on(3, again), 0);  // all elements are in it
  for (const auto& file : std::filesystem::directory_iterator(testing::TempDir()))
    if (file.path().string().starts_with(path)) std::filesystem::remove(file.path());
}

// --- checkpoints (tests/chare has the rest) ---

TEST(ChareCheckpoint, ListsAreReadOrRefused) {
  Checkpoint checkpoint{
      "Cell",      {4, 5, 6}, 7, {{3, 77}, {1, 8}}, {{"cells.7.0", 1000, 1234567890123456789U, 60, 0, 59}},
      {5, 6, 7, 8}};
  checkpoint.parts.push_back({"cells with a blank.7.1", 960, 1, 60, 60, 119});
  const std::string text = text_of(checkpoint);
  const auto again = read_checkpoint(text, "x");
  ASSERT_TRUE(again);
  EXPECT_EQ(text_of(*again), text);
  EXPECT_EQ(again->elements(), 120U);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto cut = read_checkpoint(text.substr(0, i), "x");
    ASSERT_FALSE(cut) << text.substr(0, i);
    EXPECT_TRUE(cut.error().message.starts_with("x is ")) << cut.error().message;
  }
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string changed = text;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      changed[random() % changed.size()] =
          static_cast<char>(random() % 3 == 0 ? random() : "0 9\n-/x"[random() % 7]);
    if (changed != text) { EXPECT_FALSE(read_checkpoint(changed, "x")) << changed; }
  }
}

struct Short : Element<Short> {  // reads more than it writes
  template <class Archive>
  void serialize(Archive& archive) {
    archive(one);
    if (archive.reads()) archive(two);
  }
  int one = 1;
  std::vector<std::uint64_t> two;
};
struct Long : Element<Long> {
  template <class Archive>
  void serialize(Archive& archive) {
    archive(one);
    if (!archive.reads()) archive(two);
  }
  int one = 1;
  std::vector<std::uint64_t> two = {1, 2, 3};
};
TEST(ChareCheckpoint, ASerializeThatDisagreesWithItselfIsTold) {
  auto read_back = []<class T>(T* element) {
    const core::Type& type = core::TypeOf<T>::entry;
    std::vector<char> data(type.write(element, nullptr, core::Reach::file));
    EXPECT_EQ(type.write(element, data.data(), core::Reach::file), data.size());
    core::ElementBase* const read = type.read(data.data(), data.size(), core::Reach::file);
    EXPECT_EQ(read, nullptr);
    if (read) type.destroy(read);
  };
  auto told = [&](auto body) { return told_by([&] { EXPECT_EQ(run_on(1, body), 1); }); };
  EXPECT_NE(told([&] { read_back(std::make_unique<Short>().get()); }).find("reads more than it has written"),
            std::string::npos);
  EXPECT_NE(told([&] { read_back(std::make_unique<Long>().get()); }).find("reads less than it has written"),
            std::string::npos);
}

}  // namespace
}  // namespace nigh::chare
