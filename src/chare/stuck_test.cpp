// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Jobs in which nothing goes on any more say why, and elements that come late take part in what is to come.
// And what the debug mode says of a serialize() that leaves out a member.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <string>
#include <vector>

#include "chare/test_jobs.hpp"

namespace nigh::chare {
namespace {

class StuckOnPes : public testing::TestWithParam<int> {
 protected:
  template <class Main>
  static std::string told(Main main) {
    return told_by([&] { EXPECT_EQ(run_on(GetParam(), main), 1); });
  }
};
INSTANTIATE_TEST_SUITE_P(Chare, StuckOnPes, testing::Values(1, 3),
                         [](const auto& info) { return std::to_string(info.param); });

struct Single : Element<Single> {
  Single() = default;
  template <class Archive>
  void serialize(Archive&) {}
  void hear() {}
  void all() {}
  void give() { contribute(1, sum, array()[0].callback<&Single::take>()); }
  void give_but(int x) {
    if (index().x != x) give();
  }
  void take(int) { finish(); }
  void even_out() {
    if (index().x != 2) balance(array().callback<&Single::all>());
  }
};
TEST_P(StuckOnPes, MessagesToElementsThatNeverComeAreTold) {
  const std::string waits =
      "nigh chare: nothing is left to do, but a message waits for what is not there: Single::hear for "
      "element [5] of array 0 of Single, which was not inserted\n";
  EXPECT_EQ(told([] {
              const auto all = Array<Single>::create_sparse();
              all.insert({1});
              all[5].send<&Single::hear>();
              all.done_inserting(finish_callback());
            }),
            waits);
  EXPECT_EQ(told([] { Array<Single>::create_sparse()[5].send<&Single::hear>(); }), waits)
      << "nobody waits for it";
  EXPECT_EQ(told([] {
              const auto all = Array<Single>::create_sparse();
              Section<Single>(all, {{5}}).send<&Single::hear>();
              on_quiescence(finish_callback());
            }),
            waits);
  const std::string many = told([] {
    const auto all = Array<Single>::create_sparse();
    for (int i = 0; i < 7; ++i) all[i].send<&Single::hear>();
  });
  EXPECT_NE(many.find("but 7 messages wait for what is not there: Single::hear"), std::string::npos) << many;
}
TEST_P(StuckOnPes, AnArrayThatIsNotThereIsTold) {
  EXPECT_EQ(told([] { Array<Single>(60000)[1].send<&Single::hear>(); }),
            "nigh chare: nothing is left to do, but a message waits for what is not there: Single::hear for "
            "array 60000, "
            "which was not created\n");
  EXPECT_NE(told([] { Array<Single>(60000).done_inserting(); }).find("array 60000, which is none"),
            std::string::npos);
}
TEST_P(StuckOnPes, WhoHasNotContributedIsTold) {
  EXPECT_EQ(
      told([] { Array<Single>::create({4}).send<&Single::give_but>(2); }),
      "nigh chare: no message is left and no timer, but finish() was not called: Single::take waits for "
      "reduction 0 "
      "(from 0 on) of array 0 of Single, to which 3 elements have contributed, but 1 has not, such as [2]\n");
  EXPECT_NE(told([] {
              Array<Single>::create({4}).send<&Single::even_out>();
            }).find("balance() waits for reduction 0"),
            std::string::npos);
}
TEST_P(StuckOnPes, DoneInsertingThatIsMissingIsTold) {
  EXPECT_EQ(told([] {
              const auto all = Array<Single>::create_sparse();
              all.insert({1}), all.insert({2});
              all.send<&Single::give>();
            }),
            "nigh chare: no message is left and no timer, but finish() was not called: 2 elements of array 0 "
            "of Single, a "
            "sparse one, have contributed, but done_inserting() was not called: nobody knows how many there "
            "will be\n");
}

// --- elements that are inserted later ---

struct Late : Element<Late> {
  Late() = default;
  explicit Late(bool at_once) {
    if (at_once) give();  // before anybody knows which reduction that belongs to
  }
  template <class Archive>
  void serialize(Archive&) {}
  void give() { contribute(1, sum, array()[0].callback<&Late::take>()); }
  void take(int count) {  // at element 0
    FIND(count == (rounds < 3 ? 1 : rounds < 6 ? 6 : 31));
    ++rounds;
    if (rounds == 3) return grow(1, 6, false);
    if (rounds == 6) return grow(6, 31, true);
    rounds == 9 ? finish(3) : array().send<&Late::give>();
  }
  void grow(int from, int to, bool at_once) {
    for (int i = from; i < to; ++i) array().insert({i}, at_once);
    array().done_inserting(array()[0].callback<&Late::grown>());
  }
  void grown() {  // those that came at once have contributed already
    rounds == 3 ? array().send<&Late::give>() : array().send<&Late::give_if_old>();
  }
  void give_if_old() {
    if (index().x < 6) give();
  }
  int rounds = 0;
};
TEST_P(StuckOnPes, ElementsThatComeLateTakePartInWhatIsToCome) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     const auto all = Array<Late>::create_sparse();
                     all.insert({0}, false);
                     all.done_inserting(all.callback<&Late::give>());
                   }),
            3);
  EXPECT_EQ(wrong, 0);
}
struct Forgetful : Element<Forgetful> {
  explicit Forgetful(int = 0) {}
  void go() { contribute(1, sum, array()[0].callback<&Forgetful::more>()); }
  void more(int) { array().insert({1}, 0), array()[1].send<&Forgetful::go>(); }
};
TEST_P(StuckOnPes, ThatDoneInsertingHasToBeCalledAgainIsTold) {
  EXPECT_EQ(
      told([] {
        const auto all = Array<Forgetful>::create_sparse();
        all.insert({0}, 0);
        all.done_inserting(all.callback<&Forgetful::go>());
      }),
      "nigh chare: no message is left and no timer, but finish() was not called: element [1] of array 0 of "
      "Forgetful has contributed, but was inserted after done_inserting(), which has to be called again\n");
}
struct Counting : Element<Counting> {
  void count() {
    if (++seen == 5) finish(5);
  }
};
TEST_P(StuckOnPes, DoneInsertingIsCalledSeveralTimesAtOnce) {
  EXPECT_EQ(run_on(GetParam(),
                   [] {
                     const auto all = Array<Counting>::create_sparse();
                     for (int i = 0; i < 5; ++i) {
                       all.insert({i});
                       all.done_inserting(all[0].callback<&Counting::count>());
                     }
                   }),
            5);
}

// --- members that serialize() forgets ---

struct Forgets : Element<Forgets> {
  Forgets() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(a);
  }
  void go() { a = 1, b = 2, balance(array()[0].callback<&Forgets::done>()); }
  void done() { finish(); }
  int a = 0, b = 0;
};
struct Complete : Element<Complete> {  // in ways that are not seen from its addresses
  Complete() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    int other = hidden;
    std::vector<int> items(list.begin(), list.end());
    archive(other, items, text, flag, value);
    hidden = static_cast<short>(other);
    if (archive.reads()) list.assign(items.begin(), items.end());
  }
  void go() {
    hidden = 7, list = {1, 2, 3}, text = "a text that is too long for its object", flag = true, value = 2.5;
    balance(array()[0].callback<&Complete::done>());
  }
  void done() { finish(); }
  bool flag = false;
  double value = 0;
  short hidden = 0;
  std::list<int> list, empty;
  std::string text, nothing;
};
template <class T>
std::string debugged() {
  return told_by([] {
    EXPECT_EQ(run(Options{.pes = 2, .debug = true}, [] { Array<T>::create({6}).template send<&T::go>(); }),
              0);
  });
}
TEST(ChareDebug, FindsMembersThatSerializeForgets) {
  const std::string told = debugged<Forgets>();
  EXPECT_NE(told.find("serialize() of Forgets forgets what lies at byte 60 of its 64: element ["),
            std::string::npos)
      << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  EXPECT_EQ(debugged<Complete>(), "");
}

}  // namespace
}  // namespace nigh::chare
