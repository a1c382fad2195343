// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// References of elements to other arrays, restored: proxies and callbacks, described and as bytes, refer to
// the arrays that are restored, in whatever order and however often. A reference to no array of theirs is
// reported.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "chare/saver.hpp"
#include "chare/test_jobs.hpp"
#include "sys/start.hpp"

namespace nigh::chare {
namespace {

// The same class, so that only its value shows that an array was taken for another.
struct Target : Element<Target> {
  Target() = default;
  explicit Target(int value) : value(value) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
  void hit(int expected) { FIND(value == expected), ++seen; }
  void hit_as_then() { FIND(value == 2), ++seen; }
  void save(const std::string& path, Callback then) { checkpoint(path, then); }
  int value = 0;
};
struct Raw {  // nobody says what is in it
  Proxy<Target> one;
  int more = 0;
};
struct Holder : Element<Holder> {
  Holder() = default;
  Holder(Array<Target> a, Array<Target> b)
      : first(a), all{{"b", b}}, some{a[1], b[2]}, pair{a[0], b[0]}, rows(b, {{0}, {3}}) {
    then = b[1].callback<&Target::hit_as_then>();
    raw.one = b[2];
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(first, all, some, pair, rows, then, raw);
  }
  void go() {
    first[index().x].send<&Target::hit>(1);
    all.at("b")[index().x].send<&Target::hit>(2);
    some[0].send<&Target::hit>(1), some[1].send<&Target::hit>(2);
    pair[0].send<&Target::hit>(1), pair[1].send<&Target::hit>(2);
    rows.send<&Target::hit>(2);
    raw.one.send<&Target::hit>(2);
    after(0, then);
    array()[index().x].send<&Holder::self>();
    if (index().x == 0) first.send<&Target::hit>(1);
  }
  void self() { ++seen; }
  void save(const std::string& path, Callback next) { checkpoint(path, next); }
  Array<Target> first;
  std::map<std::string, Array<Target>> all;
  std::vector<Proxy<Target>> some;
  Proxy<Target> pair[2];
  Section<Target> rows;
  Callback then;
  Raw raw;
};
constexpr int holders = 3, hits = holders * 11 + 4;

class Restored : public testing::Test {
 protected:
  Restored()
      : folder(testing::TempDir() + "nigh_restore_" + std::to_string(sys::own_pid()) +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder);
  }
  ~Restored() override { std::filesystem::remove_all(folder); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder + "/" + name; }
  // Arrays with values 1 and 2, and those that know them.
  void save(int pes) {
    EXPECT_EQ(run_on(pes,
                     [&] {
                       const auto a = Array<Target>::create({4}, 1), b = Array<Target>::create({4}, 2);
                       const auto h = Array<Holder>::create({holders}, a, b);
                       write(a, b, h);
                       on_quiescence(finish_callback());
                     }),
              0);
  }
  void write(Array<Target> a, Array<Target> b, Array<Holder> h) const {
    a.send<&Target::save>(path("a"), Callback());
    b.send<&Target::save>(path("b"), Callback());
    h.send<&Holder::save>(path("h"), Callback());
  }
  Array<Holder> read(const std::string& order) const {
    Array<Holder> out;
    for (const char which : order) {
      const std::string file = path({which});
      if (which == 'h')
        out = Array<Holder>::restore(file);
      else if (which == 'x')  // another one in between, so that numbers are others
        static_cast<void>(Array<Target>::create({2}, 3));
      else
        static_cast<void>(Array<Target>::restore(file));
    }
    return out;
  }
  std::string folder;
};
TEST_F(Restored, ProxiesAreOfTheirArraysInWhateverOrder) {
  save(2);
  std::string order = "abhx";
  std::sort(order.begin(), order.end());
  do {
    for (const int pes : {1, 3}) {
      EXPECT_EQ(run_on(pes,
                       [&] {
                         read(order).send<&Holder::go>();
                         on_quiescence(finish_callback());
                       }),
                0)
          << order;
      EXPECT_EQ(wrong, 0) << order;
      EXPECT_EQ(seen, hits) << order;
    }
  } while (std::next_permutation(order.begin(), order.end()));
}
TEST_F(Restored, AgainAndAgain) {
  save(2);
  for (int job = 0; job < 3; ++job)  // written once more, and by turns in another order
    EXPECT_EQ(run_on(2,
                     [&] {
                       if (job % 2 == 0) static_cast<void>(Array<Target>::create({2}, 3));
                       const auto b = Array<Target>::restore(path("b"));
                       const auto a = Array<Target>::restore(path("a"));
                       const auto h = Array<Holder>::restore(path("h"));
                       write(a, b, h);
                       on_quiescence(finish_callback());
                     }),
              0);
  EXPECT_EQ(run_on(3,
                   [&] {
                     read("hxab").send<&Holder::go>();
                     on_quiescence(finish_callback());
                   }),
            0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, hits);
}
// A job goes back to what it has written, twice; each time with arrays of its own.
struct Count : Element<Count> {
  Count() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count);
  }
  void add() { ++count; }
  void look(int expected) { FIND(count == expected), ++seen; }
  void save(const std::string& path) { checkpoint(path, Callback()); }
  int count = 0;
};
struct Knows : Element<Knows> {
  Knows() = default;
  explicit Knows(Array<Count> counts) : counts(counts) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(counts);
  }
  void add() { counts.send<&Count::add>(); }
  void save(const std::string& path) { checkpoint(path, Callback()); }
  Array<Count> counts;
};
struct Director : Element<Director> {
  Director(Array<Count> c, Array<Knows> k, std::string folder) : c{c}, k{k}, folder(std::move(folder)) {}
  void wait(int next) {
    step = next;
    on_quiescence(proxy().callback<&Director::go_on>());
  }
  void go_on() {
    switch (step) {
      case 0: return c[0].send<&Count::save>(folder + "/c"), k[0].send<&Knows::save>(folder + "/k"), wait(1);
      case 1: return k[0].send<&Knows::add>(), wait(2);  // the first has one more now
      case 2: return back(), back(true), wait(3);
      case 3:
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j <= i; ++j) k[static_cast<std::size_t>(i)].send<&Knows::add>();
        return wait(4);
      default:
        for (int i = 0; i < 3; ++i) c[static_cast<std::size_t>(i)].send<&Count::look>(i == 0 ? 2 : i + 1);
        on_quiescence(finish_callback());
    }
  }
  void back(bool others_first = false) {
    if (others_first) k.push_back(Array<Knows>::restore(folder + "/k"));
    c.push_back(Array<Count>::restore(folder + "/c"));
    if (!others_first) k.push_back(Array<Knows>::restore(folder + "/k"));
  }
  std::vector<Array<Count>> c;
  std::vector<Array<Knows>> k;
  std::string folder;
  int step = 0;
};
TEST_F(Restored, InTheJobThatWroteIt) {
  for (const int pes : {1, 2}) {
    EXPECT_EQ(run_on(pes,
                     [&] {
                       const auto counts = Array<Count>::create({3});
                       const auto knows = Array<Knows>::create({1}, counts);
                       Array<Director>::create({1}, counts, knows, folder)[0].send<&Director::wait>(0);
                     }),
              0);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(seen, 9);
  }
}

// --- what is of no array, or of another ---

struct One : Element<One> {
  void call() {}
  int size = 1;
};
struct Two : Element<Two> {
  void call() { ++seen; }
  void call_all() { ++seen; }
  double size = 2;
};
struct Base : Element<Base> {
  void go() { array()[index()].send<&Base::done>(), array().send<&Base::done>(); }
  void done() { ++seen; }
};
struct Derived : Base {
  Derived() = default;
  explicit Derived(int) {}
};
TEST(ChareClasses, OfAnotherClassNothingRuns) {
  auto told = [](auto call) {
    return told_by([&] {
      EXPECT_EQ(run_on(2,
                       [&] {
                         const auto ones = Array<One>::create({4});
                         call(Array<Two>(ones.number()));
                         on_quiescence(finish_callback());
                       }),
                1);
      EXPECT_EQ(seen, 0);
    });
  };
  const std::string one = told([](Array<Two> twos) { twos[1].send<&Two::call>(); });
  EXPECT_EQ(
      one,
      "nigh chare: PE 0: Two::call was called of element [1] of array 0, whose elements are One: that proxy "
      "or callback is of another array\n");
  for (const auto& words : {told([](Array<Two> twos) { twos[3].send<&Two::call>(); }),
                            told([](Array<Two> twos) { twos.send<&Two::call_all>(); }),
                            told([](Array<Two> twos) { Section<Two>(twos, {{2}}).send<&Two::call_all>(); }),
                            told([](Array<Two> twos) { after(0, twos[2].callback<&Two::call>()); })})
    EXPECT_NE(words.find("whose elements are One"), std::string::npos) << words;
}
TEST(ChareClasses, NothingIsMadeInAnArrayOfAnother) {
  const std::string told = told_by([] {
    EXPECT_EQ(run_on(2,
                     [] {
                       const auto ones = Array<One>::create_sparse();
                       Array<Two>(ones.number()).insert({7});
                       on_quiescence(finish_callback());
                     }),
              1);
  });
  EXPECT_EQ(told, "nigh chare: Two() was to make element [7] of array 0, whose elements are One\n");
}
TEST(ChareClasses, ThoseThatDeriveFromItAreOfIt) {
  EXPECT_EQ(run_on(2,
                   [] {
                     Array<Derived>::create({3}, 1).send<&Derived::go>();
                     on_quiescence(finish_callback());
                   }),
            0);
  EXPECT_EQ(seen, 3 + 9);
}
TEST(ChareClasses, AProxyOfNoArrayIsTold) {
  EXPECT_EQ(told_by([] { EXPECT_EQ(run_on(1, [] { Proxy<One>().send<&One::call>(); }), 1); }),
            "nigh chare: One::call was called through a proxy of no array\n");
}

// --- lists of checkpoints that nobody wrote, or not so ---

class Lists : public Restored {
 protected:
  static std::string with_sum(const std::string& text) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
      sum = (sum ^ word) * 0x100000001b3;
      sum ^= sum >> 29;
    }
    return text + "sum " + std::to_string(sum) + "\n";
  }
  [[nodiscard]] std::string told_of(const std::string& list) const {
    std::ofstream(path("a")) << list;
    return told_by([&] {
      EXPECT_EQ(run_on(2,
                       [&] {
                         static_cast<void>(Array<Target>::restore(path("a")));
                         on_quiescence(finish_callback());
                       }),
                1);
    });
  }
  [[nodiscard]] std::string written() const {
    std::ifstream in(path("a"));
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
};
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
TEST_F(Lists, ThatWereChangedAreRefusedBeforeAnythingIsMade) {
  save(2);
  const std::string list = written(), body = list.substr(0, list.rfind("sum "));
  EXPECT_EQ(with_sum(body), list);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"shape 4", "shape 2000000000"}, {"dense", "sparse"}, {"dense", "dance"}, {"2 0 1", "2 0 9"}}) {
    const std::string told = told_of(changed(list, from, to));
    EXPECT_NE(told.find("/a is cut off, or was changed\n"), std::string::npos) << told;
  }
  EXPECT_NE(told_of(list + "x").find("is cut off, or was changed"), std::string::npos);
  EXPECT_NE(told_of(changed(list, "checkpoint 2", "checkpoint 1")).find("is of an earlier nigh"),
            std::string::npos);
  // With the right checksum, too, there is no array before its files are.
  for (const auto& [from, to, why] : std::vector<std::array<std::string, 3>>{
           {"shape 4", "shape 2000000000", "it has 4 elements in an array of 2000000000"},
           {"shape 4", "shape 3000000000", "an array of 3000000000 elements"},
           {"shape 4", "shape -4", "an array of -4"},
           {"dense", "dance", "is no checkpoint of an array\n"},
           {"a.1.0", "../a.1.0", "it has a part of that name"},
           {"a.1.0", "a.9.0", "No such file"},
           {"ids 1", "ids 9", "is no checkpoint of an array\n"},
           {"parts 2", "parts 4000000000", "part 2 can't be read"},
           {" 2 0 1 ", " 200 0 1 ", "more elements in a.1.0 than fit there"}}) {
    const std::string told = told_of(with_sum(changed(body, from, to)));
    EXPECT_NE(told.find(why), std::string::npos) << told;
  }
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 9);
}
TEST_F(Lists, APipeAmongThePartsIsTold) {
  save(2);
  std::filesystem::remove(path("a.1.1"));
  ASSERT_EQ(::mkfifo(path("a.1.1").c_str(), 0600), 0);
  const std::string told = told_of(written());
  EXPECT_NE(told.find("a.1.1 is no regular file"), std::string::npos) << told;
  std::filesystem::remove(path("a"));
  ASSERT_EQ(::mkfifo(path("a").c_str(), 0600), 0);
  const std::string list = told_by(
      [&] { EXPECT_EQ(run_on(1, [&] { static_cast<void>(Array<Target>::restore(path("a"))); }), 1); });
  EXPECT_NE(list.find("a is no regular file"), std::string::npos) << list;
}

}  // namespace
}  // namespace nigh::chare
