// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The steps of transposing in place, each against what it says it does, with cuts that no matrix of a test's
// size would get.
#include "transpose/blocks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "transpose/reorder.hpp"
#include "transpose/restride.hpp"

namespace nigh::transpose {
namespace {

using Bytes = std::vector<std::byte>;

Bytes distinct(std::size_t bytes, std::uint32_t from = 1) {
  std::vector<std::uint32_t> words(bytes / 4 + 1);
  std::iota(words.begin(), words.end(), from);
  Bytes out(bytes);
  std::memcpy(out.data(), words.data(), bytes);
  return out;
}

TEST(Reorder, EveryRunGoesWhereItBelongs) {
  std::mt19937 random(5);
  Team teams[] = {Team(1), Team(2), Team(3)};
  for (int i = 0; i < 400; ++i) {
    const Order order{1 + random() % 9, 1 + random() % 40, 1 + random() % 9};
    const std::size_t bytes = 4 * (1 + random() % (i % 10 == 0 ? 1500 : 60));
    Team& team = teams[i % 3];
    Bytes data = distinct(order.count() * bytes), want(data.size());
    for (std::size_t d = 0; d < order.down; ++d)
      for (std::size_t s = 0; s < order.side; ++s)
        for (std::size_t a = 0; a < order.across; ++a)
          std::memcpy(want.data() + ((a * order.side + s) * order.down + d) * bytes,
                      data.data() + ((d * order.side + s) * order.across + a) * bytes, bytes);
    Reorder reorder(order, bytes, team.threads());
    Bytes again = data;
    for (Bytes* one : {&data, &again}) {  // it can be run more than once
      reorder.list();
      reorder.run(one->data(), team);
      ASSERT_TRUE(*one == want) << order.down << " " << order.side << " " << order.across << " " << bytes;
    }
  }
}

// More cycles than one list holds.
TEST(Reorder, ManyCycles) {
  Team team(2);
  const Order order{2, 30000, 2};  // [2][n][2] and back: pairs change places
  std::vector<std::uint32_t> data(order.count());
  std::iota(data.begin(), data.end(), 0U);
  Reorder reorder(order, 4, 2);
  reorder.list();
  reorder.run(reinterpret_cast<std::byte*>(data.data()), team);
  for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], order.from(i)) << i;
}

TEST(Restride, TogetherAndApart) {
  std::mt19937 random(6);
  Team teams[] = {Team(1), Team(2), Team(5)};
  for (int i = 0; i < 600; ++i) {
    Team& team = teams[i % 3];
    const std::size_t rows = 1 + random() % 70, bytes = 4 * (1 + random() % 50),
                      gap = 4 * (random() % (i % 4 == 0 ? 60 : 4));
    const std::size_t strides[] = {bytes + gap, bytes};
    for (const bool together : {true, false}) {
      const std::size_t from = strides[together ? 0 : 1], to = strides[together ? 1 : 0];
      Bytes data = distinct(rows * (bytes + gap) + 8);
      const Bytes before = data;
      Restride(rows, bytes, from, to, team.threads()).run(data.data(), team);
      for (std::size_t row = 0; row < rows; ++row)
        ASSERT_EQ(std::memcmp(data.data() + row * to, before.data() + row * from, bytes), 0)
            << row << " of " << rows << " with " << bytes << " from " << from << " to " << to;
      ASSERT_EQ(std::memcmp(data.data() + rows * (bytes + gap), before.data() + rows * (bytes + gap), 8), 0);
    }
  }
}

bool right(const BlockGrid& b, std::size_t element, Team& team) {
  const std::size_t rows = b.down * b.height + b.rows_left, columns = b.across * b.width + b.columns_left;
  Bytes data = distinct(rows * columns * element + 64), want = data;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      std::memcpy(want.data() + (j * rows + i) * element, data.data() + (i * columns + j) * element, element);
  transpose_blocks(data.data(), b, element, team);
  return data == want;
}

TEST(BlockGrid, AnyCut) {
  using Kind = BlockGrid::Kind;
  std::mt19937 random(7);
  Team teams[] = {Team(1), Team(2), Team(4)};
  for (int i = 0; i < 900; ++i) {
    BlockGrid b;
    b.kind = std::array{Kind::squares, Kind::rows, Kind::columns}[random() % 3];
    b.height = 1 + random() % 70;
    b.width = b.kind == Kind::squares ? b.height : 1 + random() % 70;
    if (b.kind != Kind::columns) b.down = 1 + random() % 6;
    if (b.kind != Kind::rows) b.across = 1 + random() % 6;
    if (b.kind != Kind::columns && random() % 2 == 0) b.rows_left = random() % 20;
    if (b.kind != Kind::rows && random() % 2 == 0) b.columns_left = random() % 20;
    const std::size_t element = std::array<std::size_t, 3>{4, 8, 16}[random() % 3];
    ASSERT_TRUE(right(b, element, teams[i % 3]))
        << static_cast<int>(b.kind) << ": " << b.down << " x " << b.across << " of " << b.height << " x "
        << b.width << ", left " << b.rows_left << ", " << b.columns_left << ", element " << element;
  }
}

// Every shape is cut completely, and the memory needed beside it is a few rows and columns.
TEST(BlockGrid, LittleIsLeftOver) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 300; ++i) {
    const std::size_t rows = 2 + random() % (i % 3 == 0 ? 300 : 20000),
                      columns = 2 + random() % (i % 3 == 1 ? 300 : 20000);
    if (rows == columns) continue;
    for (const std::size_t element : {4, 8, 16}) {
      const BlockGrid b = cut_blocks(rows, columns, element);
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      ASSERT_EQ(b.down * b.height + b.rows_left, rows);
      ASSERT_EQ(b.across * b.width + b.columns_left, columns);
      const std::size_t left = b.rows_left * columns + b.columns_left * rows;
      const std::size_t runs = b.kind == BlockGrid::Kind::squares ? b.down * b.width * b.across : 0;
      EXPECT_LE(left, std::max<std::size_t>(64 * (rows + columns), (96U << 10) / element));
      EXPECT_LE(runs, 512 * (rows + columns));
    }
  }
}

TEST(BlockGrid, DivisorsAreSquares) {
  const BlockGrid b = cut_blocks(3000, 5000, 8);
  EXPECT_EQ(b.kind, BlockGrid::Kind::squares);
  EXPECT_EQ(b.height, 1000U);
  EXPECT_EQ(b.rows_left + b.columns_left, 0U);
  EXPECT_EQ(cut_blocks(60000, 20, 8).kind, BlockGrid::Kind::rows);
  EXPECT_EQ(cut_blocks(20, 60000, 8).kind, BlockGrid::Kind::columns);
  EXPECT_EQ(cut_blocks(5000, 3001, 8).columns_left, 1U);
}

}  // namespace
}  // namespace nigh::transpose
