// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What a processing element is made of: the space, the symmetric heap that lies in it, and the teams. An
// address of another PE is our own symmetric address plus the distance of the two heaps (seed 003, p. 14);
// for static data the space knows the distance. A misuse that the specification leaves undefined (an address
// that is not symmetric, a PE that does not exist) ends the program with one sentence, since a put that goes
// nowhere would be worse.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "message/collective.hpp"
#include "message/wait.hpp"
#include "shmem/symmetric_heap.hpp"
#include "space/process_space.hpp"

// Opaque in shmem.h.
struct nigh_shmem_team {
  std::vector<int> pes;  // of the world, by member
  int member = -1;       // ours
  int contexts = 0;
  std::unique_ptr<nigh::message::Group> group;
};
struct nigh_shmem_context {
  nigh_shmem_team* team;
};

namespace nigh::shmem {

// What each PE shows the others (Root::shmem).
struct Shown {
  std::byte* heap = nullptr;
  std::size_t heap_bytes = 0;
  int pid = 0;  // for shmem_global_exit
  // Cells for groups under way of being made: by the number that their members agree on.
  struct Meeting {
    std::atomic<std::uint64_t> number = 0;
    std::atomic<message::Cells*> cells = nullptr;
  };
  static constexpr int meetings = 64;
  Meeting meeting[meetings];
};

struct Pe {
  space::ProcessSpace* space = nullptr;
  std::unique_ptr<message::Waiter> waiter;
  std::vector<Shown*> shown;             // by PE; nullptr: out of reach
  std::vector<std::ptrdiff_t> distance;  // their heap less ours
  std::byte* heap = nullptr;
  std::size_t heap_bytes = 0;
  SymmetricHeap symmetric;
  int thread_level = 0;
  bool finalized = false;
};

// Of this process; shmem_init makes it. `self()` ends the program when it was not called.
extern Pe* pe;
Pe& self(const char* function);

[[noreturn]] void stop(const char* function, const char* what);

// The address in `to`'s memory of what lies at `mine` in ours.
inline std::byte* remote(const char* function, const void* mine, int to);
std::byte* remote_slow(const char* function, const void* mine, int to);

inline std::byte* remote(const char* function, const void* mine, int to) {
  auto* at = static_cast<std::byte*>(const_cast<void*>(mine));
  if (pe && static_cast<std::size_t>(at - pe->heap) < pe->heap_bytes &&
      static_cast<std::size_t>(to) < pe->distance.size() && pe->shown[static_cast<std::size_t>(to)])
    return at + pe->distance[static_cast<std::size_t>(to)];
  return remote_slow(function, mine, to);
}

// A group of these PEs, made by all of them at once; nullptr when we are not among them. Collective over
// them.
std::unique_ptr<message::Group> make_group(const std::vector<int>& pes);
// The team of a deprecated active set; made on first use and kept.
nigh_shmem_team* active_set(const char* function, int start, int log_stride, int size);

void run(const char* function, nigh_shmem_team* team, const message::Call& call);

}  // namespace nigh::shmem
