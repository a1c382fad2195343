// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The state of communicators. States are made by the hooks on the functions that make communicators
// (comm_make.cpp) and found again by comm_state(), a look into a small direct-mapped cache. A communicator
// whose making was not seen (spawn, connect, sessions) has none: nullptr, and its calls are the library's. A
// state's memory is recycled but never given back, so that a stale look at it reads a handle that doesn't
// match.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "message/collective.hpp"
#include "mpi/process.hpp"

namespace nigh::mpi {

// Handles are pointers in Open MPI and ints in MPICH.
inline std::uintptr_t handle_bits(int handle) { return static_cast<unsigned>(handle); }
inline std::uintptr_t handle_bits(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

// A communicator over several nodes whose members all have us (census.hpp): CommState::group holds
// the members on this node, in the order of their ranks; one leader a node, or each member as one of a
// column, talks to the other nodes through the library.
struct Hierarchy {
  MPI_Comm leaders =
      MPI_COMM_NULL;  // the first member of each node, in the order of the nodes; null on all others
  MPI_Comm columns = MPI_COMM_NULL;  // the members at my place of all nodes; made when first needed
  int nodes = 0;
  int node = 0;               // mine
  std::vector<int> node_of;   // member -> node, numbered by their first members
  std::vector<int> local_of;  // member -> its place among the members of its node
  std::vector<int> members;   // the members on this node, ascending
  int largest = 0;            // members of the node that has the most
  bool even = false;          // as many members on each node
  bool ordered = false;       // each node's members are consecutive ranks
};

struct CommState {
  std::atomic<std::uintptr_t> handle = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  std::uint64_t context = 0;  // the same on all members, and of no other communicator of the job
  bool inter = false;
  int rank = 0, size = 0;  // of the local group
  int peers = 0;           // those that ranks name in point-to-point: size, or the remote group's
  std::vector<int> world;  // peer -> rank in MPI_COMM_WORLD, or -1
  std::vector<int> space;  // peer -> rank in the space when point-to-point with it may be ours, else -1
  bool together = false;   // all members reach each other: they may have a group
  // Collectives in place. Until the first one there are only this member's cells, which it has told its peers
  // of (comm_group.hpp). Both null: the library's, on all members alike.
  message::Group* group = nullptr;
  message::Cells* cells = nullptr;
  Hierarchy* hierarchy = nullptr;  // then `group` is this node's part only (nullptr: alone on its node)
  // Over several nodes: calls that are still the library's before the members may have a hierarchy; 0: they
  // have one, or have none for good; negative: it is no such communicator.
  int before_levels = -1;
  Reason why = Reason::distant;  // without a group: what to count
  std::uint64_t made = 0;        // communicators made from this one: part of their contexts
  std::uint64_t windows = 0;     // the same of windows
  CommState* next = nullptr;     // among those to be used again
  void* coll = nullptr;          // of the files of collectives, freed by their comm hooks (below)
};

// Told of every state that was made (all else of it is filled) and will be freed. A hook that still needs the
// group then (a call that was started and not waited for) takes it: `group` set to nullptr is not deleted.
class CommHooks {
 public:
  CommHooks(void (*made)(CommState&), void (*freed)(CommState&));
  CommHooks(const CommHooks&) = delete;
  CommHooks& operator=(const CommHooks&) = delete;

 private:
  friend void tell_made(CommState& state);
  friend void tell_freed(CommState& state);
  void (*made_)(CommState&);
  void (*freed_)(CommState&);
  CommHooks* next_;
};
void tell_made(CommState& state);
void tell_freed(CommState& state);

inline constexpr std::size_t comm_cache_size = 64;
extern std::atomic<CommState*> g_comm_cache[comm_cache_size];  // never nullptr

inline std::size_t comm_cache_index(std::uintptr_t bits) { return (bits * 0x9e3779b97f4a7c15u) >> 58; }

CommState* comm_state_slow(MPI_Comm comm);

// --- for the frame: comm.cpp, comm_make.cpp ---
void comms_start();  // MPI_COMM_WORLD and MPI_COMM_SELF
void comms_stop();   // frees all states
// Makes the state of a new communicator, called by all its members; on MPI_COMM_NULL does nothing. `name`:
// equal on all members and never used before among them.
void make_state(MPI_Comm comm, std::uint64_t name);
// The same for a communicator with the members of `parent`, in two steps: before the library makes it, when
// no peer can have it yet, and after. On MPI_COMM_NULL (it could not be made) the second undoes the first.
CommState* begin_copy(CommState& parent, std::uint64_t name);
void end_copy(CommState& copy, MPI_Comm comm);
// Enters it so that comm_state() finds it; false: no memory, or the library refused the attribute.
CommState* new_state(MPI_Comm comm);
bool enter_state(CommState& state);
void drop_state(CommState& state);
void detach_state(MPI_Comm comm);  // before the library frees it
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

// nullptr: the call is the library's.
inline CommState* comm_state(MPI_Comm comm) {
  const auto bits = handle_bits(comm);
  CommState* state = g_comm_cache[comm_cache_index(bits)].load(std::memory_order_acquire);
  if (state->handle.load(std::memory_order_relaxed) == bits) [[likely]]
    return state;
  return comm_state_slow(comm);
}

// Calls the communicator's error handler as the library would; returns the code to return if that comes back.
int raise(MPI_Comm comm, int code);
// The error to raise for an outcome: a dead peer, no memory. The first function only returns it.
int code_of(MPI_Comm comm, message::Outcome outcome);
int raise(MPI_Comm comm, message::Outcome outcome);

}  // namespace nigh::mpi
