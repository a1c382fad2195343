// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The notes of a pool on its blocks, on request: the debug mode, accounts, or both. A word for each line of a
// chunk lies in the chunk's first pages. The owner writes it when it hands the block out and reads it when
// the block has come home; in the debug mode the thread that gives a block back writes it, too. For accounts
// alone only the owner touches it: they add no traffic between PEs.
#pragma once

#include <algorithm>
#include <array>
#include <deque>

#include "message/pool.hpp"

namespace nigh::message {

inline constexpr int poison = 0xdd;  // what the debug mode fills free blocks with

// Pages that the words take. Those of the lines that they lie in would be the first ones, so the chunk's
// header has room there.
inline constexpr std::size_t recorded_line = 64;
inline constexpr unsigned record_pages =
    Pool::chunk_bytes / recorded_line * sizeof(std::uint64_t) / Pool::page_bytes;

struct Pool::Watch {
  using Record = atomic<std::uint64_t>;
  enum class State : std::uint64_t { none, used, given };  // none: no message, so perhaps a bag
  static constexpr std::uint64_t record_of(State state, std::uint32_t by, std::uint32_t tag) {
    return static_cast<std::uint64_t>(state) << 62 | std::uint64_t{by & 0x3fffffff} << 32 | tag;
  }
  static constexpr State state_of(std::uint64_t record) { return static_cast<State>(record >> 62); }
  static constexpr std::uint32_t tag_of(std::uint64_t record) { return static_cast<std::uint32_t>(record); }
  static constexpr std::uint32_t by_of(std::uint64_t record) {
    return static_cast<std::uint32_t>(record >> 32) & 0x3fffffff;
  }
  static Record& record(PoolChunk* chunk, const void* block) {
    if (chunk->class_of_page[0] == own_chunk) return chunk->own_record;
    return reinterpret_cast<Record*>(chunk)[chunk->offset(block) / recorded_line];
  }
  static bool is_message(PoolChunk* chunk, const void* block) {
    return state_of(record(chunk, block).load(std::memory_order_relaxed)) != State::none;
  }

  Watch(const PoolDebug* debug, const PoolAccounting* accounting)
      : debugs(debug != nullptr), keeps_accounts(accounting != nullptr) {
    if (debug) with = *debug;
    if (accounting) accounting_ = *accounting;
  }

  void found(PoolFault::Kind kind, const void* block, std::uint64_t record) const {
    if (with.found) with.found({kind, block, tag_of(record), by_of(record)});
  }
  PoolAccount& account(std::uint32_t tag) {
    return accounts.of[accounting_.account_of ? accounting_.account_of(tag) : tag];
  }
  void got(std::uint32_t tag, std::size_t size) {
    account(tag).got(size);
    accounts.all.got(size);
    peak.in_use = std::max(peak.in_use, accounts.all.bytes);
  }
  void came_home(std::uint32_t tag, std::size_t size) {
    account(tag).came_home(size);
    accounts.all.came_home(size);
  }
  void holds(std::size_t bytes) {
    accounts.most_held = std::max<std::uint64_t>(accounts.most_held, bytes);
    peak.held = std::max<std::uint64_t>(peak.held, bytes);
  }

  const bool debugs, keeps_accounts;
  PoolDebug with;
  std::array<std::deque<void*>, classes> free;  // debug mode: not handed out yet
  PoolAccounts accounts;
  PoolPeak peak;  // since it was asked for

 private:
  PoolAccounting accounting_;
};

}  // namespace nigh::message
