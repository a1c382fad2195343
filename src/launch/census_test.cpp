// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/census.hpp"

#include <gtest/gtest.h>

namespace nigh::launch {
namespace {

using Verdict = CensusBook::Verdict;
using sys::CensusQuestion;

CensusQuestion of(std::uint32_t rank, std::uint32_t ranks, std::uint32_t process = 100) {
  CensusQuestion out;
  out.rank = rank;
  out.ranks = ranks;
  out.process = process + rank;
  out.whole = 1;
  return out;
}

TEST(CensusBook, SaysAllWhenEveryRankHasEntered) {
  CensusBook book;
  EXPECT_EQ(book.enter(of(0, 3), 0), Verdict::open);
  EXPECT_EQ(book.enter(of(2, 3), 0.1), Verdict::open);
  EXPECT_EQ(book.enter(of(2, 3), 0.1), Verdict::open);  // the same again
  EXPECT_EQ(book.ask(of(0, 3), 0.2), Verdict::open);
  EXPECT_EQ(book.enter(of(1, 3), 0.2), Verdict::all);
  for (const std::uint32_t rank : {0u, 1u, 2u}) EXPECT_EQ(book.ask(of(rank, 3), 0.3), Verdict::all);
}

TEST(CensusBook, SaysNotAllAfterItsPatienceAndForGood) {
  CensusBook book;
  book.enter(of(0, 2), 0);
  EXPECT_NEAR(book.decide(0.2), 0.3, 1e-9);
  EXPECT_LT(book.decide(CensusBook::patience), 0);
  EXPECT_EQ(book.ask(of(0, 2), 1), Verdict::not_all);
  EXPECT_EQ(book.enter(of(1, 2), 1), Verdict::open);  // too late: a world of its own
  book.decide(2);
  EXPECT_EQ(book.ask(of(1, 2), 2), Verdict::not_all);
  EXPECT_EQ(book.ask(of(0, 2), 2), Verdict::not_all);
}

TEST(CensusBook, WaitsAnewForEachRank) {
  CensusBook book;
  book.enter(of(0, 3), 0);
  book.enter(of(1, 3), 0.4);
  book.decide(0.6);
  EXPECT_EQ(book.enter(of(2, 3), 0.6), Verdict::all);
}

TEST(CensusBook, SaysNotAllWhereOneDiffers) {
  for (int what = 0; what < 3; ++what) {
    CensusBook book;
    EXPECT_EQ(book.enter(of(0, 2), 0), Verdict::open);
    CensusQuestion other = of(1, 2);
    if (what == 0) other.settings = 1;
    if (what == 1) other.whole = 0;
    if (what == 2) other.rank = 2;
    EXPECT_EQ(book.enter(other, 0), Verdict::not_all) << what;
    EXPECT_EQ(book.ask(of(0, 2), 0), Verdict::not_all) << what;
  }
}

// Its word was lost: the others could be told "all" only if it had been counted.
TEST(CensusBook, SaysNotAllWhereAnUnknownRankAsks) {
  CensusBook book;
  book.enter(of(0, 2), 0);
  EXPECT_EQ(book.ask(of(1, 2), 0), Verdict::not_all);
  EXPECT_EQ(book.ask(of(0, 2), 0), Verdict::not_all);
}

TEST(CensusBook, KeepsProgramsOfOneLauncherApart) {
  CensusBook book;
  for (const std::uint32_t rank : {0u, 1u}) book.enter(of(rank, 2), 0);
  EXPECT_EQ(book.enter(of(0, 2, 200), 1), Verdict::open);
  EXPECT_EQ(book.ask(of(0, 2), 1), Verdict::all);
  CensusQuestion spawned = of(1, 2, 200);
  spawned.world = 7;
  EXPECT_EQ(book.enter(spawned, 1), Verdict::open);
  EXPECT_EQ(book.enter(of(1, 2, 200), 1), Verdict::all);
  EXPECT_EQ(book.ask(spawned, 1), Verdict::open);
}

TEST(CensusBook, IsBoundedAndForgetsNoneThatIsAll) {
  CensusBook book;
  EXPECT_EQ(book.enter(of(0, 1, 5), 0), Verdict::all);
  for (std::uint32_t i = 0; i < 10 * CensusBook::most_worlds; ++i) book.enter(of(0, 2, 1000 * i), 0);
  EXPECT_EQ(book.ask(of(0, 2), 0), Verdict::not_all);  // forgotten
  for (std::uint32_t i = 0; i < 10 * CensusBook::most_worlds; ++i) book.enter(of(0, 1, 1000 * i), 0);
  EXPECT_EQ(book.ask(of(0, 1, 5), 0), Verdict::all);
}

}  // namespace
}  // namespace nigh::launch
