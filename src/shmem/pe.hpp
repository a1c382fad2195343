// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of a processing element: the space, the symmetric heap that lies in it, and the teams. An address
// of another PE is our own symmetric address plus the distance of the two heaps (Brightwell, CUG 2009, p.
// 14); for static data the space knows the distance. A PE on another node has no such address: it is reached
// through the transport (away.hpp). A misuse that the specification leaves undefined (an address that is not
// symmetric, a PE that does not exist) ends the program with one sentence, since a put that goes nowhere
// would be worse.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "message/collective.hpp"
#include "message/wait.hpp"
#include "shmem/away.hpp"
#include "shmem/symmetric_heap.hpp"
#include "space/process_space.hpp"
#include "space/shared_data.hpp"

// Opaque in shmem.h.
struct nigh_shmem_team {
  std::vector<int> pes;  // of the world, by member
  int member = -1;       // ours
  int contexts = 0;
  std::unique_ptr<nigh::message::Group> group;  // nullptr: it spans nodes, and `away` is the transport's
  void* away = nullptr;
  ~nigh_shmem_team();
};
struct nigh_shmem_context {
  nigh_shmem_team* team;
};

namespace nigh::shmem {

// The page that each PE shows the others (Root::shmem).
struct Shown {
  std::byte* heap = nullptr;
  std::size_t heap_bytes = 0;
  int pid = 0;   // for shmem_global_exit
  int pe = 0;    // of the world
  int node = 0;  // only those of our own are near: tests pretend several
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
  int rank = 0, size = 1;                // of the world
  std::vector<int> near;                 // by PE: its rank in the space; -1: on another node
  std::vector<Shown*> shown;             // by PE; nullptr: on another node
  std::vector<std::ptrdiff_t> distance;  // their heap less ours
  std::byte* heap = nullptr;
  std::size_t heap_bytes = 0;
  std::vector<space::SharedData> data;  // static data that all PEs share
  // True if these bytes begin in shared static data; in that or in a block of the symmetric heap.
  [[nodiscard]] bool in_static_data(const void* at) const;
  [[nodiscard]] bool is_symmetric(const void* at) const;
  std::size_t fast_bytes =
      0;  // heap_bytes, or 0 when the job spans nodes: every access is then a chance to serve
  SymmetricHeap symmetric;
  Away* away = nullptr;  // only when the job spans nodes
  int thread_level = 0;
  bool finalized = false;
};

// The PE of this process; shmem_init makes it. `self()` ends the program when it was not called.
extern Pe* pe;
Pe& self(const char* function);

[[noreturn]] void stop(const char* function, const char* what);

// The address in `to`'s memory of what lies at `mine` in ours; nullptr: on another node, where far_...()
// reach it.
inline std::byte* remote(const char* function, const void* mine, int to);
std::byte* remote_slow(const char* function, const void* mine, int to);

inline std::byte* remote(const char* function, const void* mine, int to) {
  auto* at = static_cast<std::byte*>(const_cast<void*>(mine));
  if (pe && static_cast<std::size_t>(at - pe->heap) < pe->fast_bytes &&
      static_cast<std::size_t>(to) < pe->distance.size())
    return at + pe->distance[static_cast<std::size_t>(to)];
  return remote_slow(function, mine, to);
}

// Access to a PE for which remote() gave nullptr.
void far_put(const char* function, void* dest, const void* source, std::size_t bytes, int to,
             bool blocking = true);
void far_get(const char* function, void* dest, const void* source, std::size_t bytes, int from,
             bool blocking = true);
std::uint64_t far_amo(const char* function, const AmoCall& call, int at);
void far_post(const char* function, const AmoCall& call, int at);
// Ends the program unless all of these bytes are symmetric.
void far_check(const char* function, const void* at, std::size_t bytes);

// Serves PEs on other nodes, if there are any.
inline void serve() {
  if (pe && pe->away) pe->away->poll();
}

// Finds the transport and shows it our symmetric memory.
void go_away(Pe& me, const char* mpi);

// Makes `team` that of these PEs; false when we are not among them. Collective over them.
bool make_team(const std::vector<int>& pes, nigh_shmem_team& team);
// The team of a deprecated active set; made on first use and kept.
nigh_shmem_team* active_set(const char* function, int start, int log_stride, int size);

void run(const char* function, nigh_shmem_team* team, const message::Call& call);

}  // namespace nigh::shmem
