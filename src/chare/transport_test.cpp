// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rings of bytes between processes, here between threads, so that sanitizers see both ends.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "chare/transport_shm.hpp"

namespace nigh::chare {

namespace {

using core::Header;

Header* message_of(std::size_t bytes) {
  auto* const out = static_cast<Header*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  new (out) Header{};
  out->units = static_cast<std::uint32_t>(bytes / 16) & 0x3ffffff;
  return out;
}

// A message of any size that the receiver can make again from its number alone.
Header* made(std::uint32_t from, std::uint32_t to, std::uint32_t number) {
  std::mt19937 random(from * 7919 + to * 104729 + number);
  const std::size_t most = number % 50 == 7 ? std::size_t{3} << 20 : number % 5 == 0 ? 40000 : 200;
  const std::size_t bytes = sizeof(Header) + 16 * (random() % (most / 16));
  Header* const out = message_of(bytes);
  out->array = static_cast<std::uint16_t>(from);
  out->element = number;
  const auto fill = static_cast<unsigned char>(random());
  std::memset(static_cast<void*>(out + 1), fill, bytes - sizeof(Header));
  return out;
}

struct Owner final : Transport::Owner {
  explicit Owner(Transport& transport) : transport(transport), next(transport.processes()) {}
  Header* memory(std::size_t bytes) override {
    if (++asked % 13 == 0) return nullptr;  // now and then there is none: it is asked again
    return message_of(bytes);
  }
  void came(Header* message) override {
    const std::uint32_t from = message->array;
    Header* const wanted = made(from, transport.process(), next[from]++);
    same = same && message->bytes() == wanted->bytes() && message->element == wanted->element &&
           std::memcmp(message + 1, wanted + 1, wanted->bytes() - sizeof(Header)) == 0;
    std::free(message);
    std::free(wanted);
    ++count;
  }
  void sent(void* message) override { std::free(message); }
  Transport& transport;
  std::vector<std::uint32_t> next;
  unsigned asked = 0, count = 0;
  bool same = true;
};

}  // namespace

TEST(ShmTransport, AllComeInTheirOrder) {
  constexpr std::uint32_t processes = 3, messages = 400;
  auto first = ShmTransport::make(processes);
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::unique_ptr<ShmTransport>> ends;
  for (std::uint32_t p = 1; p < processes; ++p) ends.push_back((*first)->beside());
  ends.insert(ends.begin(), std::move(*first));
  std::vector<std::thread> threads;
  for (std::uint32_t p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      ShmTransport& transport = *ends[p];
      transport.become(p, ::getppid());
      const std::string mine(1000 * p + 3, static_cast<char>('a' + p));
      const std::vector<std::string> all = transport.exchange(mine);
      for (std::uint32_t other = 0; other < processes; ++other)
        EXPECT_EQ(all[other], std::string(1000 * other + 3, static_cast<char>('a' + other)));
      Owner owner(transport);
      for (std::uint32_t number = 0; number < messages; ++number) {
        for (std::uint32_t to = 0; to < processes; ++to)
          if (to != p) transport.send(to, made(p, to, number), owner);
        if (number % 3 == 0) transport.flush();
        if (number % 4 != p) transport.progress(owner);
      }
      transport.flush();
      while (owner.count < (processes - 1) * messages || !transport.all_sent())
        if (!transport.progress(owner)) std::this_thread::yield();
      EXPECT_TRUE(owner.same);
      EXPECT_FALSE(transport.progress(owner));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(ShmTransport, ThereIsAWordForNoMemory) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{1 << 16, before.rlim_max};
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  const auto none = ShmTransport::make(2);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("/dev/shm gives no"), std::string::npos) << none.error().message;
}

}  // namespace nigh::chare
