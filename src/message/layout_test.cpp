// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts against the plainest walk there is, byte by byte, for random layouts, skips and lengths; and the
// copies of every size and alignment around their thresholds.
#include "message/layout.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace nigh::message {
namespace {

std::ptrdiff_t where(const Layout* layout, std::size_t byte) {
  if (!layout) return static_cast<std::ptrdiff_t>(byte);
  std::ptrdiff_t at = static_cast<std::ptrdiff_t>(byte / layout->element_bytes) * layout->extent;
  byte %= layout->element_bytes;
  std::size_t block = 0;
  while (byte >= layout->blocks[block].bytes) byte -= layout->blocks[block++].bytes;
  return at + layout->blocks[block].offset + static_cast<std::ptrdiff_t>(byte);
}

TEST(Layout, AgreesWithAWalkByteByByte) {
  std::minstd_rand random(11);
  std::vector<char> from(200'000);
  for (char& c : from) c = static_cast<char>(random());
  for (int round = 0; round < 2000; ++round) {
    std::vector<Block> blocks[2];
    Layout layouts[2];
    const Layout* used[2];
    for (int side = 0; side < 2; ++side) {
      const std::size_t count = random() % 4 + 1;
      std::ptrdiff_t end = 0;
      std::size_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Block block = {.offset = end + static_cast<std::ptrdiff_t>(random() % 3 ? random() % 9 : 0),
                             .bytes = random() % 6 ? random() % (round % 10 ? 20 : 700) + 1 : 0};
        blocks[side].push_back(block);
        end = block.offset + static_cast<std::ptrdiff_t>(block.bytes);
        sum += block.bytes;
      }
      if (sum == 0) {
        blocks[side].push_back({.offset = end, .bytes = 3});
        end += 3;
        sum = 3;
      }
      layouts[side] = {.blocks = blocks[side].data(),
                       .block_count = blocks[side].size(),
                       .extent = end + static_cast<std::ptrdiff_t>(random() % 3 ? random() % 16 : 0),
                       .element_bytes = sum};
      used[side] = random() % 4 ? &layouts[side] : nullptr;
    }
    const std::size_t skip = random() % 3 ? random() % 200 : 0, bytes = random() % 3000;
    std::vector<char> to(200'000, 0), expected(200'000, 0);
    for (std::size_t i = skip; i < skip + bytes; ++i)
      expected[static_cast<std::size_t>(where(used[0], i))] =
          from[static_cast<std::size_t>(where(used[1], i))];
    copy(to.data(), used[0], from.data(), used[1], skip, bytes);
    ASSERT_TRUE(to == expected) << round;
  }
}

TEST(Layout, NegativeExtents) {
  const Block block = {.offset = 0, .bytes = 4};
  const Layout backwards = {.blocks = &block, .block_count = 1, .extent = -4, .element_bytes = 4};
  const int from[4] = {1, 2, 3, 4};
  int to[4] = {};
  copy(&to[3], &backwards, from, nullptr, 0, sizeof from);
  EXPECT_EQ(to[0], 4);
  EXPECT_EQ(to[3], 1);
}

TEST(CopyBytes, EverySizeAndAlignment) {
  std::vector<char> from(9 << 20), to(9 << 20);
  std::minstd_rand random(12);
  for (char& c : from) c = static_cast<char>(random());
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n < 600; ++n) sizes.push_back(n);
  for (std::size_t n = 600; n < (8u << 20); n = n * 9 / 8 + 1) sizes.push_back(n);
  for (const std::size_t bytes : sizes) {
    const std::size_t a = random() % 130, b = random() % 130;
    std::memset(to.data(), 'x', std::min(to.size(), bytes + 300));
    copy_bytes(to.data() + a, from.data() + b, bytes);
    ASSERT_EQ(std::memcmp(to.data() + a, from.data() + b, bytes), 0) << bytes;
    if (a > 0) { ASSERT_EQ(to[a - 1], 'x') << bytes; }
    ASSERT_EQ(to[a + bytes], 'x') << bytes;
  }
}

}  // namespace
}  // namespace nigh::message
