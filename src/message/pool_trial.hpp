// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of the pools' tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "message/pool.hpp"

namespace nigh::message {

// Memory that can run out.
struct Scarce {
  std::size_t left;
  PoolMemory memory() {
    return {[](void* self, std::size_t bytes) -> void* {
              std::size_t& left = static_cast<Scarce*>(self)->left;
              if (left < bytes) return nullptr;
              left -= bytes;
              return PoolMemory::of_process().get(nullptr, bytes);
            },
            [](void* self, void* memory, std::size_t bytes) {
              static_cast<Scarce*>(self)->left += bytes;
              PoolMemory::of_process().give(nullptr, memory, bytes);
            },
            this};
  }
};

// The contents of a block in use; they reveal two blocks that overlap.
struct Stamped {
  char* block = nullptr;
  std::size_t bytes = 0;
  unsigned char stamp = 0;
  void write() const { std::memset(block, stamp, bytes); }
  [[nodiscard]] bool holds() const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (static_cast<unsigned char>(block[i]) != stamp) return false;
    return true;
  }
};

inline std::size_t some_size(std::mt19937& random) {
  const unsigned kind = random() % 100;
  if (kind < 70) return random() % 600;
  if (kind < 97) return random() % 40'000;
  return random() % 1'500'000;
}

inline void use_at_random(Pool& pool, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Stamped> in_use;
  for (int i = 0; i < 20'000; ++i) {
    if (in_use.size() < 50 || random() % 2 == 0) {
      Stamped one{nullptr, some_size(random), static_cast<unsigned char>(random())};
      one.block = static_cast<char*>(pool.get(one.bytes));
      ASSERT_NE(one.block, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(one.block) % 64, 0U);
      one.write();
      in_use.push_back(one);
    } else {
      std::swap(in_use[random() % in_use.size()], in_use.back());
      ASSERT_TRUE(in_use.back().holds());
      pool.give(in_use.back().block);
      in_use.pop_back();
    }
    if (in_use.size() > 200) {
      for (const Stamped& one : in_use) pool.give(one.block);
      in_use.clear();
    }
    if (i % 5000 == 0) pool.trim();
  }
  for (const Stamped& one : in_use) {
    ASSERT_TRUE(one.holds());
    pool.give(one.block);
  }
}

// Two pools of one thread, so that who has what is known.
struct Two {
  explicit Two(const PoolDebug* debug = nullptr, PoolMemory a_memory = PoolMemory::of_process(),
               PoolMemory b_memory = PoolMemory::of_process(), const PoolAccounting* accounting = nullptr)
      : a(&doors[0], 0, 2, a_memory, debug, accounting), b(&doors[1], 1, 2, b_memory, debug, accounting) {}
  PoolDoor doors[2];
  Pool a, b;
};

struct Faults {
  std::vector<PoolFault> all;
  PoolDebug debug{[this](const PoolFault& fault) { all.push_back(fault); }, 4};
};

}  // namespace nigh::message
