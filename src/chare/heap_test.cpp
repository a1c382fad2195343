// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Heaps that move with their elements: what is in them against a plain map of what was put there (tests/chare
// moves them between processes).
#include "nigh/chare/heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "chare/extents.hpp"
#include "chare/test_jobs.hpp"

namespace nigh::chare {
namespace {

TEST(ChareExtents, NoAddressIsGivenTwice) {
  space::CommonRange range;
  ASSERT_TRUE(range.settle_alone());
  std::mt19937 random(1);
  std::vector<Extents> pes;
  for (std::uint32_t pe = 0; pe < 3; ++pe) pes.emplace_back(&range, false, pe, 3);
  std::map<char*, std::size_t> taken;
  std::vector<std::pair<char*, std::size_t>> all;
  for (int step = 0; step < 3000; ++step) {
    Extents& extents = pes[random() % 3];
    if (random() % 3 == 0 && !all.empty()) {  // by whoever has it: it may have come from another
      const std::size_t which = random() % all.size();
      extents.give(all[which].first, all[which].second);
      taken.erase(all[which].first);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    std::size_t bytes = 1 + random() % (random() % 10 == 0 ? 3 << 20 : 100'000);
    const std::size_t asked = bytes;
    auto* const extent = static_cast<char*>(extents.take(bytes));
    ASSERT_NE(extent, nullptr);
    ASSERT_GE(bytes, asked);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(extent) % Extents::smallest, 0U);
    extent[0] = extent[bytes - 1] = 1;
    const auto next = taken.lower_bound(extent);
    ASSERT_TRUE(next == taken.end() || next->first >= extent + bytes);
    ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= extent);
    taken.emplace(extent, bytes);
    all.emplace_back(extent, bytes);
  }
}

TEST(ChareExtents, OtherJobsEpochsAreLeftAlone) {
  space::CommonRange range;
  ASSERT_TRUE(range.settle_alone());
  const std::size_t epoch = range.bytes() / Extents::epochs;
  Extents extents(&range, false, 1, 2);
  ASSERT_TRUE(extents.keep_out(0b1011));
  std::size_t bytes = 1;
  const void* const one = extents.take(bytes);
  EXPECT_EQ((reinterpret_cast<std::uintptr_t>(one) - range.first()) / epoch, 2U);
  EXPECT_FALSE(extents.keep_out(0b0100));  // there it is
  bytes = epoch / 2;                       // all of this PE's part of one
  const void* const all = extents.take(bytes);
  EXPECT_EQ((reinterpret_cast<std::uintptr_t>(all) - range.first()) / epoch, 4U);
  bytes = epoch;
  EXPECT_EQ(extents.take(bytes), nullptr);
  extents.note_written(one), extents.note_written(all);
  EXPECT_EQ(extents.take_written(), 0b10100U);
  EXPECT_EQ(extents.take_written(), 0U);
  EXPECT_FALSE(extents.place(reinterpret_cast<const void*>(range.first() + 4096), 65536));
  EXPECT_FALSE(extents.place(&range, 65536));
  EXPECT_TRUE(extents.place(reinterpret_cast<const void*>(range.first() + 65536), 65536));
  Extents none(nullptr, false, 0, 1);
  bytes = 1;
  EXPECT_EQ(none.take(bytes), nullptr);
  for (unsigned i = 0; i < Extents::epochs; ++i) static_cast<void>(extents.keep_out(std::uint64_t{1} << i));
  bytes = epoch / 2;
  EXPECT_EQ(extents.take(bytes), nullptr);
}

// An allocation in a heap: its place, size and alignment, and the bytes written there.
struct Shadow {
  struct Block {
    std::size_t bytes, align;
    unsigned char value;
  };
  std::map<unsigned char*, Block> blocks;
  std::size_t used = 0;
  void check(const Heap& heap) const {
    FIND(heap.bytes() == used);
    const unsigned char* end = nullptr;
    for (const auto& [at, block] : blocks) {
      FIND(at >= end && reinterpret_cast<std::uintptr_t>(at) % block.align == 0);
      for (std::size_t i = 0; i < block.bytes; ++i)
        if (at[i] != block.value) return FIND(false), void();
      end = at + block.bytes;
    }
  }
  void change(Heap& heap, std::mt19937& random) {
    if (random() % 5 < 2 && !blocks.empty()) {
      const auto found = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
      heap.deallocate(found->first, found->second.bytes, found->second.align);
      used -= found->second.bytes;
      blocks.erase(found);
      return;
    }
    const std::size_t most = random() % 8 == 0 ? 150'000 : random() % 3 == 0 ? 5000 : 200;
    const Block block{1 + random() % most,
                      std::size_t{1} << (random() % 4 == 0 ? random() % 16 : random() % 5),
                      static_cast<unsigned char>(random())};
    auto* const at = static_cast<unsigned char*>(heap.allocate(block.bytes, block.align));
    std::fill_n(at, block.bytes, block.value);
    blocks.emplace(at, block);
    used += block.bytes;
  }
};

struct Owner : Element<Owner> {
  Owner() = default;
  explicit Owner(int) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(heap);
  }
  Heap heap;
};

// Written and read again, as between processes: the same bytes at the same addresses.
void goes(core::Reach to, Owner& owner) {
  const core::Type& type = core::TypeOf<Owner>::entry;
  std::vector<char> data(type.write(&owner, nullptr, to));
  EXPECT_EQ(type.write(&owner, data.data(), to), data.size());
  if (to == core::Reach::file) {  // it is still here: in a file's place it would be another process's
    EXPECT_GT(owner.heap.bytes(), 0U);
    return;
  }
  EXPECT_EQ(owner.heap.bytes(), 0U);
  core::ElementBase* const read = type.read(data.data(), data.size(), to);
  ASSERT_NE(read, nullptr);
  owner.heap = std::move(static_cast<Owner*>(read)->heap);
  type.destroy(read);
}

TEST(ChareHeap, HoldsWhatIsPutIntoIt) {
  auto body = [] {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      std::mt19937 random(seed);
      Owner owner;
      Shadow shadow;
      for (int step = 0; step < 3000; ++step) {
        shadow.change(owner.heap, random);
        if (step % 500 == 250) shadow.check(owner.heap);
        if (step % 1000 == 500) goes(core::Reach::away, owner);
        if (step % 1000 == 600) goes(core::Reach::shared, owner);
        if (step % 1000 == 700) goes(core::Reach::file, owner);
        if (step % 1000 >= 500 && step % 100 == 0) shadow.check(owner.heap);
      }
      shadow.check(owner.heap);
      EXPECT_THROW(static_cast<void>(owner.heap.allocate(SIZE_MAX / 2)), std::bad_alloc);
      EXPECT_THROW(static_cast<void>(owner.heap.allocate(8, 65536)), std::bad_alloc);
      Heap other(std::move(owner.heap));
      shadow.check(other);
    }
    finish();
  };
  EXPECT_EQ(run_on(1, body), 0);
  EXPECT_EQ(wrong, 0);
}

TEST(ChareHeap, WhatIsNoneIsNotRead) {
  auto body = [] {
    const core::Type& type = core::TypeOf<Owner>::entry;
    Owner owner;
    static_cast<void>(owner.heap.allocate(100));
    std::vector<char> data(type.write(&owner, nullptr, core::Reach::file));
    type.write(&owner, data.data(), core::Reach::file);
    for (std::size_t cut = 0; cut < data.size(); cut += cut < 200 ? 1 : 501) {
      core::ElementBase* const read = type.read(data.data(), cut, core::Reach::file);
      EXPECT_EQ(read, nullptr) << cut;
    }
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) {  // but for the extent itself: where it lies, how long it is
      std::vector<char> changed = data;
      changed[random() % 56] ^= static_cast<char>(1 << random() % 8);
      if (core::ElementBase* const read = type.read(changed.data(), changed.size(), core::Reach::file)) {
        core::ElementBase* const leaves = read;
        std::vector<char> again(type.write(leaves, nullptr, core::Reach::shared));
        type.write(leaves, again.data(), core::Reach::shared);  // it is the owner's
        type.destroy(leaves);
      }
    }
    finish();
  };
  told_by([&] { EXPECT_EQ(run_on(1, body), 1); });
}

}  // namespace
}  // namespace nigh::chare
