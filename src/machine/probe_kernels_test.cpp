// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels do what they say: every word is read or changed exactly once per pass, the bytes they report
// are the bytes they moved, the chain is one cycle at every length, and both players count the same rounds.
#include "machine/probe_kernels.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>
#include <vector>

namespace nigh::probe {
namespace {

struct alignas(64) Line {
  std::uint64_t word[8];
};

struct Area {
  explicit Area(std::size_t bytes) : lines(bytes / sizeof(Line)) {
    std::uint64_t n = 0;
    for (Line& line : lines)
      for (std::uint64_t& word : line.word) word = n++;
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(lines.data()); }
  [[nodiscard]] std::uint64_t word(std::size_t i) const { return lines[i / 8].word[i % 8]; }
  std::vector<Line> lines;
};

TEST(Kernels, ReadSeesEveryWordOnce) {
  for (std::size_t bytes : {grain_bytes, 7 * grain_bytes, 1024 * grain_bytes}) {
    Area area(bytes);
    std::uint64_t n = bytes / 8, sink = 5;
    EXPECT_EQ(stream(Mix::read, area.data(), bytes, sink), bytes);
    EXPECT_EQ(sink, 5 + n * (n - 1) / 2);
  }
}

TEST(Kernels, OneToOneChangesEveryWordOnceAndNothingBeyond) {
  const std::size_t bytes = 3 * grain_bytes;
  Area area(bytes + grain_bytes);
  std::uint64_t sink = 0;
  EXPECT_EQ(stream(Mix::one_to_one, area.data(), bytes, sink), 2 * bytes);
  EXPECT_EQ(stream(Mix::one_to_one, area.data(), bytes, sink), 2 * bytes);
  for (std::size_t i = 0; i < (bytes + grain_bytes) / 8; ++i)
    ASSERT_EQ(area.word(i), i + (i < bytes / 8 ? 2 : 0)) << i;
}

TEST(Kernels, TwoToOneReadsHalfAndUpdatesHalf) {
  const std::size_t bytes = 5 * grain_bytes, half = bytes / 16;
  Area area(bytes + grain_bytes);
  std::uint64_t sink = 0;
  EXPECT_EQ(stream(Mix::two_to_one, area.data(), bytes, sink), bytes + bytes / 2);
  for (std::size_t i = 0; i < half; ++i) {
    ASSERT_EQ(area.word(i), i);
    ASSERT_EQ(area.word(half + i), half + 2 * i);
  }
  EXPECT_EQ(area.word(2 * half), 2 * half);
}

TEST(Kernels, TheChainIsOneCycleWhereverItStops) {
  for (std::size_t lines : {1U, 2U, 3U, 64U, 1000U}) {
    Area area((lines + 1) * line_bytes);
    Chain chain(area.data(), 42 + lines);
    chain.grow_to(lines / 2);
    chain.grow_to(lines);
    EXPECT_EQ(chain.lines(), lines);
    chain.seal();
    std::set<const void*> seen;
    const void* at = nullptr;
    for (std::size_t i = 0; i < lines; ++i) {
      at = chain.walk(at, 1);
      ASSERT_TRUE(seen.insert(at).second) << "came back after " << i << " of " << lines;
      ASSERT_LT(static_cast<const std::byte*>(at), area.data() + lines * line_bytes);
    }
    EXPECT_EQ(at, area.data()) << "a full round ends where it began";
    EXPECT_EQ(chain.walk(nullptr, 3 * lines), chain.walk(nullptr, 0));
  }
}

TEST(Kernels, EveryCycleOfFourLinesComesUpAboutAsOften) {
  std::map<std::vector<std::ptrdiff_t>, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    Area area(4 * line_bytes);
    Chain chain(area.data(), seed * 7919);
    chain.grow_to(4);
    chain.seal();
    std::vector<std::ptrdiff_t> order;
    const void* at = nullptr;
    for (int i = 0; i < 4; ++i) {
      at = chain.walk(at, 1);
      order.push_back(static_cast<const std::byte*>(at) - area.data());
    }
    ++seen[order];
  }
  EXPECT_EQ(seen.size(), 6U);  // 3! cycles, 1000 each on average
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Kernels, BothPlayersCountTheSameRounds) {
  Ball ball;
  std::uint64_t answered = 0;
  std::thread other([&] { answered = ball.answer(); });
  for (std::uint64_t round = 1; round <= 300; ++round) ball.serve(round);
  ball.stop();
  other.join();
  EXPECT_EQ(answered, 300U);
}

}  // namespace
}  // namespace nigh::probe
