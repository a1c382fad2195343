// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Epochs. MPI_Win_fence, start, complete and post are the library's calls; we only count them, so that an
// operation can see whether its target has opened its part. Locks of a window whose members all reach each
// other are words in its cards: one of the member, and one of the first member for the lock of all against
// those for one (as in foMPI: Gerstenberger, Besta, Hoefler, SC 2013). The library is told of a lock, with
// ours held, when it gets something to do under it.
#include <algorithm>

#include "mpi/ours.hpp"
#include "mpi/request.hpp"
#include "mpi/window.hpp"

namespace nigh::mpi {
namespace {

// Card::lock: held for one, wanted for one, how many share it.
constexpr std::uint64_t for_one = 1ull << 63, one_waits = 1ull << 62, sharing = one_waits - 1;
// Card::holders: a lock for one is wanted, how many are held; the same of the lock of all.
constexpr std::uint64_t single_waits = 1ull << 63, single = 1ull << 32, singles = single_waits - single;
constexpr std::uint64_t all_waits = 1ull << 31, whole = 1, wholes = all_waits - whole;
// A rank that could join other holders of a lock first lets those go that wait for the holders to leave, but
// not for ever: both may hold a lock that the other waits for. A free lock is for the first to come, so that
// no two ranks are polite to each other.
constexpr int polite_looks = 2000;

void wait_until(Card& card, auto&& ready) {
  if (ready()) return;
  card.waiting.fetch_add(1, std::memory_order_seq_cst);
  process().waiter->until(ready);
  card.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void wake(const Window& window, const Card& card) {
  if (card.waiting.load(std::memory_order_relaxed) == 0) return;
  for (const int seat : window.seats)
    if (seat != process().space->rank()) process().waiter->ring(seat);
}

// A way to hold a lock: what keeps one out, those that hold it alike, who of the others waits, and what is
// added to the word, before, while one waits, and after.
struct Way {
  std::uint64_t against, alike, others_wait, more, waits;
};
constexpr Way to_share = {for_one, sharing, one_waits, 1, 0};
constexpr Way for_oneself = {for_one | sharing, 0, 0, for_one, one_waits};
constexpr Way as_single = {wholes, singles, all_waits, single, single_waits};
constexpr Way as_whole = {singles, wholes, single_waits, whole, all_waits};

bool enter(message::atomic<std::uint64_t>& word, const Way& way, bool polite) {
  std::uint64_t now = word.load(std::memory_order_relaxed);
  while ((now & way.against) == 0 && !(polite && (now & way.alike) != 0 && (now & way.others_wait) != 0))
    if (word.compare_exchange_weak(now, (now & ~way.waits) + way.more, std::memory_order_acquire))
      return true;
  if ((now & way.waits) != way.waits) word.fetch_or(way.waits, std::memory_order_relaxed);
  return false;
}

void wait_to_enter(Card& card, message::atomic<std::uint64_t>& word, const Way& way) {
  int looks = 0;
  wait_until(card, [&] { return enter(word, way, ++looks < polite_looks); });
}

void acquire(const Window& window, Card& card, int kind) {
  if (kind == Target::shared) return wait_to_enter(card, card.lock, to_share);
  Card& first = *window.targets[0].card;
  wait_to_enter(first, first.holders, as_single);
  wait_to_enter(card, card.lock, for_oneself);
}

void release(const Window& window, Card& card, int kind) {
  if (kind == Target::shared) {
    card.lock.fetch_sub(1, std::memory_order_seq_cst);
    return wake(window, card);
  }
  card.lock.fetch_and(~for_one, std::memory_order_seq_cst);
  wake(window, card);
  Card& first = *window.targets[0].card;
  first.holders.fetch_sub(single, std::memory_order_seq_cst);
  wake(window, first);
}

void acquire_all(const Window& window) {
  Card& first = *window.targets[0].card;
  wait_to_enter(first, first.holders, as_whole);
}
void release_all(const Window& window) {
  Card& first = *window.targets[0].card;
  first.holders.fetch_sub(whole, std::memory_order_seq_cst);
  wake(window, first);
}

Target& target_of(Window& window, int member) { return window.targets[static_cast<std::size_t>(member)]; }

int library_lock(Window& window, int member) {
  Target& target = target_of(window, member);
  const bool shared = (target.held.load(std::memory_order_relaxed) & Target::shared) != 0;
  return real().Win_lock(shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, member, target.assertion, window.win);
}

// False: this rank has no lock of the member.
bool tell_lock(Window& window, int member) {
  std::atomic<std::uint8_t>& held = target_of(window, member).held;
  if ((held.load(std::memory_order_relaxed) & Target::by_library) != 0) return true;
  const std::lock_guard guard(window.telling);
  const int now = held.load(std::memory_order_relaxed);
  if (now == 0) return false;
  if ((now & Target::by_library) == 0 && library_lock(window, member) == MPI_SUCCESS)
    held.fetch_or(Target::by_library, std::memory_order_relaxed);
  return true;
}

void tell_lock_all(Window& window) {
  if (window.told.load(std::memory_order_relaxed)) return;
  const std::lock_guard guard(window.telling);
  if (!window.told.load(std::memory_order_relaxed) &&
      real().Win_lock_all(window.assertion, window.win) == MPI_SUCCESS)
    window.told.store(true, std::memory_order_relaxed);
}

void forget_pending(Window& window) {
  if (!window.pending.exchange(false, std::memory_order_relaxed)) return;
  for (int i = 0; i < window.size; ++i) target_of(window, i).pending.store(false, std::memory_order_relaxed);
}

void drop_lock(Window& window, int member) {
  Target& target = target_of(window, member);
  const int held = target.held.exchange(0, std::memory_order_relaxed);
  target.pending.store(false, std::memory_order_relaxed);
  if ((held & Target::unchecked) == 0 && target.accumulates)
    release(window, *target.card, held & (Target::shared | Target::exclusive));
  if (window.locks.fetch_sub(1, std::memory_order_relaxed) == 1)
    window.access.store(Access::none, std::memory_order_relaxed);
}

void drop_lock_all(Window& window) {
  forget_pending(window);
  window.told.store(false, std::memory_order_relaxed);
  if ((window.assertion & MPI_MODE_NOCHECK) == 0) release_all(window);
  window.access.store(Access::none, std::memory_order_relaxed);
}

// A lock that is the library's alone: in windows where not all members reach each other, and where the
// library is to say what is wrong with it.
template <class Call>
int lock_of_library(Window* window, Call&& call) {
  if (window) tell_library_all(*window);
  const Away away;
  const int error = call();
  if (error == MPI_SUCCESS && window && !window->is_passive()) {
    window->locks.fetch_add(1, std::memory_order_relaxed);
    window->access.store(Access::library, std::memory_order_relaxed);
  }
  return error;
}

template <class Call>
int unlock_of_library(Window* window, Call&& call) {
  if (window) tell_library_all(*window);
  const Away away;
  const int error = call();
  if (error == MPI_SUCCESS && window && window->access.load(std::memory_order_relaxed) == Access::library &&
      window->locks.fetch_sub(1, std::memory_order_relaxed) == 1)
    window->access.store(Access::none, std::memory_order_relaxed);
  return error;
}

int lock(Window& window, int kind, int member, int assertion) {
  Target& target = target_of(window, member);
  // The library says if a lock may follow a fence, and does all that is done to a member out of reach.
  const bool by_library =
      !target.accumulates || window.access.load(std::memory_order_relaxed) == Access::fence;
  if ((assertion & MPI_MODE_NOCHECK) == 0 && target.accumulates)
    acquire(window, *target.card, kind);
  else
    kind |= Target::unchecked;
  target.assertion = assertion;
  target.held.store(static_cast<std::uint8_t>(kind), std::memory_order_relaxed);
  window.locks.fetch_add(1, std::memory_order_relaxed);
  window.access.store(Access::locks, std::memory_order_relaxed);
  if (!by_library) return MPI_SUCCESS;
  const Away away;
  const Settled held([&](int) { drop_lock(window, member); });
  const int error = library_lock(window, member);
  if (error == MPI_SUCCESS)
    target.held.fetch_or(Target::by_library, std::memory_order_relaxed);
  else if (!held.settled())
    drop_lock(window, member);
  return error;
}

int lock_all(Window& window, int assertion) {
  const bool after_fence = window.access.load(std::memory_order_relaxed) == Access::fence;
  if ((assertion & MPI_MODE_NOCHECK) == 0) acquire_all(window);
  window.assertion = assertion;
  window.access.store(Access::all, std::memory_order_relaxed);
  if (!after_fence) return MPI_SUCCESS;
  const Away away;
  const Settled held([&](int) { drop_lock_all(window); });
  const int error = real().Win_lock_all(assertion, window.win);
  if (error == MPI_SUCCESS)
    window.told.store(true, std::memory_order_relaxed);
  else if (!held.settled())
    drop_lock_all(window);
  return error;
}

// For flush(): all members, and one that is none.
constexpr int every_member = -1, no_member = 0x7fffffff;

bool may_lock(const Window& window) {
  const Access now = window.access.load(std::memory_order_relaxed);
  return window.together && (now == Access::none || now == Access::fence);
}

// Our operations are done; whatever was given to the library, it completes.
template <class Call>
int flush(Window* window, int member, bool remote, Call&& call) {
  const bool ours =
      window && window->is_passive() &&
      (member == every_member || (window->is_member(member) && is_open(*window, target_of(*window, member))));
  if (!ours) {
    if (window) tell_library_all(*window);
    const Away away;
    return call();
  }
  std::atomic<bool>& pending = member == every_member ? window->pending : target_of(*window, member).pending;
  if (window->stored.load(std::memory_order_relaxed)) {
    window->stored.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  if (pending.load(std::memory_order_relaxed)) {
    const Away away;
    if (remote && member == every_member)
      forget_pending(*window);
    else if (remote)
      pending.store(false, std::memory_order_relaxed);
    return call();
  }
  let_others_go_on(*window);
  return MPI_SUCCESS;
}

// Calls `each` with the member of the window that each rank of the group is.
template <class Each>
void each_member(Window& window, MPI_Group group, Each&& each) {
  constexpr int at_once = 64;
  int size = 0, ranks[at_once], members[at_once];
  if (window.group == MPI_GROUP_NULL && real().Win_get_group(window.win, &window.group) != MPI_SUCCESS)
    return;
  if (real().Group_size(group, &size) != MPI_SUCCESS) return;
  for (int first = 0; first < size; first += at_once) {
    const int count = std::min(size - first, at_once);
    for (int i = 0; i < count; ++i) ranks[i] = first + i;
    if (real().Group_translate_ranks(group, count, ranks, window.group, members) != MPI_SUCCESS) return;
    for (int i = 0; i < count; ++i)
      if (window.is_member(members[i])) each(members[i]);
  }
}

}  // namespace

bool wait_open(const Window& window, const Target& target, bool as_long_as_it_takes) {
  constexpr int short_looks = 40;  // about a microsecond
  const Access now = window.access.load(std::memory_order_relaxed);
  if (now != Access::fence && (now != Access::started || !target.started)) return false;
  for (int i = 0; i < short_looks; ++i) {
    if (is_open(window, target)) return true;
    message::pause_cpu();
  }
  if (as_long_as_it_takes) process().waiter->until([&] { return is_open(window, target); });
  return as_long_as_it_takes;
}

void tell_library(Window& window, int member) {
  if (!window.is_member(member)) return;
  Target& target = target_of(window, member);
  const Access now = window.access.load(std::memory_order_relaxed);
  if (now == Access::locks && !tell_lock(window, member)) return;
  if (now == Access::all) tell_lock_all(window);
  target.pending.store(true, std::memory_order_relaxed);
  window.pending.store(true, std::memory_order_relaxed);
}

void tell_library_all(Window& window) {
  const Access now = window.access.load(std::memory_order_relaxed);
  if (now == Access::all) tell_lock_all(window);
  if (now != Access::locks) return;
  for (int i = 0; i < window.size; ++i) tell_lock(window, i);
}

void let_others_go_on(Window& window) {
  constexpr unsigned calls_a_turn = 128;
  const unsigned calls = window.quiet.load(std::memory_order_relaxed) + 1;
  window.quiet.store(calls, std::memory_order_relaxed);
  if (calls % calls_a_turn != 0) return;
  if (process().waiter->progress) process().waiter->progress(process().waiter->progress_argument);
  if (must_drive()) drive();
}

}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Win_lock(int type, int member, int assertion, MPI_Win win) {
  Window* window = window_of(win);
  const bool free =
      window && window->is_member(member) &&
      (may_lock(*window) || (window->access.load(std::memory_order_relaxed) == Access::locks &&
                             target_of(*window, member).held.load(std::memory_order_relaxed) == 0));
  if (!free || (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)) {
    count(Function::Win_lock, Reason::distant);
    return lock_of_library(window, [&] { return real().Win_lock(type, member, assertion, win); });
  }
  count(Function::Win_lock, Reason::covered);
  return lock(*window, type == MPI_LOCK_SHARED ? Target::shared : Target::exclusive, member, assertion);
}

int nigh_mpi_Win_unlock(int member, MPI_Win win) {
  Window* window = window_of(win);
  const bool held = window && window->is_member(member) &&
                    window->access.load(std::memory_order_relaxed) == Access::locks &&
                    target_of(*window, member).held.load(std::memory_order_relaxed) != 0;
  if (!held) {
    count(Function::Win_unlock, Reason::distant);
    return unlock_of_library(window, [&] { return real().Win_unlock(member, win); });
  }
  count(Function::Win_unlock, Reason::covered);
  int error = MPI_SUCCESS;
  if ((target_of(*window, member).held.load(std::memory_order_relaxed) & Target::by_library) != 0) {
    const Away away;
    const Settled unlocked([&](int) { drop_lock(*window, member); });
    error = real().Win_unlock(member, win);
    if (unlocked.settled()) return error;
  }
  drop_lock(*window, member);
  let_others_go_on(*window);
  return error;
}

int nigh_mpi_Win_lock_all(int assertion, MPI_Win win) {
  Window* window = window_of(win);
  if (!window || !may_lock(*window)) {
    count(Function::Win_lock_all, Reason::distant);
    return lock_of_library(window, [&] { return real().Win_lock_all(assertion, win); });
  }
  count(Function::Win_lock_all, Reason::covered);
  return lock_all(*window, assertion);
}

int nigh_mpi_Win_unlock_all(MPI_Win win) {
  Window* window = window_of(win);
  if (!window || window->access.load(std::memory_order_relaxed) != Access::all) {
    count(Function::Win_unlock_all, Reason::distant);
    return unlock_of_library(window, [&] { return real().Win_unlock_all(win); });
  }
  count(Function::Win_unlock_all, Reason::covered);
  int error = MPI_SUCCESS;
  if (window->told.load(std::memory_order_relaxed)) {
    const Away away;
    const Settled unlocked([&](int) { drop_lock_all(*window); });
    error = real().Win_unlock_all(win);
    if (unlocked.settled()) return error;
  }
  drop_lock_all(*window);
  let_others_go_on(*window);
  return error;
}

int nigh_mpi_Win_flush(int member, MPI_Win win) {
  return flush(window_of(win), member < 0 ? no_member : member, true,
               [&] { return real().Win_flush(member, win); });
}

int nigh_mpi_Win_flush_all(MPI_Win win) {
  return flush(window_of(win), every_member, true, [&] { return real().Win_flush_all(win); });
}

int nigh_mpi_Win_flush_local(int member, MPI_Win win) {
  return flush(window_of(win), member < 0 ? no_member : member, false,
               [&] { return real().Win_flush_local(member, win); });
}

int nigh_mpi_Win_flush_local_all(MPI_Win win) {
  return flush(window_of(win), every_member, false, [&] { return real().Win_flush_local_all(win); });
}

int nigh_mpi_Win_sync(MPI_Win win) {
  Window* window = window_of(win);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!window || !window->is_passive()) return real().Win_sync(win);
  let_others_go_on(*window);
  return MPI_SUCCESS;
}

int nigh_mpi_Win_fence(int assertion, MPI_Win win) {
  Window* window = window_of(win);
  if (window) tell_library_all(*window);
  count(Function::Win_fence, Reason::uncovered);
  const Away away;
  if (!window || !window->card) return real().Win_fence(assertion, win);
  std::atomic_thread_fence(std::memory_order_release);
  window->card->fences.store(++window->fences, std::memory_order_release);
  const auto failed = [&] { window->card->fences.store(--window->fences, std::memory_order_release); };
  const Settled fenced([&](int) { failed(); });
  const int error = real().Win_fence(assertion, win);
  if (fenced.settled()) return error;
  if (error != MPI_SUCCESS) {
    failed();
    return error;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  forget_pending(*window);
  const bool opens = (assertion & MPI_MODE_NOSUCCEED) == 0;
  if (!window->is_passive())  // Open MPI lets a fence pass while a lock is held
    window->access.store(opens ? Access::fence : Access::none, std::memory_order_relaxed);
  return error;
}

int nigh_mpi_Win_start(MPI_Group group, int assertion, MPI_Win win) {
  Window* window = window_of(win);
  if (window) tell_library_all(*window);
  count(Function::Win_start, Reason::uncovered);
  const Away away;
  const int error = real().Win_start(group, assertion, win);
  if (error != MPI_SUCCESS || !window) return error;
  each_member(*window, group, [&](int member) {
    Target& target = target_of(*window, member);
    if (!target.card) return;
    target.started = true;
    ++target.starts;
  });
  if (!window->is_passive()) window->access.store(Access::started, std::memory_order_relaxed);
  return error;
}

int nigh_mpi_Win_complete(MPI_Win win) {
  Window* window = window_of(win);
  if (window) tell_library_all(*window);
  count(Function::Win_complete, Reason::uncovered);
  std::atomic_thread_fence(std::memory_order_release);
  const Away away;
  const int error = real().Win_complete(win);
  if (error != MPI_SUCCESS || !window) return error;
  for (int i = 0; i < window->size; ++i) target_of(*window, i).started = false;
  forget_pending(*window);
  if (!window->is_passive()) window->access.store(Access::none, std::memory_order_relaxed);
  return error;
}

int nigh_mpi_Win_post(MPI_Group group, int assertion, MPI_Win win) {
  Window* window = window_of(win);
  count(Function::Win_post, Reason::uncovered);
  const Away away;
  const int error = real().Win_post(group, assertion, win);
  if (error != MPI_SUCCESS || !window || !window->card) return error;
  each_member(*window, group, [&](int member) {
    auto& posts = window->card->posts()[member];
    posts.store(posts.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  });
  return error;
}

int nigh_mpi_Win_wait(MPI_Win win) {
  count(Function::Win_wait, Reason::uncovered);
  const Away away;
  const int error = real().Win_wait(win);
  std::atomic_thread_fence(std::memory_order_acquire);
  return error;
}
