// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided communication by loads and stores. Each member of a window shows its peers a card in the space:
// where its memory lies, and the words of its locks. Operations on memory that a peer reaches are done when
// the call returns; all others are the library's, which has made the window, too, and judges every epoch that
// it is told of. It is not told of locks as long as it has nothing to do under them. Which of the two does an
// operation is free for MPI_Put and MPI_Get, but not where operations must be atomic to each other: the
// accumulate family and the locks are ours only where all members reach each other (docs/decisions/0027).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "message/atomic.hpp"
#include "mpi/away.hpp"
#include "mpi/comm.hpp"

namespace nigh::mpi {

inline constexpr std::size_t stripe_bytes = 4096, stripe_count = 16;

// In memory of the space, which is used again for other windows only.
struct alignas(64) Card {  // NOLINT(clang-analyzer-optin.performance.Padding): lines of their own
  // Constant while the window lives.
  std::uint64_t capacity = 0;  // of posts()
  char* base = nullptr;        // as the peers see it
  std::size_t bytes = 0, unit = 1;
  bool shared = false;  // they reach all of it

  // The member's lock: held for one, wanted for one, how many share it (window_epochs.cpp).
  alignas(64) message::atomic<std::uint64_t> lock = 0;
  // The window's, in the card of the first member: how many hold the lock of all, how many a lock for one.
  alignas(64) message::atomic<std::uint64_t> holders = 0;
  message::atomic<std::uint32_t> waiting = 0;  // for one of the two
  // The number of epochs that this rank has begun by MPI_Win_fence.
  alignas(64) message::atomic<std::uint64_t> fences = 0;
  // Held by who accumulates into a stripe of the memory. Stripe i, i + stripe_count, ... have the same.
  struct alignas(64) Guard {
    message::atomic<std::uint32_t> held = 0;
  } guards[stripe_count];
  // The number of times that this rank has exposed its memory to each member by MPI_Win_post.
  message::atomic<std::uint64_t>* posts() {
    return reinterpret_cast<message::atomic<std::uint64_t>*>(this + 1);
  }
};

// A member, for the operations of this rank on it.
struct Target {
  enum Held : std::uint8_t { shared = 1, exclusive = 2, unchecked = 4, by_library = 8 };
  Card* card = nullptr;  // nullptr: all is the library's
  char* base = nullptr;  // as this rank sees it; nullptr: out of its reach
  std::size_t bytes = 0, unit = 1;
  std::uint64_t starts = 0;            // how often MPI_Win_start was for it
  bool accumulates = false;            // the accumulate family is ours, on all members alike
  bool started = false;                // it is in the epoch of the last one
  int assertion = 0;                   // of MPI_Win_lock
  std::atomic<std::uint8_t> held = 0;  // the lock of this member
  std::atomic<bool> pending = false;   // the library may not have completed all that it was given
};

// The epoch that this rank has opened. `library`: passive, and all of it the library's.
enum class Access : std::uint8_t { none, fence, started, locks, all, library };

struct Window {
  std::atomic<std::uintptr_t> handle = 0;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Group group = MPI_GROUP_NULL;  // its members, once they were asked for
  std::uint64_t context = 0;
  int rank = 0, size = 0;
  bool together = false;  // all members reach each other
  Card* card = nullptr;
  std::unique_ptr<Target[]> targets;
  std::vector<int> seats;  // member -> rank in the space, or -1
  bool allocated = false;  // by MPI_Win_allocate, says the program
  void* memory = nullptr;  // then; ours, in the space
  std::atomic<Access> access = Access::none;
  std::atomic<int> locks = 0;         // members that are locked
  std::atomic<bool> told = false;     // the library of the lock of all
  std::atomic<bool> pending = false;  // of a target
  int assertion = 0;                  // of MPI_Win_lock_all
  std::uint64_t fences = 0;
  std::atomic<bool> stored = false;  // in members' memory, since the last fence of the CPU
  std::atomic<unsigned> quiet = 0;   // calls that gave the library no time to go on
  std::mutex telling;
  Window* next = nullptr;

  [[nodiscard]] bool is_member(int target) const { return target >= 0 && target < size; }
  [[nodiscard]] bool is_passive() const {
    const Access now = access.load(std::memory_order_relaxed);
    return now == Access::locks || now == Access::all;
  }
};

// Windows are found in a small direct-mapped cache of handles, as communicators are.
inline constexpr std::size_t window_cache_size = comm_cache_size;
extern std::atomic<Window*> g_window_cache[window_cache_size];  // never nullptr
Window* window_slow(MPI_Win win);
// nullptr: the call is the library's.
inline Window* window_of(MPI_Win win) {
  const auto bits = handle_bits(win);
  Window* window = g_window_cache[comm_cache_index(bits)].load(std::memory_order_acquire);
  if (window->handle.load(std::memory_order_relaxed) == bits) [[likely]]
    return window;
  return window_slow(win);
}

// Memory of the space for messages and windows; nullptr: none. For release() of the space.
void* new_block(std::size_t bytes, bool zeroed, std::size_t align = 0);

// --- epochs (window_epochs.cpp) ---
// True: an operation may touch the member's memory now. Does not wait.
inline bool is_open(const Window& window, const Target& target) {
  switch (window.access.load(std::memory_order_relaxed)) {
    case Access::all: return true;
    case Access::locks: return target.held.load(std::memory_order_relaxed) != 0;
    case Access::fence: return target.card->fences.load(std::memory_order_acquire) >= window.fences;
    case Access::started:
      return target.started &&
             target.card->posts()[window.rank].load(std::memory_order_acquire) >= target.starts;
    default: return false;
  }
}
// The same, after a short wait where that helps, or as long a one as it takes.
bool wait_open(const Window& window, const Target& target, bool as_long_as_it_takes);
// Before an operation on the member that the library does: it is told of the lock.
void tell_library(Window& window, int target);
// All locks: the library is to judge what the program does next.
void tell_library_all(Window& window);
// The library, and what this rank owes its peers, gets its turn now and then.
void let_others_go_on(Window& window);

// An operation that the library does.
template <class Call>
int leave(Function function, Window* window, int target, Reason reason, std::uint64_t bytes, Call&& call) {
  if (window) tell_library(*window, target);
  count(function, reason);
  const Away away;
  const int error = call();
  if (error == MPI_SUCCESS) count_bytes(function, reason, bytes);
  return error;
}

}  // namespace nigh::mpi
