// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace nigh::fft {

namespace {
constexpr std::size_t cache_line = 64;
constexpr std::size_t kept_from = std::size_t{16} << 10, kept_to = std::size_t{64} << 20;

// Before what is given out.
struct alignas(cache_line) Block {
  std::size_t bytes;
};

// The memory that a thread has given back, for itself.
class Kept {
 public:
  ~Kept() {
    for (Block*& block : blocks_) std::free(std::exchange(block, nullptr));
  }
  // Not more than twice as large as is wanted.
  Block* take(std::size_t bytes) {
    for (Block*& block : blocks_)
      if (block != nullptr && block->bytes >= bytes && block->bytes / 2 <= bytes)
        return std::exchange(block, nullptr);
    return nullptr;
  }
  // The one that was kept longest goes.
  void keep(Block* block) {
    std::rotate(blocks_.begin(), blocks_.end() - 1, blocks_.end());
    std::free(std::exchange(blocks_[0], block));
  }

 private:
  std::array<Block*, 4> blocks_{};
};
thread_local Kept kept;
}  // namespace

void* get_workspace(std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + cache_line - 1) / cache_line * cache_line;
  if (whole < bytes) return nullptr;
  Block* block = kept.take(whole);
  if (block == nullptr) {
    block = static_cast<Block*>(std::aligned_alloc(cache_line, sizeof(Block) + whole));
    if (block == nullptr) return nullptr;
    block->bytes = whole;
  }
  return block + 1;
}

void give_workspace(void* memory) noexcept {
  if (memory == nullptr) return;
  Block* block = static_cast<Block*>(memory) - 1;
  if (block->bytes < kept_from || block->bytes > kept_to) return std::free(block);
  kept.keep(block);
}

}  // namespace nigh::fft
