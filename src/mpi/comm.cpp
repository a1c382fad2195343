// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The book of communicator states: a hash table under a lock behind the cache of comm.hpp. The library tells
// by an attribute's delete callback when a handle is gone. Handles that we know nothing of are remembered
// too, so that their calls cost no more than ours.
#include "mpi/comm.hpp"

#include <mutex>
#include <new>

#include "message/atomic.hpp"
#include "mpi/comm_group.hpp"

namespace nigh::mpi {
namespace {

constexpr std::size_t bucket_count = 256;

struct Book {
  std::mutex lock;
  CommState* buckets[bucket_count] = {};  // chains by CommState::next
  CommState* spare = nullptr;
  int keyval = MPI_KEYVAL_INVALID;
  int dead_code = MPI_ERR_OTHER;
};

Book& book() {
  static auto* made = new Book;  // never destroyed: callbacks come until the very end
  return *made;
}

// The place of a handle's state.
CommState** place_of(std::uintptr_t bits) {
  CommState** at = &book().buckets[(bits * 0x9e3779b97f4a7c15u) >> 56];
  while (*at && (*at)->handle.load(std::memory_order_relaxed) != bits) at = &(*at)->next;
  return at;
}

CommState g_nobody;                                      // its handle, 0, is no communicator's
std::atomic<std::uintptr_t> g_unknown[comm_cache_size];  // handles without a state
CommHooks* g_comm_hooks = nullptr;

int on_delete(MPI_Comm, int, void* value, void*) {
  auto* state = static_cast<CommState*>(value);
  if (state->handle.load(std::memory_order_relaxed) != 0) drop_state(*state);
  return MPI_SUCCESS;
}

void fill_cache() {
  for (auto& entry : g_comm_cache) entry.store(&g_nobody, std::memory_order_relaxed);
  for (auto& entry : g_unknown) entry.store(0, std::memory_order_relaxed);
}

}  // namespace

std::atomic<CommState*> g_comm_cache[comm_cache_size];

CommHooks::CommHooks(void (*made)(CommState&), void (*freed)(CommState&))
    : made_(made), freed_(freed), next_(g_comm_hooks) {
  g_comm_hooks = this;
}

void tell_made(CommState& state) {
  for (CommHooks* hooks = g_comm_hooks; hooks; hooks = hooks->next_)
    if (hooks->made_) hooks->made_(state);
}

void tell_freed(CommState& state) {
  for (CommHooks* hooks = g_comm_hooks; hooks; hooks = hooks->next_)
    if (hooks->freed_) hooks->freed_(state);
}

CommState* comm_state_slow(MPI_Comm comm) {
  const auto bits = handle_bits(comm);
  auto& unknown = g_unknown[comm_cache_index(bits)];
  if (unknown.load(std::memory_order_acquire) == bits) return nullptr;
  Book& all = book();
  const std::lock_guard guard(all.lock);
  CommState* found = *place_of(bits);
  if (found)
    g_comm_cache[comm_cache_index(bits)].store(found, std::memory_order_release);
  else
    unknown.store(bits, std::memory_order_release);
  return found;
}

CommState* new_state(MPI_Comm comm) {
  Book& all = book();
  CommState* state = nullptr;
  {
    const std::lock_guard guard(all.lock);
    state = all.spare;
    if (state) all.spare = state->next;
  }
  if (!state) state = new CommState;
  state->next = nullptr;
  state->comm = comm;
  return state;
}

bool enter_state(CommState& state) {
  Book& all = book();
  const auto bits = handle_bits(state.comm);
  const bool predefined = state.comm == MPI_COMM_WORLD || state.comm == MPI_COMM_SELF;
  if (!predefined && real().Comm_set_attr(state.comm, all.keyval, &state) != MPI_SUCCESS) return false;
  const std::lock_guard guard(all.lock);
  CommState** place = place_of(bits);
  state.next = *place ? (*place)->next : nullptr;  // of a handle that was freed unseen
  *place = &state;
  state.handle.store(bits, std::memory_order_release);
  g_unknown[comm_cache_index(bits)].store(0, std::memory_order_release);
  return true;
}

// Leaves the book, then is emptied; the memory stays a CommState for ever.
void drop_state(CommState& state) {
  Book& all = book();
  const auto bits = state.handle.load(std::memory_order_relaxed);
  if (bits != 0) tell_freed(state);
  {
    const std::lock_guard guard(all.lock);
    if (CommState** place = place_of(bits); *place == &state) *place = state.next;
    state.handle.store(0, std::memory_order_release);
    auto& entry = g_comm_cache[comm_cache_index(bits)];
    if (entry.load(std::memory_order_relaxed) == &state) entry.store(&g_nobody, std::memory_order_release);
  }
  drop_group(state);
  if (state.hierarchy)
    for (MPI_Comm* one : {&state.hierarchy->leaders, &state.hierarchy->columns})
      if (*one != MPI_COMM_NULL) real().Comm_free(one);
  delete state.hierarchy;
  state.hierarchy = nullptr;
  state.coll = nullptr;
  state.before_levels = -1;
  state.together = false;
  state.context = state.made = state.windows = 0;
  state.why = Reason::distant;
  state.world.clear();
  state.space.clear();
  const std::lock_guard guard(all.lock);
  state.next = all.spare;
  all.spare = &state;
}

// MPICH frees what has pending requests only when the last of these ends, from within its progress, and drops
// its lock around the delete function of an attribute: another thread that polls then enters UCX's progress
// beside it, which aborts. So our attribute goes first, while nothing is under way in this thread.
void detach_state(MPI_Comm comm) {
  CommState* state = comm == MPI_COMM_NULL ? nullptr : comm_state(comm);
  if (state && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) real().Comm_delete_attr(comm, book().keyval);
}

void comms_start() {
  Book& all = book();
  fill_cache();
  if (real().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &all.keyval, nullptr) != MPI_SUCCESS)
    return;
  if (real().Add_error_code(MPI_ERR_OTHER, &all.dead_code) == MPI_SUCCESS)
    real().Add_error_string(all.dead_code, "nigh: a rank of this communicator has died");
}

void comms_stop() {
  Book& all = book();
  for (;;) {
    CommState* state = nullptr;
    {
      const std::lock_guard guard(all.lock);
      for (CommState* first : all.buckets)
        if (first) state = first;
      if (!state) break;
    }
    drop_state(*state);
  }
}

int raise(MPI_Comm comm, int code) {
  real().Comm_call_errhandler(comm, code);
  return code;
}

namespace {

// A launcher ends the job that has lost a rank, with its own status and its own words. So that these stay
// what they are without us, an error that would end the job comes a moment later.
void leave_it_to_the_launcher(MPI_Comm comm) {
  constexpr std::int64_t moment_ns = 2'000'000'000;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (real().Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return;
  const bool fatal = handler == MPI_ERRORS_ARE_FATAL;
  real().Errhandler_free(&handler);
  if (!fatal) return;
  const std::atomic<std::uint32_t> nothing = 0;
  const std::int64_t end = message::now_ns() + moment_ns;
  for (std::int64_t now = message::now_ns(); now < end; now = message::now_ns())
    message::sleep_on(&nothing, 0, static_cast<long>(end - now));
  say("a rank of this communicator has died");
}

}  // namespace

int code_of(MPI_Comm comm, message::Outcome outcome) {
  switch (outcome) {
    case message::Outcome::peer_dead: leave_it_to_the_launcher(comm); return book().dead_code;
    case message::Outcome::no_memory: return MPI_ERR_NO_MEM;
    default: return MPI_SUCCESS;
  }
}

int raise(MPI_Comm comm, message::Outcome outcome) {
  const int code = code_of(comm, outcome);
  return code == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, code);
}

}  // namespace nigh::mpi
