// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "message/pool.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "message/inbox.hpp"
#include "message/pool_trial.hpp"

namespace nigh::message {
namespace {

TEST(Pool, ClassesFit) {
  for (unsigned i = 0; i < Pool::classes; ++i) {
    const std::size_t size = Pool::size_of_class(i);
    EXPECT_EQ(size % 64, 0U);
    EXPECT_EQ(Pool::class_of(size), i);
    EXPECT_EQ(Pool::class_of(size + 1), i + 1);
    EXPECT_LE(size, i == 0 ? 64 : Pool::size_of_class(i - 1) * 5 / 4 + 128);
  }
  EXPECT_EQ(Pool::class_of(0), 0U);
  EXPECT_EQ(Pool::size_of_class(Pool::classes - 1), Pool::most_classed);
}

TEST(Pool, HandsOutWhatIsFree) {
  Scarce memory{std::size_t{1} << 30};
  {
    PoolDoor door;
    Pool pool(&door, 0, 1, memory.memory());
    for (unsigned seed = 1; seed <= 3; ++seed) use_at_random(pool, seed);
    EXPECT_EQ(pool.use().out, 0U);
    EXPECT_GT(pool.use().chunks, 0U);
    pool.trim();
    EXPECT_EQ(pool.use().chunks, 0U) << "all of it was free";
    void* const kept = pool.get(100);
    void* const large = pool.get(3 << 20);
    EXPECT_EQ(pool.use().out, 128 + (std::size_t{4} << 20));
    pool.trim();
    std::memset(kept, 1, 100);
    std::memset(large, 1, 3 << 20);
  }
  EXPECT_EQ(memory.left, std::size_t{1} << 30) << "blocks in use go with their pool, too";
}

TEST(Pool, BlocksComeHome) {
  Two two;
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(two.a.get(64 + 16 * static_cast<std::size_t>(i)));
  const std::size_t held = two.a.use().chunks, out = two.a.use().out;
  for (void* block : blocks) two.b.give(block);
  two.b.flush();
  EXPECT_EQ(two.a.use().out, out) << "seen when it looks";
  for (int i = 0; i < 1000; ++i) EXPECT_NE(two.a.get(64 + 16 * static_cast<std::size_t>(i)), nullptr);
  EXPECT_EQ(two.a.use().chunks, held) << "the same blocks again";
  EXPECT_LE(two.b.use().chunks, Pool::chunk_bytes) << "bags";
}

TEST(Pool, OneWayTrafficNeedsNoMoreMemory) {
  Two two;
  std::vector<void*> under_way;
  for (int i = 0; i < 300'000; ++i) {
    under_way.push_back(two.a.get(static_cast<std::size_t>(i) % 4000));
    if (under_way.size() < 100) continue;
    for (void* block : under_way) two.b.give(block);
    under_way.clear();
    if (i % 7 == 0) two.b.flush();
    if (i % 11 == 0) two.a.flush();
  }
  EXPECT_LE(two.a.use().chunks, 4 * Pool::chunk_bytes);
  EXPECT_LE(two.b.use().chunks, Pool::chunk_bytes) << "emptied bags come back, or are used again";
}

TEST(Pool, EmptyBagsDoNotGoToAndFro) {
  Two two;
  for (int i = 0; i < 3000; ++i) {
    two.b.give(two.a.get(64));
    two.b.flush();
  }
  for (int i = 0; i < 100; ++i) {
    two.a.trim(), two.a.flush();
    two.b.trim(), two.b.flush();
  }
  two.a.flush(), two.b.flush();
  EXPECT_EQ(two.doors[0].take(), nullptr);
  EXPECT_EQ(two.doors[1].take(), nullptr);
}

TEST(Pool, WithoutMemory) {
  Scarce memory{Pool::chunk_bytes}, none{0};
  Two two(nullptr, memory.memory(), none.memory());
  std::vector<void*> blocks;
  while (void* block = two.a.get(5000)) blocks.push_back(block);
  EXPECT_GT(blocks.size(), 300U);
  EXPECT_EQ(two.a.get(1 << 20), nullptr);
  EXPECT_EQ(two.a.get(~std::size_t{0}), nullptr);
  EXPECT_EQ(two.b.get(64), nullptr);
  for (void* block : blocks) two.b.give(block);  // without a bag
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_NE(two.a.get(5000), nullptr);
  EXPECT_EQ(two.a.get(5000), nullptr);
}

TEST(Pool, LargeBlocksAreUsedAgain) {
  Two two;
  void* const first = two.a.get(3 << 20);
  two.b.give(first);  // at once, though it's only one
  EXPECT_EQ(two.a.get(3 << 20), first);
  two.a.give(first);
  EXPECT_EQ(two.a.get(2 << 20), first) << "up to twice as large";
  for (int i = 0; i < 40; ++i) two.a.give(two.a.get(std::size_t{40} << 20));
  std::vector<void*> many;
  for (int i = 0; i < 40; ++i) many.push_back(two.a.get(std::size_t{4} << 20));
  for (void* block : many) two.a.give(block);
  EXPECT_LE(two.a.use().free, std::size_t{70} << 20) << "not for ever";
}

// Each thread sends stamped blocks to all others through their inboxes and gives back what it receives.
TEST(PoolThreads, GiveEachOtherBlocks) {
  constexpr std::uint32_t threads = 4, each = 30'000;
  struct Message {
    Link link;
    std::uint32_t bytes = 0;
    unsigned char stamp = 0;
  };
  PoolDoor doors[threads];
  const PoolAccounting accounting;  // which every other pool keeps
  std::vector<std::unique_ptr<Pool>> pools;
  const std::size_t inbox_bytes = InboxMemory<>::bytes(threads, 4);
  std::vector<void*> memory;
  std::vector<InboxMemory<>> parts;
  for (std::uint32_t t = 0; t < threads; ++t) {
    pools.push_back(std::make_unique<Pool>(&doors[t], t, threads, PoolMemory::of_process(), nullptr,
                                           t % 2 == 1 ? &accounting : nullptr));
    memory.push_back(::operator new(inbox_bytes, std::align_val_t{64}));
    parts.push_back(InboxMemory<>::make(memory.back(), threads, 4));
  }
  std::atomic<std::uint32_t> wrong = 0, taken = 0;
  auto work = [&](std::uint32_t me) {
    std::mt19937 random(me);
    Inbox<> inbox(parts[me]);
    std::vector<Lane<>> lanes;
    for (std::uint32_t to = 0; to < threads; ++to) lanes.emplace_back(parts[to], me);
    auto take = [&] {
      taken += static_cast<std::uint32_t>(inbox.take([&](Link* link) {
        auto* const message = reinterpret_cast<Message*>(link);
        const auto* payload = reinterpret_cast<unsigned char*>(message + 1);
        for (std::uint32_t i = 0; i < message->bytes; ++i) wrong += payload[i] != message->stamp;
        pools[me]->give(message);
      }));
    };
    for (std::uint32_t i = 0; i < each; ++i) {
      const std::uint32_t bytes = random() % (i % 1000 == 0 ? 700'000 : 700);
      auto* const message = new (pools[me]->get(sizeof(Message) + bytes)) Message;
      message->bytes = bytes;
      message->stamp = static_cast<unsigned char>(random());
      std::memset(static_cast<void*>(message + 1), message->stamp, bytes);
      lanes[random() % threads].push(&message->link);
      if (i % 100 == 0) take();
    }
    for (Lane<>& lane : lanes) lane.flush();
    while (taken.load() < threads * each) {
      take();
      std::this_thread::yield();
    }
    pools[me]->flush();
  };
  std::vector<std::thread> running;
  for (std::uint32_t t = 0; t < threads; ++t) running.emplace_back(work, t);
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0U);
  for (int round = 0; round < 3; ++round)
    for (auto& pool : pools) {
      pool->trim();
      pool->flush();
    }
  for (auto& pool : pools)
    EXPECT_LE(pool->use().out, std::size_t{threads - 1} * 40 * sizeof(Bag)) << "bags at most";
  for (std::uint32_t t = 1; t < threads; t += 2) {
    EXPECT_EQ(pools[t]->accounts()->all.blocks_ever, each);
    EXPECT_EQ(pools[t]->accounts()->all.bytes, 0U);
    EXPECT_EQ(pools[t]->accounts()->bags.bytes, pools[t]->use().out);
  }
  for (void* m : memory) ::operator delete(m, std::align_val_t{64});
}

// Processes over one mapping; one is killed while it gives blocks back, again and again.
TEST(PoolProcesses, AKilledOneDelaysNobody) {
  struct Shared {
    PoolDoor doors[2];
    std::atomic<std::size_t> used;
    std::atomic<void*> hand;
  };
  constexpr std::size_t arena = 64 * Pool::chunk_bytes;
  void* const all = mmap(nullptr, arena + Pool::chunk_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(all, MAP_FAILED);
  auto* const shared = new (all) Shared;
  shared->used = ~(reinterpret_cast<std::uintptr_t>(all)) % Pool::chunk_bytes + 1;
  const PoolMemory memory{[](void* at, std::size_t bytes) -> void* {
                            const std::size_t from = static_cast<Shared*>(at)->used.fetch_add(bytes);
                            return from + bytes > arena ? nullptr : static_cast<char*>(at) + from;
                          },
                          [](void*, void*, std::size_t) {}, all};
  auto pool = std::make_unique<Pool>(&shared->doors[0], 0, 2, memory);
  Pool& mine = *pool;
  std::size_t got = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Pool theirs(&shared->doors[1], 1, 2, memory);
      for (;;)
        if (void* block = shared->hand.exchange(nullptr)) {
          theirs.give(block);
          theirs.flush();
        } else {
          sched_yield();
        }
    }
    const std::size_t enough = got + 2000 + 977 * static_cast<std::size_t>(round);
    for (; got < enough; ++got) {
      void* const block = mine.get(500);
      ASSERT_NE(block, nullptr);
      std::memset(block, round, 500);
      while (shared->hand.load()) sched_yield();
      shared->hand = block;
    }
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    shared->hand = nullptr;
  }
  EXPECT_LE(mine.use().chunks, 4 * Pool::chunk_bytes) << "a few blocks are lost with each, not more";
  pool.reset();
  munmap(all, arena + Pool::chunk_bytes);
}

}  // namespace
}  // namespace nigh::message
