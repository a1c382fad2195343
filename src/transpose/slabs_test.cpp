// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The moves between ranks, all in this process: every rank has arrays of its own, and threads that take
// parts.
#include "transpose/slabs.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace nigh::transpose {
namespace {

TEST(Deal, AsEvenlyAsCanBe) {
  for (const std::size_t things : {0, 1, 2, 7, 100, 257}) {
    for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
      const Deal deal{things, ranks};
      std::size_t all = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(deal.first(rank), all);
        EXPECT_GE(deal.count(rank), things / ranks);
        EXPECT_LE(deal.count(rank), deal.most());
        all += deal.count(rank);
      }
      EXPECT_EQ(all, things);
    }
  }
  const std::size_t huge = std::size_t{1} << 60;  // no product of these fits
  EXPECT_EQ((Deal{huge, 1024}.first(1024)), huge);
}

// The matrix element in row i and column j, the same on every rank.
template <std::size_t element>
void put(std::byte* at, std::size_t i, std::size_t j) {
  std::uint32_t words[4] = {};
  for (std::uint32_t k = 0; k < element / 4; ++k)
    words[k] = static_cast<std::uint32_t>(i * 65537 + j * 257 + 1) + k * 0x9e3779b9U;
  std::memcpy(at, words, element);
}

template <std::size_t element>
struct Job {
  Job(std::size_t rows, std::size_t columns, std::size_t ranks)
      : slabs{{rows, ranks}, {columns, ranks}, element} {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      a.emplace_back(slabs.bytes_of_a(rank));
      b.emplace_back(slabs.bytes_of_b(rank) + 8 * element, std::byte{0x5a});
      for (std::size_t i = 0; i < slabs.rows.count(rank); ++i)
        for (std::size_t j = 0; j < columns; ++j)
          put<element>(a[rank].data() + (i * columns + j) * element, slabs.rows.first(rank) + i, j);
    }
  }
  [[nodiscard]] bool right() const {
    std::byte want[element];
    for (std::size_t rank = 0; rank < b.size(); ++rank) {
      const std::byte* at = b[rank].data();
      for (std::size_t j = 0; j < slabs.columns.count(rank); ++j) {
        for (std::size_t i = 0; i < slabs.rows.things; ++i, at += element) {
          put<element>(want, i, slabs.columns.first(rank) + j);
          if (std::memcmp(at, want, element) != 0) return false;
        }
      }
      for (std::size_t k = 0; k < 8 * element; ++k)
        if (at[k] != std::byte{0x5a}) return false;
    }
    return true;
  }
  Slabs slabs;
  std::vector<std::vector<std::byte>> a, b;
};

template <std::size_t element>
bool taken(std::size_t rows, std::size_t columns, std::size_t ranks, int threads, Stores stores) {
  Job<element> job(rows, columns, ranks);
  for (std::size_t to = 0; to < ranks; ++to)
    for (std::size_t from = 0; from < ranks; ++from)
      for (int thread = 0; thread < threads; ++thread)
        take(job.slabs, from, job.a[from].data(), to, job.b[to].data(), thread, threads,
             {stores, 0, nullptr});
  return job.right();
}

template <std::size_t element>
bool sent(std::size_t rows, std::size_t columns, std::size_t ranks, int threads, Stores stores,
          std::size_t bytes) {
  Job<element> job(rows, columns, ranks);
  const Way way{stores, 0, nullptr};
  for (std::size_t to = 0; to < ranks; ++to) {
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t k = 0; k < panels(job.slabs, to, bytes); ++k) {
        const Panel one = panel(job.slabs, to, bytes, k);
        std::vector<std::byte> message(one.count * job.slabs.rows.count(from) * element + 64);
        const std::size_t skew = (k + rows) % 4 * element;
        for (int thread = 0; thread < threads; ++thread)
          pack(job.slabs, from, job.a[from].data(), to, one, message.data() + skew, thread, threads, way);
        for (int thread = 0; thread < threads; ++thread)
          unpack(job.slabs, from, message.data() + skew, one, job.b[to].data(), thread, threads, way);
      }
    }
  }
  return job.right();
}

#ifdef NIGH_SANITIZED
const std::size_t every = 193;  // of so many cases one
#else
const std::size_t every = std::getenv("NIGH_SOAK") != nullptr ? 1 : 7;
#endif

TEST(Slabs, ShapesRanksAndThreads) {
  std::size_t count = 0;
  for (std::size_t rows = 1; rows <= 257; rows += 1 + rows / 24) {
    for (std::size_t columns = 1; columns <= 311; columns += 1 + columns / 24) {
      for (std::size_t ranks = 1; ranks <= 7; ++ranks) {
        if (++count % every != 0) continue;
        const int threads = 1 + static_cast<int>(count / every % 4);
        const Stores stores = count / every % 2 == 0 ? Stores::streamed : Stores::cached;
        const auto said = [&] {
          return std::to_string(rows) + "x" + std::to_string(columns) + " " + std::to_string(ranks) +
                 " ranks " + std::to_string(threads) + " threads";
        };
        ASSERT_TRUE(taken<4>(rows, columns, ranks, threads, stores)) << said();
        ASSERT_TRUE(taken<8>(rows, columns, ranks, threads, stores)) << said();
        ASSERT_TRUE(taken<16>(rows, columns, ranks, threads, stores)) << said();
        const std::size_t bytes = 64 << (count % 12);
        ASSERT_TRUE(sent<8>(rows, columns, ranks, threads, stores, bytes)) << said() << " " << bytes;
        ASSERT_TRUE(sent<16>(rows, columns, ranks, threads, stores, bytes)) << said() << " " << bytes;
      }
    }
  }
}

TEST(Slabs, MessagesHoldWhatTheyMay) {
  for (const std::size_t bytes : {64, 1000, 4096, 1 << 20}) {
    const Slabs slabs{{1001, 3}, {777, 3}, 8};
    for (std::size_t to = 0; to < 3; ++to) {
      std::size_t all = 0;
      for (std::size_t k = 0; k < panels(slabs, to, bytes); ++k) {
        const Panel one = panel(slabs, to, bytes, k);
        EXPECT_EQ(one.first, all);
        EXPECT_GT(one.count, 0U);
        EXPECT_TRUE(one.count == 1 || one.count * slabs.rows.most() * 8 <= bytes);
        all += one.count;
      }
      EXPECT_EQ(all, slabs.columns.count(to));
    }
  }
}

}  // namespace
}  // namespace nigh::transpose
