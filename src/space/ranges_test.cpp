// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ranges against a bitmap of 600 cells: random additions and removals, every question asked of both.
#include "space/ranges.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace nigh::space {
namespace {

constexpr std::size_t kCells = 600;

bool all(const std::bitset<kCells>& cells, std::size_t lo, std::size_t hi) {
  for (std::size_t i = lo; i < hi; ++i)
    if (!cells[i]) return false;
  return true;
}

std::size_t fit(const std::bitset<kCells>& cells, std::size_t count, std::size_t align) {
  for (std::size_t i = align; i + count <= kCells; i += align)
    if (all(cells, i, i + count)) return i;
  return 0;
}

TEST(Ranges, DoAsABitmapDoes) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Ranges ranges;
    std::bitset<kCells> cells;
    for (int step = 0; step < 3000; ++step) {
      std::size_t lo = 1 + random() % (kCells - 1), hi = lo + random() % (seed % 2 ? 4 : 60);
      if (hi > kCells) hi = kCells;
      bool adding = random() % 2 == 0;
      ASSERT_TRUE(adding ? ranges.add(lo, hi) : ranges.remove(lo, hi));
      for (std::size_t i = lo; i < hi; ++i) cells[i] = adding;
      ASSERT_TRUE(ranges.valid()) << "seed " << seed << " step " << step;
      ASSERT_EQ(ranges.bytes(), cells.count());
      std::size_t count = 1 + random() % 12, align = std::size_t{1} << random() % 5;
      ASSERT_EQ(ranges.fit(count, align), fit(cells, count, align)) << "seed " << seed << " step " << step;
      std::size_t a = random() % kCells, b = a + 1 + random() % 10;
      if (b > kCells) b = kCells;
      ASSERT_EQ(ranges.contains(a, b), all(cells, a, b));
      ASSERT_EQ(ranges.touches(a, b), !all(~cells, a, b));
    }
  }
}

TEST(Ranges, GrowBeyondTheInsideArray) {
  Ranges ranges;
  for (std::uintptr_t i = 1; i <= 20000; ++i) ASSERT_TRUE(ranges.add(i * 4, i * 4 + 2));
  EXPECT_EQ(ranges.count(), 20000U);
  EXPECT_TRUE(ranges.valid());
  for (std::uintptr_t i = 1; i <= 20000; ++i) ASSERT_TRUE(ranges.add(i * 4 + 2, i * 4 + 4));
  EXPECT_EQ(ranges.count(), 1U);
  EXPECT_EQ(ranges.bytes(), 80000U);
}

}  // namespace
}  // namespace nigh::space
