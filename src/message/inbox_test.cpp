// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of many producers: each one's order, nothing lost or doubled, whatever stalls; bounded memory with
// ten thousand producers; and producers that are processes and are killed.
#include "message/inbox.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "message/charm_queues.hpp"

namespace nigh::message {
namespace {

struct Numbered {
  Link link;
  std::uint32_t from = 0;
  std::uint64_t number = 0;
};
static_assert(offsetof(Numbered, link) == 0);

Numbered* numbered(Link* link) { return reinterpret_cast<Numbered*>(link); }

// Checks each producer's order.
class Arrivals {
 public:
  explicit Arrivals(std::size_t producers) : next_(producers, 0) {}
  void operator()(Link* link) {
    const Numbered& message = *numbered(link);
    wrong_ += next_[message.from]++ == message.number ? 0 : 1;
    ++all_;
  }
  [[nodiscard]] std::uint64_t all() const { return all_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t of(std::size_t producer) const { return next_[producer]; }

 private:
  std::vector<std::uint64_t> next_;
  std::uint64_t all_ = 0, wrong_ = 0;
};

template <class Queue>
class Queues : public testing::Test {};
// Rings of two lines that may not grow: nearly all goes through the list, and back, and through it again.
struct TightQueue : LaneQueue {
  explicit TightQueue(std::uint32_t producers) : LaneQueue(producers, 2, false) {}
};
struct GrowingQueue : LaneQueue {
  explicit GrowingQueue(std::uint32_t producers) : LaneQueue(producers, 2) {}
};
using All = testing::Types<LockedQueue, FencedQueue, ProducerQueues, LaneQueue, TightQueue, GrowingQueue>;
TYPED_TEST_SUITE(Queues, All);

std::size_t items() {
  const char* soak = std::getenv("NIGH_SOAK");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(NIGH_SANITIZED)
  return 20'000;
#endif
  return soak && *soak != '0' ? 333'333'333 : 1'000'000;
}

// Producers and consumer stall at random.
TYPED_TEST(Queues, KeepEachProducersOrderAndLoseNothing) {
  for (const std::uint32_t producers : {1U, 3U, 20U}) {
    TypeParam queue(producers);
    const std::size_t each = items() / producers;
    std::vector<std::vector<Numbered>> messages(producers);
    std::vector<std::thread> threads;
    constexpr std::size_t window = 1 << 14;  // memory for messages that are under way
    std::vector<std::atomic<std::uint64_t>> arrived(producers);
    for (std::uint32_t p = 0; p < producers; ++p) {
      messages[p].resize(window);
      threads.emplace_back([&, p] {
        std::minstd_rand random(p + 1);
        for (std::size_t i = 0; i < each; ++i) {
          Numbered& message = messages[p][i % window];
          while (i >= window && arrived[p].load(std::memory_order_acquire) <= i - window) {
            queue.flush(p);
            std::this_thread::yield();
          }
          message = {{}, p, i};
          queue.push(p, &message.link);
          if (random() % 64 == 0) queue.flush(p);
          if (random() % 4096 == 0) std::this_thread::yield();
        }
        queue.flush(p);
      });
    }
    Arrivals arrivals(producers);
    std::minstd_rand random(99);
    while (arrivals.all() < each * producers) {
      const std::size_t most = random() % 3 == 0 ? 1 + random() % 10 : ~std::size_t{0};
      const std::size_t got = queue.take(
          [&](Link* link) {
            const std::uint32_t from = numbered(link)->from;
            arrivals(link);
            arrived[from].store(arrivals.of(from), std::memory_order_release);
          },
          most);
      if (got == 0 || random() % 512 == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(arrivals.wrong(), 0U);
    EXPECT_EQ(arrivals.all(), each * producers);
    EXPECT_EQ(queue.take([](Link*) {}), 0U);
  }
}

struct alignas(16) Small {
  Link link;
  std::uint32_t from = 0;
  std::uint64_t number = 0;
  std::uint32_t more[8] = {};
};
static_assert(sizeof(Small) == copied_whole && offsetof(Small, from) >= copied_from);

// Some go as copies, whose memory is their producer's again at once: it writes something else there.
class Copies {
 public:
  Copies(const InboxMemory<>& parts, std::uint32_t number, std::size_t each)
      : lane_(parts, number), number_(number), blocks_(each), random_(number + 7) {
    for (Small& block : blocks_) free_.push_back(&block);
  }
  void push(std::uint64_t i) {
    Small& message = *free_.back();
    free_.pop_back();
    message = {{}, number_, i};
    for (std::uint32_t& word : message.more) word = static_cast<std::uint32_t>(i);
    const bool copies = random_() % 64 < (i / 60 % 3) * 32;  // none, half of them, all
    const bool out = copies ? lane_.push_copy(&message.link) : lane_.push(&message.link);
    if (out || (random_() % 8 == 0 && lane_.flush())) take_back();
  }
  void end() {
    lane_.flush();
    take_back();
  }
  [[nodiscard]] std::uint64_t copied() const { return copied_; }

 private:
  void take_back() {
    lane_.take_copied([&](Link* link) {
      auto* const block = reinterpret_cast<Small*>(link);
      *block = {{}, 1000, 1000};
      free_.push_back(block);
      ++copied_;
    });
  }
  Lane<> lane_;
  std::uint32_t number_;
  std::vector<Small> blocks_;
  std::vector<Small*> free_;
  std::minstd_rand random_;
  std::uint64_t copied_ = 0;
};
struct TakesCopies {
  void operator()(Link* link) { look(*reinterpret_cast<const Small*>(link)); }
  void operator()(std::uint32_t producer, const char* copy) {
    Small message;
    std::memcpy(reinterpret_cast<char*>(&message) + copied_from, copy, copied_bytes);
    wrong += message.from == producer ? 0 : 1;
    look(message);
    ++copies;
  }
  void look(const Small& message) {
    wrong += next[message.from]++ == message.number ? 0 : 1;
    for (const std::uint32_t word : message.more) wrong += word == message.number ? 0 : 1;
    ++all;
  }
  std::vector<std::uint64_t> next;
  std::uint64_t wrong = 0, all = 0, copies = 0;
};
TEST(Inbox, CopiesAndMessagesKeepTheirOrder) {
  const std::size_t each = items() / 5;
  for (const std::uint32_t producers : {1U, 3U, 20U})
    for (const bool grows : {true, false}) {
      const std::size_t bytes = InboxMemory<>::bytes(producers, 4);
      void* const memory = ::operator new(bytes, std::align_val_t{64});
      RingMemory more;
      if (grows)
        more = {[](std::size_t size) { return ::operator new(size, std::align_val_t{64}); },
                [](void* ring, std::size_t) { ::operator delete(ring, std::align_val_t{64}); }};
      const auto parts = InboxMemory<>::make(memory, producers, 4, more);
      {
        Inbox<> inbox(parts);
        std::vector<std::unique_ptr<Copies>> ends;
        for (std::uint32_t p = 0; p < producers; ++p)
          ends.push_back(std::make_unique<Copies>(parts, p, each / producers));
        std::vector<std::thread> threads;
        for (auto& end : ends)
          threads.emplace_back([&] {
            for (std::uint64_t i = 0; i < each / producers; ++i) end->push(i);
            end->end();
          });
        TakesCopies takes{std::vector<std::uint64_t>(producers)};
        std::minstd_rand random(5);
        while (takes.all < each / producers * producers)
          if (inbox.take(takes, 1 + random() % 100) == 0) std::this_thread::yield();
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(takes.wrong, 0U);
        EXPECT_EQ(inbox.take(takes), 0U);
        std::uint64_t copied = 0;
        for (const auto& end : ends) copied += end->copied();
        EXPECT_EQ(copied, takes.copies);
        EXPECT_TRUE(copied > 0 || !grows);
      }
      ::operator delete(memory, std::align_val_t{64});
    }
}

TEST(Inbox, SeesNothingUntilABatchIsFullOrFlushed) {
  LaneQueue queue(1);
  std::vector<Numbered> messages(30);
  for (std::size_t i = 0; i < messages.size(); ++i) messages[i] = {{}, 0, i};
  Arrivals arrivals(1);
  for (std::size_t i = 0; i < 27; ++i) queue.push(0, &messages[i].link);
  EXPECT_EQ(queue.take(arrivals), 0U);
  queue.push(0, &messages[27].link);
  EXPECT_EQ(queue.take(arrivals), 28U);
  queue.push(0, &messages[28].link);
  EXPECT_EQ(queue.take(arrivals), 0U);
  queue.flush(0);
  EXPECT_EQ(queue.take(arrivals), 1U);
  queue.push(0, &messages[29].link);
  queue.flush(0);
  EXPECT_EQ(queue.take(arrivals), 1U);
  EXPECT_EQ(arrivals.wrong(), 0U);
}

// The figure of the header, and that rings are found by their bit: a round of ten thousand producers, of
// which three have something.
TEST(Inbox, TenThousandProducersFitIntoLittleMemory) {
  constexpr std::uint32_t producers = 10'000, lines = 4;
  EXPECT_LT(InboxMemory<>::bytes(producers, lines), 3'1'000'000U);
  LaneQueue queue(producers, lines);
  std::vector<Numbered> messages(std::size_t{producers} * 40);
  Arrivals arrivals(producers);
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < 40; ++i)  // more than a ring holds: the rest goes into the list
    for (std::uint32_t p = 0; p < producers; ++p, ++at) {
      messages[at] = {{}, p, i};
      queue.push(p, &messages[at].link);
    }
  for (std::uint32_t p = 0; p < producers; ++p) queue.flush(p);
  while (queue.take(arrivals, 1000) != 0) {}
  EXPECT_EQ(arrivals.all(), messages.size());
  EXPECT_EQ(arrivals.wrong(), 0U);
  std::vector<Numbered> three(3);
  for (std::uint32_t k = 0; k < 3; ++k) {
    three[k] = {{}, k * 4999, 40};
    queue.push(k * 4999, &three[k].link);
    queue.flush(k * 4999);
  }
  EXPECT_EQ(queue.take(arrivals), 3U);
  EXPECT_EQ(arrivals.wrong(), 0U);
}

// Processes over shared memory. Some are killed while they push: what they had published arrives in order,
// and the others are not held up.
TEST(Inbox, OutlivesProducersThatAreKilled) {
  constexpr std::uint32_t producers = 4, lines = 4;
  constexpr std::size_t each = 200'000;
  const std::size_t queue_bytes = InboxMemory<>::bytes(producers, lines);
  const std::size_t bytes = queue_bytes + producers * each * sizeof(Numbered);
  void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  const auto parts = InboxMemory<>::make(shared, producers, lines);
  auto* messages = reinterpret_cast<Numbered*>(static_cast<char*>(shared) + queue_bytes);
  std::vector<int> children;
  for (std::uint32_t p = 0; p < producers; ++p) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    Lane<> lane(parts, p);
    for (std::size_t i = 0; i < each; ++i) {
      Numbered& message = messages[p * each + i];
      message = {{}, p, i};
      lane.push(&message.link);
      if (p >= 2 && i == each / 2) ::usleep(200'000);  // so that it is killed on its way
    }
    lane.flush();
    ::_exit(0);
  }
  Inbox<> inbox(parts);
  Arrivals arrivals(producers);
  const auto take_some = [&] {
    if (inbox.take(arrivals, 1000) == 0) std::this_thread::yield();
  };
  while (arrivals.of(2) + arrivals.of(3) < each / 2) take_some();
  for (const std::uint32_t p : {2U, 3U}) ::kill(children[p], SIGKILL);
  for (const int child : children) ::waitpid(child, nullptr, 0);
  while (inbox.take(arrivals) != 0) {}
  EXPECT_EQ(arrivals.wrong(), 0U);
  EXPECT_EQ(arrivals.of(0), each);
  EXPECT_EQ(arrivals.of(1), each);
  for (const std::uint32_t p : {2U, 3U}) EXPECT_LE(arrivals.of(p), each);
  ::munmap(shared, bytes);
}

}  // namespace
}  // namespace nigh::message
