// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The findings of the debug mode, and the accounts that pools keep.
#include <gtest/gtest.h>

#include <map>

#include "message/pool_trial.hpp"

namespace nigh::message {
namespace {

TEST(PoolDebug, FindsBlocksGivenTwice) {
  Faults faults;
  Two two(&faults.debug);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{5000}, std::size_t{3} << 20}) {
    faults.all.clear();
    void* const block = two.a.get(bytes, 77);
    two.b.give(block);
    EXPECT_TRUE(faults.all.empty());
    two.a.give(block);
    ASSERT_EQ(faults.all.size(), 1U);
    EXPECT_EQ(faults.all[0].kind, PoolFault::Kind::given_twice);
    EXPECT_EQ(faults.all[0].tag, 77U);
    EXPECT_EQ(faults.all[0].given_by, 1U);
    EXPECT_EQ(faults.all[0].block, block);
  }
}

TEST(PoolDebug, FindsWhatIsNoBlock) {
  Faults faults;
  Two two(&faults.debug);
  char* const block = static_cast<char*>(two.a.get(1000));
  two.a.give(block + 64);
  two.a.give(block + 1088);  // the next one, which nobody got
  two.a.give(block + 8);
  ASSERT_EQ(faults.all.size(), 3U);
  for (const PoolFault& fault : faults.all) EXPECT_EQ(fault.kind, PoolFault::Kind::not_a_block);
}

TEST(PoolDebug, FindsWritesAfter) {
  Faults faults;
  Two two(&faults.debug);
  char* const block = static_cast<char*>(two.a.get(300, 5));
  two.b.give(block);
  two.b.flush();
  block[299] = 1;
  for (int i = 0; i < 20; ++i) two.a.give(two.a.get(300));
  ASSERT_EQ(faults.all.size(), 1U);
  EXPECT_EQ(faults.all[0].kind, PoolFault::Kind::written_after);
  EXPECT_EQ(faults.all[0].tag, 5U);
  EXPECT_EQ(faults.all[0].given_by, 1U);
}

TEST(PoolDebug, TellsWhatIsInUse) {
  Faults faults;
  Two two(&faults.debug);
  std::map<const void*, std::uint32_t> kept;
  for (std::uint32_t i = 0; i < 500; ++i) {
    void* const block = two.a.get(i % 7 == 0 && i < 50 ? 1 << 20 : 40 * i, i);
    if (i % 3 == 0)
      kept[block] = i;
    else
      two.b.give(block);
  }
  std::map<const void*, std::uint32_t> told;
  two.a.each_in_use([&](const void* block, std::uint32_t tag) { told[block] = tag; });
  EXPECT_EQ(told, kept);
  EXPECT_TRUE(faults.all.empty());
}

TEST(PoolDebug, FindsNothingInRightUse) {
  Faults faults;
  PoolDoor door;
  Pool pool(&door, 0, 1, PoolMemory::of_process(), &faults.debug);
  use_at_random(pool, 9);
  EXPECT_TRUE(faults.all.empty());
  Scarce memory{2 * Pool::chunk_bytes}, none{0};
  Two two(&faults.debug, memory.memory(), none.memory());
  std::vector<void*> blocks;
  for (int round = 0; round < 3; ++round) {
    while (void* block = two.a.get(700)) blocks.push_back(block);
    for (void* block : blocks) two.b.give(block);
    EXPECT_GT(blocks.size(), 1000U);
    blocks.clear();
  }
  EXPECT_TRUE(faults.all.empty()) << "blocks that were their own bags";
}

// Alone, and beside the debug mode.
class PoolAccountsTest : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] const PoolDebug* debug() const { return GetParam() ? &faults.debug : nullptr; }
  static PoolAccount of(const Pool& pool, std::uint32_t tag) {
    const auto found = pool.accounts()->of.find(tag);
    return found != pool.accounts()->of.end() ? found->second : PoolAccount{};
  }
  static PoolMemory memory() { return PoolMemory::of_process(); }
  Faults faults;
  PoolAccounting accounting;
};
INSTANTIATE_TEST_SUITE_P(Pool, PoolAccountsTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Debug" : "Alone"; });

TEST_P(PoolAccountsTest, AreKeptByTags) {
  Two two(debug(), memory(), memory(), &accounting);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(two.a.get(100, 7));  // 128 each
  void* const other = two.a.get(1000, 8);                            // 1088
  for (int i = 0; i < 4; ++i) two.a.give(blocks[static_cast<std::size_t>(i)]);
  EXPECT_EQ(of(two.a, 7).blocks, 6U);
  EXPECT_EQ(of(two.a, 7).bytes, 6U * 128);
  EXPECT_EQ(of(two.a, 7).most_bytes, 10U * 128);
  EXPECT_EQ(two.a.accounts()->all.bytes, 6U * 128 + 1088);
  EXPECT_EQ(two.a.accounts()->all.most_bytes, 10U * 128 + 1088);
  blocks[0] = two.a.get(100, 9);
  two.a.give(other);
  EXPECT_EQ(of(two.a, 7).blocks_ever, 10U);
  EXPECT_EQ(of(two.a, 7).bytes_ever, 10U * 128);
  EXPECT_EQ(of(two.a, 8).bytes, 0U);
  EXPECT_EQ(of(two.a, 8).most_bytes, 1088U);
  EXPECT_EQ(of(two.a, 9).blocks, 1U) << "perhaps a block that was another tag's";
  EXPECT_EQ(two.a.accounts()->most_held, Pool::chunk_bytes);
  EXPECT_TRUE(two.b.accounts()->of.empty());
}

TEST_P(PoolAccountsTest, KnowBlocksThatOthersGaveBack) {
  Two two(debug(), memory(), memory(), &accounting);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(two.a.get(200, 1));  // as large as a bag
    for (void* block : blocks) two.b.give(block);
    two.b.flush();
    EXPECT_EQ(of(two.a, 1).blocks, 1000U) << "in use until they are home";
    two.a.trim();
    EXPECT_EQ(of(two.a, 1).blocks, 0U);
    EXPECT_EQ(two.a.accounts()->all.bytes, 0U);
  }
  EXPECT_EQ(of(two.a, 1).blocks_ever, 3000U);
  EXPECT_EQ(of(two.a, 1).most_bytes, 1000U * 256);
  EXPECT_TRUE(two.b.accounts()->of.empty()) << "who gives back has none of them";
  EXPECT_GT(two.b.accounts()->bags.most_bytes, 0U);
  EXPECT_EQ(two.b.accounts()->bags.most_bytes % sizeof(Bag), 0U);
  EXPECT_EQ(two.a.accounts()->bags.bytes_ever, 0U);
  for (int i = 0; i < 5; ++i) two.a.flush(), two.b.trim();
  EXPECT_EQ(two.a.use().out + two.b.use().out, two.a.accounts()->bags.bytes + two.b.accounts()->bags.bytes);
}

TEST_P(PoolAccountsTest, AreRightWhereBagsWereMessages) {
  Two two(debug(), memory(), memory(), &accounting);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 1000; ++i) {
      two.a.give(two.a.get(200, 1));
      two.b.give(two.a.get(200, 1));
      two.a.give(two.b.get(200, 2));
    }
    for (int i = 0; i < 5; ++i) two.a.trim(), two.a.flush(), two.b.trim(), two.b.flush();
    EXPECT_EQ(of(two.a, 1).blocks, 0U);
    EXPECT_EQ(of(two.b, 2).blocks, 0U);
    EXPECT_EQ(two.a.use().out, two.a.accounts()->bags.bytes);
    EXPECT_EQ(two.b.use().out, two.b.accounts()->bags.bytes);
  }
  EXPECT_GT(two.a.accounts()->bags.blocks_ever, 0U);
}

TEST_P(PoolAccountsTest, CountLargeBlocksByTheirChunks) {
  Two two(debug(), memory(), memory(), &accounting);
  void* const first = two.a.get(3 << 20, 5);
  EXPECT_EQ(of(two.a, 5).bytes, std::size_t{4} << 20);
  two.b.give(first);
  two.b.give(two.a.get(3 << 20, 6));  // the same chunk
  EXPECT_EQ(of(two.a, 5).bytes, 0U);
  EXPECT_EQ(of(two.a, 6).bytes, std::size_t{4} << 20);
  two.a.trim();
  EXPECT_EQ(of(two.a, 6).bytes, 0U);
  EXPECT_EQ(two.a.accounts()->all.most_bytes, std::size_t{4} << 20);
  EXPECT_EQ(two.a.accounts()->most_held, std::size_t{4} << 20);
}

TEST_P(PoolAccountsTest, AgreeWithThePoolAfterAnyUse) {
  PoolDoor door;
  Pool pool(&door, 0, 1, memory(), debug(), &accounting);
  use_at_random(pool, 11);
  EXPECT_EQ(pool.accounts()->all.bytes, 0U);
  EXPECT_EQ(pool.use().out, 0U);
  pool.trim();
  EXPECT_TRUE(GetParam() || pool.use().chunks == 0) << "chunks go back, though records lie in them";
  for (unsigned size = 0; size < 20'000; size += 100)
    pool.give(pool.get(size));  // in new chunks, or old ones
  EXPECT_EQ(pool.accounts()->all.blocks, 0U);
  EXPECT_EQ(pool.accounts()->all.blocks_ever, of(pool, 0).blocks_ever);
  EXPECT_TRUE(faults.all.empty());
}

TEST_P(PoolAccountsTest, BlocksThatAreTheirOwnBagsAreMessages) {
  Scarce some{2 * Pool::chunk_bytes}, none{0};
  Two two(debug(), some.memory(), none.memory(), &accounting);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    while (void* block = two.a.get(700, 3)) blocks.push_back(block);
    EXPECT_EQ(of(two.a, 3).blocks, blocks.size());
    for (void* block : blocks) two.b.give(block);
    two.a.trim();
    EXPECT_EQ(of(two.a, 3).blocks, 0U);
  }
  EXPECT_TRUE(faults.all.empty());
}

TEST(PoolAccounts, OfSeveralTagsTogether) {
  PoolDoor door;
  const PoolAccounting accounting{[](std::uint32_t tag) { return tag / 10; }};
  Pool pool(&door, 0, 1, PoolMemory::of_process(), nullptr, &accounting);
  void* const first = pool.get(64, 31);
  void* const second = pool.get(64, 39);
  ASSERT_EQ(pool.accounts()->of.size(), 1U);
  EXPECT_EQ(pool.accounts()->of.at(3).most_bytes, 128U);
  pool.give(first), pool.give(second);
  EXPECT_EQ(pool.accounts()->of.at(3).bytes, 0U);
}

TEST(PoolAccounts, TellTheMostSinceTheyWereAsked) {
  PoolDoor door;
  const PoolAccounting accounting;
  Pool pool(&door, 0, 1, PoolMemory::of_process(), nullptr, &accounting);
  void* const kept = pool.get(64);
  pool.give(pool.get(5 << 20));
  pool.trim();
  PoolPeak peak = pool.take_peak();
  EXPECT_EQ(peak.in_use, 64 + (std::size_t{6} << 20));
  EXPECT_EQ(peak.held, std::size_t{8} << 20);
  peak = pool.take_peak();
  EXPECT_EQ(peak.in_use, 64U);
  EXPECT_EQ(peak.held, Pool::chunk_bytes);
  pool.give(kept);
  EXPECT_EQ(pool.take_peak().in_use, 64U);
  EXPECT_EQ(pool.take_peak().in_use, 0U);
}

TEST(PoolAccounts, AreNotKeptUnasked) {
  Faults faults;
  Two plain, debugged(&faults.debug);
  EXPECT_EQ(plain.a.accounts(), nullptr);
  EXPECT_EQ(debugged.a.accounts(), nullptr);
  EXPECT_EQ(plain.a.take_peak().held, 0U);
}

}  // namespace
}  // namespace nigh::message
