// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One collective call of MPI on its way to message::Group. Whether a call is ours depends only on what all
// members know to be equal (the communicator, and of reductions the operation and the type); how a member
// gets its own bytes into one piece is its own affair: what lies in pieces is packed into a temporary, before
// the call or after it. Blocking calls keep a Prepared on the stack, non-blocking ones in their operation:
// the code between is the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "message/collective.hpp"
#include "mpi/comm.hpp"
#include "mpi/op.hpp"
#include "mpi/process.hpp"
#include "mpi/types.hpp"

namespace nigh::mpi::coll {

struct Neighbors;

// The state of collectives on a communicator (CommState::coll).
struct Coll {
  message::Group* group = nullptr;
  std::uint64_t context = 0;
  bool knows_neighbors = false;
  std::shared_ptr<const Neighbors> neighbors;  // neighbors.hpp
  std::atomic<bool> busy =
      false;                     // a call is in the group: with threads a lock, else it keeps progress() out
  std::atomic<int> holders = 1;  // the communicator, and the calls whose requests the user still has

  bool try_enter() {
    if (busy.load(std::memory_order_relaxed)) return false;
    if (process().contended.load(std::memory_order_relaxed))
      return !busy.exchange(true, std::memory_order_acquire);
    busy.store(true, std::memory_order_relaxed);
    return true;
  }
  void enter() {
    while (!try_enter()) wait_turn();
  }
  void leave() {
    g_met.store(true, std::memory_order_relaxed);
    busy.store(false, std::memory_order_release);
  }

 private:
  static void wait_turn();
};

inline Coll* coll_of(CommState& state) { return static_cast<Coll*>(state.coll); }

// The offsets and lengths of a v-form's blocks; arrays of the call, inline for as many members as fit.
class Arrays {
 public:
  Arrays() = default;
  ~Arrays();
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  // Room for `words` words, or nullptr. Until the call has ended.
  std::size_t* take(std::size_t words);

 private:
  static constexpr std::size_t inline_words = 192;
  std::size_t used_ = 0;
  void* more_ = nullptr;  // a chain of blocks from malloc
  std::size_t inline_[inline_words];
};

// Bytes of a message in one piece, in memory of the space if there is some left.
class Temporary {
 public:
  Temporary() = default;
  ~Temporary() {
    if (data_ != nullptr) give_back();
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void* take(std::size_t bytes);  // nullptr: no memory at all
  [[nodiscard]] char* data() const { return static_cast<char*>(data_); }

 private:
  void give_back();
  void* data_ = nullptr;
  bool in_space_ = false;
};

// Types by the handles that they had first, kept through the program's MPI_Type_free.
class KeptTypes {
 public:
  KeptTypes() = default;
  KeptTypes(const KeptTypes&) = delete;
  KeptTypes& operator=(const KeptTypes&) = delete;
  ~KeptTypes();
  TypeInfo* find(MPI_Datatype type);

 private:
  struct Kept {
    MPI_Datatype type;
    TypeInfo* info;
  };
  std::vector<Kept> kept_;
};

struct Prepared {
  bool outlives_call = false;  // of a non-blocking call
  KeptTypes* kept = nullptr;   // of a call that is prepared again and again
  [[nodiscard]] TypeInfo* info(MPI_Datatype type) const { return kept ? kept->find(type) : type_info(type); }
  message::Call call;
  Reduction reduction;
  bool nothing = false;     // no member has anything to do
  bool no_memory = false;   // for a temporary: this member can't take part
  bool bad_buffer = false;  // null, with something to send or receive: the library shall say so
  int members = 0, member = 0;
  Temporary send, receive;
  Arrays arrays;

  // The type to unpack from `receive` at the end: one block, or with the arrays one of each member.
  TypeInfo* unpack_type = nullptr;
  TypeInfo** unpack_types = nullptr;  // or one of each block
  char* unpack_to = nullptr;
  MPI_Count unpack_count = 0;  // elements of one block
  int unpack_blocks = 0;
  const std::size_t* unpack_counts = nullptr;   // of the v-forms: elements,
  const std::size_t* unpack_places = nullptr;   // ... bytes from unpack_to, as signed numbers,
  const std::size_t* unpack_offsets = nullptr;  // ... bytes in `receive`

  [[nodiscard]] std::size_t bytes() const { return call.bytes; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(members); }
  [[nodiscard]] bool unpacks() const { return unpack_type != nullptr || unpack_types != nullptr; }
};

// MPI_Type_free is legal while a non-blocking call still has to unpack.
inline void hold_types(Prepared& p) {
  if (p.unpack_type != nullptr) hold(p.unpack_type);
  for (int i = 0; p.unpack_types != nullptr && i < p.unpack_blocks; ++i) hold(p.unpack_types[i]);
}
inline void drop_types(Prepared& p) {
  if (p.unpack_type != nullptr) drop(p.unpack_type);
  for (int i = 0; p.unpack_types != nullptr && i < p.unpack_blocks; ++i) drop(p.unpack_types[i]);
}

// After the call: unpacks what was received in pieces. False: the library failed.
bool finish(Prepared& p);
bool unpacks_opaque(const Prepared& p);  // only the library can do that

// Bytes that the call brings to this rank.
std::uint64_t received(const Prepared& p);

// The reason of calls on a communicator whose collectives are not ours.
Reason fate_of(const CommState* state);

bool ours_now(CommState& state);  // after the members have met
// One more blocking collective that could have levels: true if it has.
bool levels_now(CommState& state);
inline bool has_levels(CommState* state) {
  return state != nullptr && state->before_levels >= 0 && levels_now(*state);
}
// True if calls on this communicator are ours.
inline bool ours(CommState* state) {
  if (state == nullptr) return false;
  if (state->group != nullptr) [[likely]]
    return !state->hierarchy;
  return state->cells != nullptr && ours_now(*state);
}

}  // namespace nigh::mpi::coll
