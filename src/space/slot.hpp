// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The slot of this process: made once, by whoever needs it first, which is most often the loader's first
// malloc, before libc has read the environment. It becomes on or off and stays so; only the child of a fork
// turns it into private memory. What the parts of the memory half share lies here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "space/lock.hpp"
#include "space/memory.hpp"
#include "sys/raw_memory.hpp"

namespace nigh::space {

enum class Phase : int { unborn, starting, off, on };

struct SlotCounters {
  std::atomic<std::uint64_t> extents{0};          // handed out of the slot
  std::atomic<std::uint64_t> private_extents{0};  // that should have come from the slot and did not
  std::atomic<std::uint64_t> private_bytes{0};
  std::atomic<std::uint64_t> holes{0};
  std::atomic<std::uint64_t> asked{0};      // chunks of 2 MiB that are huge when touched
  std::atomic<std::uint64_t> collapsed{0};  // chunks
  std::atomic<std::uint64_t> not_collapsed{0};
  std::atomic<std::uint64_t> forks{0};
  std::atomic<std::uint64_t> fork_bytes{0};
  std::atomic<std::uint64_t> fork_ns{0};
};

struct Slot {
  MemoryState state;
  sys::FileIdentity file;
  bool private_now = false;  // the child of a fork: same addresses, memory of its own
  int nodes = 1;             // NUMA nodes
  std::uint64_t total = 0;   // memory of the machine
  Listener listener;
  std::atomic<bool> patched{false};
  std::atomic<std::uint64_t> peers[kMaxRanks / 64] = {};  // mapped
  SlotCounters count;
};
extern Slot g_slot;

Phase phase();
// Off or on when it returns, except for the thread that is just making it: starting.
Phase start();

// In our slot, shared or (after a fork) private.
inline bool in_slot(std::uintptr_t lo, std::size_t bytes) {
  const std::uintptr_t offset = lo - g_slot.state.slot;
  return offset < g_slot.state.span && bytes <= g_slot.state.span - offset;
}
// The memfd is still what it was: programs may close descriptors that they don't know.
bool fd_is_ours();

// start_environment as job.hpp asks for it.
const char* look_up_at_start(const char* name, void*);

void patched();  // something else is mapped within the slot

}  // namespace nigh::space
