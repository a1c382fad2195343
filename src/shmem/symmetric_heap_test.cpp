// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/symmetric_heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace nigh::shmem {
namespace {

TEST(SymmetricHeap, TheSameCallsGiveTheSameOffsets) {
  SymmetricHeap a, b;
  for (SymmetricHeap* heap : {&a, &b}) heap->reset(1 << 20);
  std::mt19937 random(3);
  std::vector<std::size_t> live;
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 50 && random() % 3 != 0) {
      std::size_t bytes = random() % 5000, align = std::size_t{1} << random() % 13;
      std::size_t at = a.take(bytes, align);
      ASSERT_EQ(at, b.take(bytes, align));
      if (at != SymmetricHeap::none) {
        ASSERT_EQ(at % align, 0U);
        ASSERT_EQ(a.size_at(at), bytes);
        live.push_back(at);
      }
    } else if (!live.empty()) {
      std::size_t k = random() % live.size();
      ASSERT_TRUE(a.give(live[k]));
      ASSERT_TRUE(b.give(live[k]));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
    }
    ASSERT_TRUE(a.validate()) << "after call " << i;
  }
}

TEST(SymmetricHeap, ABlockHoldsWhatWasAskedFor) {
  SymmetricHeap heap;
  heap.reset(1 << 16);
  const std::size_t a = heap.take(100, 64), b = heap.take(64, 64);
  for (const std::size_t at : {a, a + 99, b, b + 63}) EXPECT_TRUE(heap.holds(at));
  for (const std::size_t at : {a + 100, a + 127, b + 64, std::size_t{1} << 16, SymmetricHeap::none})
    EXPECT_FALSE(heap.holds(at));
  EXPECT_TRUE(heap.give(a));
  EXPECT_FALSE(heap.holds(a));
  EXPECT_TRUE(heap.holds(b));
}

TEST(SymmetricHeap, NothingOverlapsAndAllComesBack) {
  SymmetricHeap heap;
  heap.reset(1 << 16);
  std::map<std::size_t, std::size_t> live;
  for (std::size_t at; (at = heap.take(1000, 8)) != SymmetricHeap::none;) live[at] = at + 1000;
  EXPECT_EQ(live.size(), (1U << 16) / 1024);
  std::size_t end = 0;
  for (auto [from, to] : live) {
    EXPECT_GE(from, end);
    end = to;
  }
  for (auto [from, to] : live) EXPECT_TRUE(heap.give(from));
  EXPECT_EQ(heap.take(1 << 16, 8), 0U) << "one range again";
}

TEST(SymmetricHeap, RefusesWhatIsNotThere) {
  SymmetricHeap heap;
  heap.reset(4096);
  std::size_t at = heap.take(100, 8);
  EXPECT_FALSE(heap.give(at + 64));
  EXPECT_TRUE(heap.give(at));
  EXPECT_FALSE(heap.give(at)) << "given back twice";
  EXPECT_EQ(heap.take(5000, 8), SymmetricHeap::none);
  EXPECT_EQ(heap.take(~std::size_t{0}, 8), SymmetricHeap::none);
  EXPECT_EQ(heap.take(64, 8192), 0U);
  EXPECT_EQ(heap.take(64, 8192), SymmetricHeap::none);
}

TEST(SymmetricHeap, ResizesInPlaceWhereThereIsRoom) {
  SymmetricHeap heap;
  heap.reset(4096);
  std::size_t a = heap.take(64, 8), b = heap.take(64, 8);
  EXPECT_FALSE(heap.resize(a, 65)) << "b is in the way";
  EXPECT_TRUE(heap.resize(b, 1000));
  EXPECT_EQ(heap.size_at(b), 1000U);
  EXPECT_TRUE(heap.resize(b, 10));
  EXPECT_TRUE(heap.validate());
  EXPECT_TRUE(heap.give(b));
  EXPECT_TRUE(heap.resize(a, 4096));
  EXPECT_FALSE(heap.resize(a, 4097));
  EXPECT_TRUE(heap.validate());
}

}  // namespace
}  // namespace nigh::shmem
