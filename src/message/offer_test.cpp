// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Offers between ranks that are threads: every way an offer can go, names that lead nowhere, halves, dead
// peers, and many at random.
#include "message/offer.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "message/offer_map.hpp"
#include "message/thread_ranks.hpp"

namespace nigh::message {
namespace {

std::vector<char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<char> data(bytes);
  std::minstd_rand random(seed + 1);
  for (char& c : data) c = static_cast<char>(random());
  return data;
}

Envelope to_rank(int to, int tag = 0, std::uint64_t context = 0) {
  return {.to = to, .tag = tag, .context = context};
}

TEST(Offers, ReceiverTakesFromWhereTheDataLies) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    ASSERT_TRUE(offers.usable());
    const auto data = pattern(100'000, 1);
    if (r.rank == 0) {
      Offer* offer = offers.open(data.data(), nullptr, data.size(), to_rank(1, 7, 9));
      ASSERT_NE(offer, nullptr);
      EXPECT_FALSE(Offers::released(offer));
      name = Offers::name_of(offer);
      r.meet();
      r.meet();
      EXPECT_TRUE(Offers::released(offer));
      offers.close(offer);
      EXPECT_EQ(offers.open_offers(), 0);
      EXPECT_EQ(offers.counts().staged, 0u);
    } else {
      r.meet();
      Offer* offer = offers.find(0, name);
      ASSERT_NE(offer, nullptr);
      EXPECT_EQ(Offers::bytes_of(offer), data.size());
      EXPECT_EQ(Offers::envelope_of(offer).tag, 7);
      EXPECT_EQ(Offers::envelope_of(offer).context, 9u);
      std::vector<char> got(data.size());
      offers.take(offer, got.data(), nullptr, got.size());
      EXPECT_EQ(got, data);
      EXPECT_EQ(offers.find(0, name), nullptr);  // once only
      r.meet();
    }
    EXPECT_TRUE(offers.validate());
  });
}

TEST(Offers, StagedCopyOutlivesTheUsersBuffer) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    const auto data = pattern(200'000, 2);
    if (r.rank == 0) {
      auto buffer = data;
      Offer* offer = offers.open(buffer.data(), nullptr, buffer.size(), to_rank(1));
      name = Offers::name_of(offer);
      offers.finish(offer);  // nobody takes it: must come back by itself
      EXPECT_TRUE(Offers::released(offer));
      std::fill(buffer.begin(), buffer.end(), 'x');
      offers.close(offer);
      EXPECT_EQ(offers.counts().staged, 1u);
      r.meet();
      r.meet();
      Offer* next = offers.open(buffer.data(), nullptr, 1, to_rank(1));  // reclaims the zombie
      EXPECT_EQ(offers.open_offers(), 1);
      offers.withdraw(next);
      EXPECT_EQ(offers.open_offers(), 0);
    } else {
      r.meet();
      Offer* offer = offers.find(0, name);
      ASSERT_NE(offer, nullptr);
      std::vector<char> got(data.size());
      offers.take(offer, got.data(), nullptr, got.size());
      EXPECT_EQ(got, data);
      r.meet();
    }
    EXPECT_TRUE(offers.validate());
  });
}

TEST(Offers, PrivateBytesAreCopiedAtOnce) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    const auto data = pattern(5000, 3);
    if (r.rank == 0) {
      Offer* offer = offers.open_copy(data.data(), nullptr, data.size(), to_rank(1));
      EXPECT_TRUE(Offers::released(offer));
      name = Offers::name_of(offer);
      offers.close(offer);
      r.meet();
      r.meet();
    } else {
      r.meet();
      std::vector<char> got(1000);
      offers.take(offers.find(0, name), got.data(), nullptr, got.size());  // less than was sent
      EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin()));
      r.meet();
    }
  });
}

TEST(Offers, CopiesStayBelowTheirLimit) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    offers.set_tuning({.most_copied = 100'000});
    const auto data = pattern(40'000, 4);
    if (r.rank == 0) {
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(offers.has_room(data.size()));
        Offer* offer = offers.open(data.data(), nullptr, data.size(), to_rank(1));
        ASSERT_TRUE(offers.stage(offer));
        name = Offers::name_of(offer);
        offers.close(offer);
      }
      EXPECT_FALSE(offers.has_room(data.size()));
      EXPECT_TRUE(offers.has_room(20'000));
      r.meet();
      r.meet();
      EXPECT_TRUE(offers.has_room(data.size()));  // one of them was received
      EXPECT_FALSE(offers.has_room(2 * data.size()));
    } else {
      r.meet();
      std::vector<char> got(data.size());
      offers.take(offers.find(0, name), got.data(), nullptr, got.size());
      r.meet();
    }
  });
}

TEST(Offers, KeepsBuffersOfCopiesBySize) {
  constexpr int small = 8;
  std::atomic<std::uint64_t> names[small + 2];
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    offers.set_tuning({.kept_bytes = 140'000, .most_copied = 1});
    const std::size_t sizes[small + 2] = {3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 40'000, 40'000};
    const auto* book = static_cast<const Book*>(r.waiter.front().offers[0].load(std::memory_order_acquire));
    const auto data = pattern(40'000, 5);
    if (r.rank == 0) {
      for (int i = 0; i < small + 2; ++i) {
        Offer* offer = offers.open(data.data(), nullptr, sizes[i], to_rank(1));
        ASSERT_TRUE(offers.stage(offer));
        names[i] = Offers::name_of(offer);
        offers.close(offer);
      }
      EXPECT_EQ(book->kept_bytes, 0u);
      r.meet();
      r.meet();
      offers.has_room(2);  // takes back all that were received
      // Two of 64 KiB and those of the eight of 4 KiB that fit beside them.
      EXPECT_EQ(book->kept_bytes, 2u * 65'536 + 2u * 4096);
      Offer* large = offers.open(data.data(), nullptr, 40'000, to_rank(1));
      ASSERT_TRUE(offers.stage(large));
      EXPECT_EQ(book->kept_bytes, 65'536u + 2u * 4096);  // it has a kept one of its size
      offers.withdraw(large);
      EXPECT_EQ(book->kept_bytes, 2u * 65'536 + 2u * 4096);
      r.meet();
    } else {
      r.meet();
      std::vector<char> got(data.size());
      for (int i = 0; i < small + 2; ++i)
        offers.take(offers.find(0, names[i]), got.data(), nullptr, got.size());
      r.meet();
      r.meet();
    }
  });
}

TEST(Offers, StrayNamesFindNothing) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(3, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    char byte = 1;
    if (r.rank == 0) {
      Offer* offer = offers.open(&byte, nullptr, 1, to_rank(1));
      name = Offers::name_of(offer);
      r.meet();
      r.meet();
      offers.withdraw(offer);
    } else {
      r.meet();
      std::minstd_rand random(4);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t stray =
            name ^ ((static_cast<std::uint64_t>(random()) << 31) | (random() | 1)) % (1ull << (i % 63 + 1));
        if (stray != name) { EXPECT_EQ(offers.find(0, stray), nullptr); }
      }
      EXPECT_EQ(offers.find(0, name) != nullptr, r.rank == 1);  // nobody else's message
      EXPECT_EQ(offers.find(-1, name), nullptr);
      EXPECT_EQ(offers.find(3, name), nullptr);
      r.meet();
    }
    r.meet();
    if (r.rank == 1) {  // withdrawn
      EXPECT_EQ(offers.find(0, name), nullptr);
    }
  });
}

TEST(Offers, ProbesSeeTheOldestOfTheirTag) {
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    char bytes[300] = {};
    if (r.rank == 0) {
      std::vector<Offer*> all;
      for (int i = 0; i < 200; ++i)  // more than one block of the pool
        all.push_back(offers.open(bytes, nullptr, static_cast<std::size_t>(i) + 1, to_rank(1, i % 2, 5)));
      r.meet();
      r.meet();
      for (Offer* offer : all) offers.withdraw(offer);
      EXPECT_EQ(offers.open_offers(), 0);
    } else {
      r.meet();
      EXPECT_EQ(offers.oldest(0, 5, 2), nullptr);
      EXPECT_EQ(offers.oldest(0, 6, 1), nullptr);
      for (std::size_t i = 1; i < 200; i += 2) {
        Offer* offer = offers.oldest(0, 5, 1);
        ASSERT_NE(offer, nullptr);
        EXPECT_EQ(Offers::bytes_of(offer), i + 1);
        if (i % 4 == 1)
          Offers::reserve(offer);
        else
          offers.take(offer, bytes, nullptr, sizeof bytes);
      }
      EXPECT_EQ(offers.oldest(0, 5, 1), nullptr);
      EXPECT_EQ(Offers::bytes_of(offers.oldest(0, 5, 0)), 1u);
      r.meet();
    }
    EXPECT_TRUE(offers.validate());
  });
}

// A target whose first page can't be written until somebody else has copied a part of the message.
class BlockedTarget {
 public:
  explicit BlockedTarget(std::size_t bytes) : bytes_(bytes) {
    data_ = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const std::size_t page = page_bytes();
    if (data_ == MAP_FAILED || ::mprotect(data_ + page, bytes - page, PROT_READ | PROT_WRITE) != 0)
      std::abort();
    blocked_ = data_;
    opened_ = false;
    struct sigaction wait_for_it = {};
    wait_for_it.sa_sigaction = [](int, siginfo_t* info, void*) {
      char* at = static_cast<char*>(info->si_addr);
      if (at < blocked_ || at >= blocked_ + page_bytes()) std::abort();
      while (!opened_) ::sched_yield();
      ::mprotect(blocked_, page_bytes(), PROT_READ | PROT_WRITE);
    };
    wait_for_it.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &wait_for_it, &before_);
  }
  BlockedTarget(const BlockedTarget&) = delete;
  BlockedTarget& operator=(const BlockedTarget&) = delete;
  ~BlockedTarget() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    ::munmap(data_, bytes_);
  }
  [[nodiscard]] char* data() { return data_; }
  static void open() { opened_ = true; }

 private:
  static std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
  static inline char* blocked_ = nullptr;
  static inline std::atomic<bool> opened_ = false;
  char* data_;
  std::size_t bytes_;
  struct sigaction before_ = {};
};

// The receiver stops in its first chunk until the sender has copied one: the sender's share is real however
// the two are scheduled.
TEST(Offers, BothSidesCopyTheirChunks) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(
      2,
      [&](ThreadRank r) {
        Offers offers(r.space, r.waiter);
        offers.set_tuning({.halves_from = 1, .chunk = 1000});
        const auto data = pattern(3'000'123, 5);
        for (int round = 0; round < 5; ++round) {
          if (r.rank == 0) {
            Offer* offer = offers.open(data.data(), nullptr, data.size(), to_rank(1));
            name = Offers::name_of(offer);
            r.meet();
            while (!Offers::released(offer))
              if (offers.help(offer)) BlockedTarget::open();
            offers.close(offer);
            r.meet();
            EXPECT_GE(offers.counts().helped_bytes, (static_cast<std::uint64_t>(round) + 1) * 123);
          } else {
            BlockedTarget got(data.size());
            r.meet();
            offers.take(offers.find(0, name), got.data(), nullptr, data.size());
            EXPECT_EQ(std::memcmp(got.data(), data.data(), data.size()), 0);
            r.meet();
          }
        }
      },
      2);
}

TEST(Offers, ASenderThatDoesNotHelpIsNotWaitedFor) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(
      2,
      [&](ThreadRank r) {
        Offers offers(r.space, r.waiter);
        offers.set_tuning({.halves_from = 1, .chunk = 1000});
        const auto data = pattern(100'000, 6);
        if (r.rank == 0) {
          Offer* offer = offers.open(data.data(), nullptr, data.size(), to_rank(1));
          name = Offers::name_of(offer);
          r.meet();
          r.meet();  // asleep until the receiver is through
          EXPECT_TRUE(Offers::released(offer));
          EXPECT_FALSE(offers.help(offer));
          offers.close(offer);
        } else {
          r.meet();
          std::vector<char> got(data.size());
          offers.take(offers.find(0, name), got.data(), nullptr, got.size());
          EXPECT_TRUE(got == data);
          r.meet();
        }
      },
      2);
}

// A chunk that a dead sender had claimed is copied by the receiver; a claim of a dead receiver lets the
// sender go.
TEST(Offers, DeathInTheMiddle) {
  std::atomic<std::uint64_t> name = 0;
  run_ranks(
      2,
      [&](ThreadRank r) {
        Offers offers(r.space, r.waiter);
        offers.set_tuning({.halves_from = 1, .chunk = 1000});
        const auto data = pattern(100'000, 7);
        if (r.rank == 0) {
          Offer* offer = offers.open(data.data(), nullptr, data.size(), to_rank(1));
          name = Offers::name_of(offer);
          claim_back(*offer, 100);  // as a sender that dies right after
          r.space.die();
          r.meet();
          r.meet();
          r.meet();
        } else {
          r.meet();
          std::vector<char> got(data.size());
          offers.take(offers.find(0, name), got.data(), nullptr, got.size());
          EXPECT_TRUE(got == data);
          r.meet();
          r.space.die();
          r.meet();
        }
      },
      2);
  run_ranks(2, [&](ThreadRank r) {
    Offers offers(r.space, r.waiter);
    char byte = 1;
    if (r.rank == 1) {
      r.meet();
      Offer* offer = offers.find(0, name);
      move_on(*offer, generation_of(offer->word), OfferState::claimed);
      r.space.die();
      r.meet();
    } else {
      Offer* offer = offers.open(&byte, nullptr, 1, to_rank(1));
      name = Offers::name_of(offer);
      r.meet();
      r.meet();
      offers.finish(offer);
      EXPECT_TRUE(Offers::released(offer));
      offers.close(offer);
      EXPECT_EQ(offers.open_offers(), 0);
    }
  });
}

TEST(Offers, SeveralBooksOfOneRankDoNotMeet) {
  std::atomic<std::uint64_t> names[2] = {};
  run_ranks(2, [&](ThreadRank r) {
    Offers one(r.space, r.waiter);
    Waiter other_waiter(r.space, 2);
    Offers two(r.space, other_waiter);
    if (r.rank == 0) {
      Offer* a = one.open("one", nullptr, 4, to_rank(1));
      Offer* b = two.open("two", nullptr, 4, to_rank(1));
      names[0] = Offers::name_of(a);
      names[1] = Offers::name_of(b);
      r.meet();
      r.meet();
      one.close(a);
      two.close(b);
    } else {
      r.meet();
      char got[4];
      two.take(two.find(0, names[0]), got, nullptr, 4);  // any may look
      EXPECT_STREQ(got, "one");
      one.take(one.find(0, names[1]), got, nullptr, 4);
      EXPECT_STREQ(got, "two");
      r.meet();
    }
  });
}

// A stream of offers in both directions at once, staged, helped or taken as it comes.
TEST(Offers, ManyAtRandom) {
  constexpr int messages = 400;
  std::atomic<std::uint64_t> names[2][messages] = {};
  run_ranks(
      2,
      [&](ThreadRank r) {
        Offers offers(r.space, r.waiter);
        offers.set_tuning({.halves_from = 20'000, .chunk = 4096, .kept_bytes = 100'000});
        std::minstd_rand random(static_cast<unsigned>(r.rank) + 9);
        const int peer = 1 - r.rank;
        int received = 0;
        const auto receive = [&] {
          if (received == messages) return;
          const std::uint64_t name = names[peer][received];
          if (name == 0) return;
          Offer* offer = offers.find(peer, name);
          ASSERT_NE(offer, nullptr);
          std::vector<char> got(Offers::bytes_of(offer));
          offers.take(offer, got.data(), nullptr, got.size());
          EXPECT_TRUE(got == pattern(got.size(), static_cast<unsigned>(received)));
          ++received;
        };
        for (int i = 0; i < messages; ++i) {
          auto data = pattern(random() % 50'000 + 1, static_cast<unsigned>(i));
          Offer* offer = offers.open(data.data(), nullptr, data.size(), to_rank(peer));
          names[r.rank][i] = Offers::name_of(offer);
          if (random() % 2) receive();
          if (random() % 2)
            offers.finish(offer);
          else
            while (!Offers::released(offer)) offers.help(offer) ? void() : receive();
          std::fill(data.begin(), data.end(), '?');
          offers.close(offer);
          if (i % 50 == 0) { EXPECT_TRUE(offers.validate()); }
        }
        while (received < messages) receive();
        r.meet();
        r.waiter.ring(peer);
      },
      2);
}

}  // namespace
}  // namespace nigh::message
