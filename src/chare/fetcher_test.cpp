// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/fetcher.hpp"

#include <gtest/gtest.h>

namespace nigh::chare {

namespace {

// The number of runs that fetch, with these times.
int fetched(Fetcher& fetcher, std::uint16_t entry, std::size_t bytes, int runs, std::int64_t without,
            std::int64_t with) {
  int out = 0;
  for (int i = 0; i < runs; ++i) {
    const Fetcher::Choice choice = fetcher.choose(entry, bytes);
    fetcher.took(choice, choice.fetches ? with : without);
    out += choice.fetches ? 1 : 0;
  }
  return out;
}

}  // namespace

TEST(Fetcher, DoesWhatTakesLess) {
  Fetcher fetcher(3);
  EXPECT_GE(fetched(fetcher, 1, 16384, 1000, 6000, 4000), 970);
  EXPECT_LE(fetched(fetcher, 1, 65536, 1000, 6000, 9000), 30);  // another size
  EXPECT_LE(fetched(fetcher, 2, 16384, 1000, 1500, 1500), 30);  // as good without
  EXPECT_EQ(fetched(fetcher, 2, 262144, 1000, 30, 300), 0);     // passed on unread
  EXPECT_GE(fetched(fetcher, 1, 16384, 1000, 6000, 4000), 990);
}

TEST(Fetcher, NoticesThatItHasChanged) {
  Fetcher fetcher(1);
  EXPECT_GE(fetched(fetcher, 0, 4096, 1000, 2000, 1000), 970);
  EXPECT_LE(fetched(fetcher, 0, 4096, 3000, 1000, 2000), 300);
  EXPECT_GE(fetched(fetcher, 0, 4096, 3000, 2000, 1000), 2000);
}

TEST(Fetcher, OneThatWasPreemptedTellsNothing) {
  Fetcher fetcher(1);
  fetched(fetcher, 0, 4096, 100, 2000, 1000);
  const Fetcher::Choice choice = fetcher.choose(0, 4096);
  EXPECT_TRUE(choice.fetches);
  fetcher.took(choice, 10'000'000);
  EXPECT_GE(fetched(fetcher, 0, 4096, 100, 2000, 1000), 95);
}

TEST(Fetcher, TheFirstRunsAreCold) {
  Fetcher fetcher(1);
  for (int i = 0; i < 8; ++i) {
    const Fetcher::Choice choice = fetcher.choose(0, 4096);
    fetcher.took(choice, choice.fetches ? 5000 : i < 4 ? 200'000 : 2000);
  }
  EXPECT_LE(fetched(fetcher, 0, 4096, 1000, 2000, 5000), 30);
}

TEST(Fetcher, LeavesSmallOnesAlone) {
  Fetcher fetcher(1);
  EXPECT_FALSE(fetcher.choose(0, Fetcher::least - 1).counts);
  EXPECT_TRUE(fetcher.choose(0, Fetcher::least).counts);
  EXPECT_TRUE(fetcher.choose(0, std::size_t{1} << 40).counts);
  EXPECT_FALSE(fetcher.choose(1, 4096).counts);  // no such entry method
}

}  // namespace nigh::chare
