// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point between ranks that are threads: matching order, wildcards, every size around the borders of
// lines, rings and offers, layouts, full rings in both directions, death, and traffic at random.
#include "message/p2p.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "message/thread_ranks.hpp"

namespace nigh::message {
namespace {

std::vector<char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + (i >> 8) + seed * 31 + 1);
  return data;
}

// A rank with all it needs.
struct Rank {
  explicit Rank(ThreadRank& r) : offers(r.space, r.waiter), end(r.space, r.waiter, offers) {}
  Offers offers;
  Endpoint end;
};

TEST(PointToPoint, EverySizeArrivesWhole) {
  run_ranks(2, [](ThreadRank r) {
    Rank me(r);
    ASSERT_TRUE(me.end.usable());
    std::vector<std::size_t> sizes;
    for (std::size_t n = 0; n < 300; ++n) sizes.push_back(n);
    for (std::size_t n = 300; n < 3'000'000; n = n * 5 / 4 + 13) sizes.push_back(n);
    for (const std::size_t bytes : sizes) {
      const auto data = pattern(bytes, static_cast<unsigned>(bytes));
      if (r.rank == 0) {
        ASSERT_EQ(me.end.send(piece(data.data(), bytes), 1, 3), Error::ok);
      } else {
        std::vector<char> got(bytes + 8, 'x');
        Status status;
        ASSERT_EQ(me.end.receive(piece(got.data(), got.size()), 0, 3, &status), Error::ok);
        ASSERT_EQ(status.bytes, bytes);
        ASSERT_EQ(status.source, 0);
        ASSERT_EQ(status.tag, 3);
        ASSERT_TRUE(std::equal(data.begin(), data.end(), got.begin())) << bytes;
        ASSERT_EQ(got[bytes], 'x');
      }
    }
    EXPECT_TRUE(me.offers.validate());
  });
}

TEST(PointToPoint, TagsAndContextsMatchInOrder) {
  run_ranks(2, [](ThreadRank r) {
    Rank me(r);
    if (r.rank == 0) {
      for (int i = 0; i < 12; ++i)
        me.end.send(piece(&i, sizeof i), 1, i % 3, static_cast<std::uint32_t>(i % 2));
    } else {
      const auto get = [&](int tag, std::uint32_t context) {
        int value = -1;
        EXPECT_EQ(me.end.receive(piece(&value, sizeof value), 0, tag, nullptr, context), Error::ok);
        return value;
      };
      EXPECT_EQ(get(2, 1), 5);
      EXPECT_EQ(get(2, 1), 11);
      EXPECT_EQ(get(any_tag, 0), 0);
      EXPECT_EQ(get(2, 0), 2);
      EXPECT_EQ(get(any_tag, 0), 4);
      EXPECT_EQ(get(0, 0), 6);
      EXPECT_EQ(get(any_tag, 1), 1);
      EXPECT_EQ(get(0, 1), 3);
      EXPECT_EQ(get(1, 1), 7);
      EXPECT_EQ(get(0, 1), 9);
      EXPECT_EQ(get(any_tag, 0), 8);
      EXPECT_EQ(get(1, 0), 10);
      EXPECT_FALSE(me.end.probe_now(any_source, any_tag, nullptr));
    }
  });
}

TEST(PointToPoint, PostedReceivesTakeInTheOrderTheyWerePosted) {
  run_ranks(2, [](ThreadRank r) {
    Rank me(r);
    if (r.rank == 0) {
      r.meet();
      for (int i = 0; i < 4; ++i) me.end.send(piece(&i, sizeof i), 1, 5);
    } else {
      int values[4] = {-1, -1, -1, -1};
      Request* requests[4];
      requests[0] = me.end.start_receive(piece(&values[0], 4), any_source, any_tag);
      requests[1] = me.end.start_receive(piece(&values[1], 4), 0, 5);
      requests[2] = me.end.start_receive(piece(&values[2], 4), any_source, 5);
      requests[3] = me.end.start_receive(piece(&values[3], 4), 0, any_tag);
      r.meet();
      for (int i = 3; i >= 0; --i) EXPECT_EQ(me.end.wait(requests[i]), Error::ok);
      for (int i = 0; i < 4; ++i) EXPECT_EQ(values[i], i);
    }
  });
}

TEST(PointToPoint, TooLongIsTruncatedAndSaysSo) {
  run_ranks(2, [](ThreadRank r) {
    Rank me(r);
    for (const std::size_t bytes : {40ul, 1000ul, 100'000ul}) {
      const auto data = pattern(bytes, 1);
      if (r.rank == 0) {
        EXPECT_EQ(me.end.send(piece(data.data(), bytes), 1, 0), Error::ok);
      } else {
        std::vector<char> got(bytes, 'x');
        Status status;
        EXPECT_EQ(me.end.receive(piece(got.data(), bytes / 2), 0, 0, &status), Error::truncated);
        EXPECT_EQ(status.bytes, bytes / 2);
        EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<long>(bytes / 2), data.begin()));
        EXPECT_EQ(got[bytes / 2], 'x');
      }
    }
  });
}

TEST(PointToPoint, ProbeTellsWhatWillCome) {
  run_ranks(2, [](ThreadRank r) {
    Rank me(r);
    const auto data = pattern(50'000, 2);
    if (r.rank == 0) {
      me.end.send(piece(data.data(), 100), 1, 1);
      me.end.send(piece(data.data(), 50'000), 1, 2);
    } else {
      Status status;
      EXPECT_EQ(me.end.probe(any_source, 2, &status), Error::ok);
      EXPECT_EQ(status.bytes, 50'000u);
      EXPECT_TRUE(me.end.probe_now(0, any_tag, &status));
      EXPECT_EQ(status.bytes, 100u);
      EXPECT_EQ(status.tag, 1);
      std::vector<char> got(50'000);
      EXPECT_EQ(me.end.receive(piece(got.data(), got.size()), 0, 2), Error::ok);
      EXPECT_TRUE(got == data);
      EXPECT_EQ(me.end.receive(piece(got.data(), 100), 0, 1), Error::ok);
    }
  });
}

TEST(PointToPoint, ToSelf) {
  run_ranks(1, [](ThreadRank r) {
    Rank me(r);
    for (const std::size_t bytes : {0ul, 8ul, 5000ul, 1'000'000ul}) {
      const auto data = pattern(bytes, 3);
      std::vector<char> got(bytes);
      EXPECT_EQ(me.end.send(piece(data.data(), bytes), 0, 4), Error::ok);
      EXPECT_EQ(me.end.receive(piece(got.data(), bytes), any_source, 4), Error::ok);
      EXPECT_TRUE(got == data);
      std::fill(got.begin(), got.end(), 0);
      Request* request = me.end.start_receive(piece(got.data(), bytes), 0, 4);
      EXPECT_EQ(me.end.send(piece(data.data(), bytes), 0, 4), Error::ok);
      EXPECT_EQ(me.end.wait(request), Error::ok);
      EXPECT_TRUE(got == data);
    }
  });
}

TEST(PointToPoint, WrongArgumentsAreRefused) {
  run_ranks(1, [](ThreadRank r) {
    Rank me(r);
    char byte = 0;
    EXPECT_EQ(me.end.send(piece(&byte, 1), 1, 0), Error::bad_argument);
    EXPECT_EQ(me.end.send(piece(&byte, 1), -1, 0), Error::bad_argument);
    EXPECT_EQ(me.end.send(piece(&byte, 1), 0, -1), Error::bad_argument);
    EXPECT_EQ(me.end.send(piece(nullptr, 1), 0, 0), Error::bad_argument);
    EXPECT_EQ(me.end.receive(piece(&byte, 1), 0, -2), Error::bad_argument);
    EXPECT_EQ(me.end.receive(piece(&byte, 1), 7, 0), Error::bad_argument);
    EXPECT_EQ(me.end.start_send(piece(&byte, 1), 9, 0), nullptr);
    EXPECT_EQ(me.end.wait(nullptr), Error::bad_argument);
  });
}

// Both send far more than the rings hold before either receives; nobody may wait for the other for good.
TEST(PointToPoint, FullRingsInBothDirections) {
  run_ranks(2, [](ThreadRank r) {
    Rank me(r);
    const int peer = 1 - r.rank;
    constexpr int messages = 5000;
    const auto data = pattern(200, 5);
    for (int i = 0; i < messages; ++i) {
      auto mine = data;
      std::memcpy(mine.data(), &i, sizeof i);
      ASSERT_EQ(me.end.send(piece(mine.data(), mine.size()), peer, 0), Error::ok);
    }
    for (int i = 0; i < messages; ++i) {
      std::vector<char> got(200);
      ASSERT_EQ(me.end.receive(piece(got.data(), got.size()), peer, 0), Error::ok);
      int number = -1;
      std::memcpy(&number, got.data(), sizeof number);
      ASSERT_EQ(number, i);
    }
    EXPECT_GT(me.end.counts().unexpected, 0u);
  });
}

// Unsafe by MPI: both send a large message first. The staged copy lets them go on.
TEST(PointToPoint, LargeSendsAgainstEachOther) {
  run_ranks(4, [](ThreadRank r) {
    Rank me(r);
    const auto data = pattern(700'000, static_cast<unsigned>(r.rank));
    for (int peer = 0; peer < r.size; ++peer)
      if (peer != r.rank) { ASSERT_EQ(me.end.send(piece(data.data(), data.size()), peer, 0), Error::ok); }
    for (int peer = 0; peer < r.size; ++peer)
      if (peer != r.rank) {
        std::vector<char> got(data.size());
        ASSERT_EQ(me.end.receive(piece(got.data(), got.size()), peer, 0), Error::ok);
        EXPECT_TRUE(got == pattern(data.size(), static_cast<unsigned>(peer)));
      }
    r.meet();
    Offer* offer = me.offers.open(data.data(), nullptr, 1, {.to = 0});
    me.offers.withdraw(offer);
    EXPECT_TRUE(me.offers.validate());
  });
}

TEST(PointToPoint, LayoutsOnEitherSide) {
  static const Block column[] = {{.offset = 8, .bytes = 8}};
  static const Block pieces[] = {
      {.offset = 3, .bytes = 5}, {.offset = 10, .bytes = 1}, {.offset = 11, .bytes = 10}};
  const Layout strided = {.blocks = column, .block_count = 1, .extent = 40, .element_bytes = 8};
  const Layout ragged = {.blocks = pieces, .block_count = 3, .extent = 24, .element_bytes = 16};
  run_ranks(2, [&](ThreadRank r) {
    Rank me(r);
    for (const std::size_t bytes : {32ul, 480ul, 160'000ul})
      for (const Layout* from : {static_cast<const Layout*>(nullptr), &strided, &ragged})
        for (const Layout* to : {static_cast<const Layout*>(nullptr), &strided, &ragged}) {
          const auto memory = pattern(bytes * 5 + 100, 6);
          std::vector<char> packed(bytes);
          copy(packed.data(), nullptr, memory.data(), from, 0, bytes);
          if (r.rank == 0) {
            ASSERT_EQ(me.end.send(piece(memory.data(), bytes, from), 1, 0), Error::ok);
          } else {
            std::vector<char> got(bytes * 5 + 100, 'x'), expected(bytes * 5 + 100, 'x');
            ASSERT_EQ(me.end.receive(piece(got.data(), bytes, to), 0, 0), Error::ok);
            copy(expected.data(), to, packed.data(), nullptr, 0, bytes);
            ASSERT_TRUE(got == expected);
          }
        }
  });
}

TEST(PointToPoint, ADeadPeerEndsTheWait) {
  run_ranks(3, [](ThreadRank r) {
    Rank me(r);
    char byte = 0;
    if (r.rank == 2) {
      r.space.die();
      r.meet();
      return;
    }
    r.meet();
    EXPECT_EQ(me.end.receive(piece(&byte, 1), 2, 0), Error::peer_dead);
    Request* request = me.end.start_receive(piece(&byte, 1), 2, 0);
    EXPECT_EQ(me.end.wait(request), Error::peer_dead);
    Error error = Error::ok;  // its ring fills, and nobody empties it
    for (int i = 0; i < 100'000 && error == Error::ok; ++i) error = me.end.send(piece(&byte, 1), 2, 0);
    EXPECT_EQ(error, Error::peer_dead);
    const int peer = 1 - r.rank;  // the others go on
    EXPECT_EQ(me.end.send(piece(&r.rank, sizeof(int)), peer, 1), Error::ok);
    int from = -1;
    EXPECT_EQ(me.end.receive(piece(&from, sizeof from), any_source, 1), Error::ok);
    EXPECT_EQ(from, peer);
  });
}

// Every rank sends to every rank messages of random size, tag and kind, and receives them by random
// wildcards; per source and tag they must come in order and whole.
void random_traffic(int ranks, int messages, int cpus) {
  run_ranks(
      ranks,
      [&](ThreadRank r) {
        Rank me(r);
        me.offers.set_tuning({.halves_from = 30'000, .chunk = 8192});
        std::minstd_rand random(static_cast<unsigned>(r.rank) * 77 + 5);
        struct Out {
          std::vector<char> data;
          Request* request;
        };
        std::deque<Out> out;
        std::map<std::pair<int, int>, std::uint32_t> next_out, next_in;
        int sent = 0, received = 0;
        const int all = messages * (ranks - 1);
        std::vector<char> got(80'000);
        while (sent < all || received < all || !out.empty()) {
          if (sent < all && random() % 2) {
            const int to = (r.rank + 1 + sent % (ranks - 1)) % ranks;
            const int tag = static_cast<int>(random() % 3);
            const std::uint32_t number = next_out[{to, tag}]++;
            const std::size_t sizes[] = {8 + random() % 60, 8 + random() % 3000, 8 + random() % 70'000};
            auto data = pattern(sizes[random() % 3], number);
            std::memcpy(data.data(), &number, sizeof number);
            ++sent;
            if (random() % 2) {
              ASSERT_EQ(me.end.send(piece(data.data(), data.size()), to, tag), Error::ok);
            } else {
              out.push_back({std::move(data), nullptr});
              out.back().request =
                  me.end.start_send(piece(out.back().data.data(), out.back().data.size()), to, tag);
            }
          }
          if (!out.empty() && me.end.test(out.front().request)) out.pop_front();
          const int source =
              random() % 2 ? any_source : static_cast<int>(random() % static_cast<unsigned>(ranks));
          Status status;
          const int tag = random() % 2 ? any_tag : static_cast<int>(random() % 3);
          if (!me.end.probe_now(source, tag, &status)) continue;
          ASSERT_EQ(me.end.receive(piece(got.data(), got.size()), source, tag, &status), Error::ok);
          std::uint32_t number = 0;
          std::memcpy(&number, got.data(), sizeof number);
          ASSERT_EQ(number, (next_in[{status.source, status.tag}]++));
          auto expected = pattern(status.bytes, number);
          std::memcpy(expected.data(), &number, sizeof number);
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()));
          ++received;
        }
        r.meet();
        EXPECT_TRUE(me.offers.validate());
      },
      cpus);
}

TEST(PointToPoint, RandomTrafficOfTwo) { random_traffic(2, 1500, 2); }
TEST(PointToPoint, RandomTrafficOfFive) { random_traffic(5, 150, 0); }

TEST(PointToPoint, ManyRanksAreSmall) {
  run_ranks(64, [](ThreadRank r) {
    Rank me(r);
    ASSERT_TRUE(me.end.usable());
    EXPECT_GE(me.end.eager_limit(), 512u);
    int from = -1;
    ASSERT_EQ(me.end.send(piece(&r.rank, sizeof r.rank), (r.rank + 1) % r.size, 0), Error::ok);
    ASSERT_EQ(me.end.receive(piece(&from, sizeof from), any_source, 0), Error::ok);
    EXPECT_EQ(from, (r.rank + r.size - 1) % r.size);
  });
}

}  // namespace
}  // namespace nigh::message
