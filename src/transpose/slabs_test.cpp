// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The moves between ranks, all in this process: every rank has arrays of its own, and threads that take
// parts.
#include "transpose/slabs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "transpose/runs.hpp"

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

// A batch on all ranks. Woven: rows of one matrix of A between those of the others.
template <std::size_t element>
struct Job {
  Job(std::size_t rows, std::size_t columns, std::size_t ranks, std::size_t matrices = 1,
      bool is_woven = false)
      : slabs{{rows, ranks}, {columns, ranks}, element, matrices}, woven(is_woven) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      a.emplace_back(slabs.bytes_of_a(rank));
      b.emplace_back(slabs.bytes_of_b(rank) + 8 * element, std::byte{0x5a});
      const Layout layout = from(rank).layout;
      for (std::size_t k = 0; k < matrices; ++k)
        for (std::size_t i = 0; i < slabs.rows.count(rank); ++i)
          for (std::size_t j = 0; j < columns; ++j)
            put<element>(a[rank].data() + (k * layout.apart + i * layout.stride + j) * element,
                         k * 1000 + slabs.rows.first(rank) + i, j);
    }
  }
  [[nodiscard]] From from(std::size_t rank) const {
    return {a[rank].data(), woven ? Layout{slabs.matrices * slabs.columns.things, slabs.columns.things}
                                  : layout_of_a(slabs, rank)};
  }
  [[nodiscard]] To to(std::size_t rank) { return {b[rank].data(), layout_of_b(slabs, rank)}; }
  [[nodiscard]] bool right() const {
    std::byte want[element];
    for (std::size_t rank = 0; rank < b.size(); ++rank) {
      const std::byte* at = b[rank].data();
      for (std::size_t k = 0; k < slabs.matrices; ++k) {
        for (std::size_t j = 0; j < slabs.columns.count(rank); ++j) {
          for (std::size_t i = 0; i < slabs.rows.things; ++i, at += element) {
            put<element>(want, k * 1000 + i, slabs.columns.first(rank) + j);
            if (std::memcmp(at, want, element) != 0) return false;
          }
        }
      }
      for (std::size_t k = 0; k < 8 * element; ++k)
        if (at[k] != std::byte{0x5a}) return false;
    }
    return true;
  }
  Slabs slabs;
  bool woven;
  std::vector<std::vector<std::byte>> a, b;
};

// In panels of so many rows.
template <std::size_t element>
bool taken(Job<element> job, int threads, Stores stores, std::size_t each) {
  const std::size_t ranks = job.a.size();
  for (std::size_t to = 0; to < ranks; ++to)
    for (std::size_t from = 0; from < ranks; ++from)
      for (std::size_t first = 0, all = whole_of(job.slabs, to).count; first < all; first += each)
        for (int thread = 0; thread < threads; ++thread)
          take(job.slabs, from, job.from(from), to, job.to(to), {first, std::min(each, all - first)}, thread,
               threads, {stores, 0, nullptr});
  return job.right();
}

// Nodes of `together` ranks each, in blocks or, dealt, one to each in turn.
std::vector<Group> nodes_of(std::size_t ranks, std::size_t together, bool dealt) {
  std::vector<Group> all((ranks + together - 1) / together);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    all[dealt ? rank % all.size() : rank / together].push_back(rank);
  return all;
}

template <std::size_t element>
bool sent(Job<element> job, const std::vector<Group>& nodes, int threads, Stores stores, std::size_t bytes) {
  const CopyOptions way{stores, 0, nullptr};
  const Slabs& slabs = job.slabs;
  for (const Group& to : nodes) {
    for (const Group& from : nodes) {
      for (std::size_t k = 0; k < panels(slabs, from, to, bytes); ++k) {
        const Panel one = panel(slabs, from, to, bytes, k);
        std::vector<std::byte> message(one.count * rows_of_a(slabs, from) * element + 64);
        std::byte* const at = message.data() + (k + slabs.rows.things) % 4 * element;
        for (std::size_t member = 0; member < from.size(); ++member)
          for (int thread = 0; thread < threads; ++thread)
            pack(slabs, from, member, job.from(from[member]), to, one, at, thread, threads, way);
        for (std::size_t member = 0; member < to.size(); ++member)
          for (int thread = 0; thread < threads; ++thread)
            unpack(slabs, from, at, to, member, one, job.to(to[member]), thread, threads, way);
      }
    }
  }
  return job.right();
}

// Each rank's rows of A become its rows of B, in memory that holds both; messages are copies here.
template <std::size_t element>
bool in_place(std::size_t rows, std::size_t columns, std::size_t ranks, Team& team) {
  Job<element> job(rows, columns, ranks);
  std::vector<std::vector<std::byte>> data = job.a;
  std::vector<Runs> runs;
  for (std::size_t me = 0; me < ranks; ++me) {
    data[me].resize(std::max(job.slabs.bytes_of_a(me), job.slabs.bytes_of_b(me)));
    if (!transpose_in_place(data[me].data(), job.slabs.rows.count(me), columns, element, team)) return false;
    runs.emplace_back(job.slabs, me, team.threads());
  }
  for (std::size_t me = 0; me < ranks; ++me) {
    for (std::size_t d = 0; d < ranks; ++d) {
      std::byte* const mine = data[me].data() + runs[me].out_first(d) * element;
      std::byte* const theirs = data[d].data() + runs[d].out_first(me) * element;
      const std::size_t common = runs[me].common(d) * element;
      if (runs[d].common(me) * element != common || runs[me].surplus_out(d) != runs[d].surplus_in(me))
        return false;
      std::copy_n(mine + common, runs[me].surplus_out(d) * element, runs[d].spill(me));
      if (me < d) std::swap_ranges(mine, mine + common, theirs);
    }
  }
  for (std::size_t me = 0; me < ranks; ++me) {
    runs[me].place(data[me].data());
    runs[me].order(data[me].data(), team);
    std::copy_n(data[me].begin(), job.slabs.bytes_of_b(me), job.b[me].begin());
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
        const std::size_t bytes = 64 << (count % 12), each = 1 + count % 50;
        const auto nodes = nodes_of(ranks, 1 + count % 3, count % 2 == 0);
        ASSERT_TRUE(taken(Job<4>(rows, columns, ranks), threads, stores, each)) << said();
        ASSERT_TRUE(taken(Job<8>(rows, columns, ranks), threads, stores, ~0UL)) << said();
        ASSERT_TRUE(taken(Job<16>(rows, columns, ranks), threads, stores, ~0UL)) << said();
        ASSERT_TRUE(sent(Job<8>(rows, columns, ranks), nodes, threads, stores, bytes))
            << said() << " " << bytes;
        ASSERT_TRUE(sent(Job<16>(rows, columns, ranks), nodes, threads, stores, bytes))
            << said() << " " << bytes;
      }
    }
  }
}

TEST(Slabs, BatchesOfShapesOverRanks) {
  std::size_t count = 0;
  for (const std::size_t matrices : {0, 1, 2, 3, 17, 40}) {
    for (const std::size_t rows : {1, 3, 8, 21, 64}) {
      for (const std::size_t columns : {1, 5, 16, 47}) {
        for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
          const int threads = 1 + static_cast<int>(++count % 4);
          const Job<8> job(rows, columns, ranks, matrices, count % 2 == 0);
          const Stores stores = count % 3 == 0 ? Stores::streamed : Stores::cached;
          ASSERT_TRUE(taken(job, threads, stores, 1 + count % 100))
              << matrices << " of " << rows << "x" << columns;
          ASSERT_TRUE(
              sent(job, nodes_of(ranks, 1 + count % 3, count % 2 == 0), threads, stores, 64 << (count % 9)))
              << matrices << " of " << rows << "x" << columns;
        }
      }
    }
  }
}

TEST(Slabs, InPlaceShapesOverRanks) {
  std::size_t count = 0;
  Team team(1);
  for (std::size_t rows = 1; rows <= 257; rows += 1 + rows / 24) {
    for (std::size_t columns = 1; columns <= 311; columns += 1 + columns / 24) {
      for (std::size_t ranks = 1; ranks <= 7; ++ranks) {
        if (++count % every != 0) continue;
        ASSERT_TRUE(in_place<4>(rows, columns, ranks, team)) << rows << "x" << columns << " " << ranks;
        ASSERT_TRUE(in_place<16>(rows, columns, ranks, team)) << rows << "x" << columns << " " << ranks;
      }
    }
  }
}

TEST(Slabs, OppositeBlocksChangePlaces) {
  for (const std::size_t rows : {1, 7, 32, 33, 100}) {
    for (const std::size_t columns : {1, 8, 31, 64, 90}) {
      for (int threads = 1; threads <= 3; ++threads) {
        std::vector<std::uint32_t> one(rows * (columns + 3)), other(columns * (rows + 5));
        for (std::size_t i = 0; i < one.size(); ++i) one[i] = static_cast<std::uint32_t>(i);
        for (std::size_t i = 0; i < other.size(); ++i) other[i] = static_cast<std::uint32_t>(1000000 + i);
        const Opposites blocks{reinterpret_cast<std::byte*>(one.data()),
                               columns + 3,
                               reinterpret_cast<std::byte*>(other.data()),
                               rows + 5,
                               rows,
                               columns};
        for (int thread = 0; thread < threads; ++thread) exchange_part(blocks, 4, thread, threads);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns + 3; ++j)
            ASSERT_EQ(one[i * (columns + 3) + j],
                      j < columns ? 1000000 + j * (rows + 5) + i : i * (columns + 3) + j);
        }
        for (std::size_t j = 0; j < columns; ++j)
          for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(other[j * (rows + 5) + i], i * (columns + 3) + j);
      }
    }
  }
}

TEST(Slabs, MessagesHoldWhatTheyMay) {
  for (const std::size_t bytes : {64, 1000, 4096, 1 << 20}) {
    const Slabs slabs{{1001, 3}, {777, 3}, 8, 2};
    for (const Group& from : {Group{0}, Group{0, 2}}) {
      for (const Group& to : {Group{1}, Group{0, 1, 2}}) {
        std::size_t all = 0;
        for (std::size_t k = 0; k < panels(slabs, from, to, bytes); ++k) {
          const Panel one = panel(slabs, from, to, bytes, k);
          EXPECT_EQ(one.first, all);
          EXPECT_GT(one.count, 0U);
          EXPECT_TRUE(one.count == 1 || one.count * rows_of_a(slabs, from) * 8 <= bytes);
          all += one.count;
        }
        EXPECT_EQ(all, rows_of_b(slabs, to));
      }
    }
  }
}

}  // namespace
}  // namespace nigh::transpose
