// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The slow half of waiting (see wait.hpp): yield, then sleep in slices that grow to the limit, so that a ring
// which was missed costs little at first and an idle rank costs nothing in the long run.
#include "message/wait.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sys/raw.h"
#include "sys/variables.hpp"

namespace nigh::message {

int wanted_wait() { return sys::word_in_variable("NIGH_WAIT", {"spin", "yield", "sleep"}); }

Patience patience_for(int ranks, int cpus) {
  Patience patience;
  patience.crowded = ranks > cpus;
  if (patience.crowded) {
    patience.spins = 20;
    patience.yields = 2000;
  } else {
    patience.spins = 10'000;
    patience.yields = 1000;
  }
  const int wish = wanted_wait();
  if (wish == 0) patience.spins = 1'000'000'000;
  if (wish == 1) patience.yields = 1'000'000'000;
  if (wish == 2) patience.yields = 0;
  return patience;
}

Waiter::Waiter(space::Space& space, int cpus)
    : space_(space),
      patience_(patience_for(space.size(), cpus)),
      bells_(new(std::nothrow) atomic<Doorbell*>[static_cast<std::size_t>(space.size())]()) {
  if (!bells_) return;
  mine_ = static_cast<RankWords*>(space_.root(space_.rank(), space::Root::message));
  if (mine_) return;  // another library of this process was here before
  void* memory = space_.alloc(sizeof(RankWords), alignof(RankWords));
  if (!memory) return;
  mine_ = new (memory) RankWords;
  nigh_raw_getaffinity(0, mine_->cpus, sizeof mine_->cpus);
  space_.publish(space::Root::message, mine_);
}

// The front stays: peers may ring as long as this rank lives, and the next waiter takes it over.
Waiter::~Waiter() = default;

RankWords* Waiter::front_of(int rank) const {
  if (rank < 0 || rank >= space_.size() || !space_.reachable(rank)) return nullptr;
  return static_cast<RankWords*>(space_.root(rank, space::Root::message));
}

int Waiter::cpus_of_job() const {
  unsigned long all[16] = {};
  for (int rank = 0; rank < space_.size(); ++rank)
    if (const RankWords* front = front_of(rank))
      for (int i = 0; i < 16; ++i) all[i] |= front->cpus[i];
  int cpus = 0;
  for (const unsigned long word : all) cpus += std::popcount(word);
  return std::max(cpus, 1);
}

bool Waiter::hopeless(int peer) const {
  if (peer >= 0) return !space_.alive(peer);
  if (peer != anybody || space_.size() == 1) return false;
  for (int rank = 0; rank < space_.size(); ++rank)
    if (rank != space_.rank() && space_.alive(rank)) return false;
  return true;
}

// When ranks outnumber CPUs: a peer that runs on another CPU may be at it, and to give ours away meanwhile
// costs two switches of process. So we look on for about as long as one of them takes (never more than twice
// the cost of knowing better). A peer that shares our CPU can't do anything until we go.
bool Waiter::look_across(int peer, bool (*ready)(void*), void* argument) {
  const int here = current_cpu();
  if (mine_->bell.cpu.load(std::memory_order_relaxed) != here)
    mine_->bell.cpu.store(here, std::memory_order_relaxed);
  cpu_now_.store(here, std::memory_order_relaxed);
  if (peer < 0 || cpu_of(peer) == here) return false;
  for (int i = 0; i < looks_across; ++i) {
    if (ready(argument)) return true;
    pause_cpu();
  }
  return false;
}

void Rests::rest() {
  if (++count_ % rests_a_look == 0) look();
  if (yields_) return yield_cpu();
  for (int i = 0; i < pauses; ++i) pause_cpu();
}

// Since the last look, did this thread lack the CPU while others of the process had one?
void Rests::look() {
  const Times now = {.wall = now_ns(), .process = process_cpu_ns(), .thread = thread_cpu_ns()};
  const std::int64_t wall = now.wall - before_.wall, mine = now.thread - before_.thread;
  const std::int64_t others = now.process - before_.process - mine;
  yields_ = count_ > rests_a_look && wall - mine > wall / 8 && others > wall / 8;
  before_ = now;
}

Waiter::Rest Waiter::tired(Rests& rests, long round, int peer, bool (*ready)(void*), void* argument) {
  if (patience_.crowded && mine_ && round < patience_.yields && look_across(peer, ready, argument))
    return Rest::ready;
  const bool attentive = progress && attentive_.load(std::memory_order_relaxed);
  const bool awake =
      round < patience_.yields || patience_.spins_on || !mine_ || (attentive && progress_yields);
  if (progress && (!awake || attentive || round % rounds_a_poke == rounds_a_poke - 1)) {
    progress(progress_argument);
    if (awake && progress_yields && round % 2 == 1) return Rest::over;
  }
  if (awake) {
    patience_.spins_on ? rests.rest() : yield_cpu();
    return round % 1024 == 1022 && hopeless(peer) ? Rest::hopeless : Rest::over;
  }
  const long slept = std::min(round - patience_.yields, 10L);
  // A peer may need our library's progress for what asks nobody, such as MPI's passive one-sided transfers.
  const long longest_ns = progress ? std::min(patience_.sleep_ns, 50'000L) : patience_.sleep_ns;
  const long limit_ns = std::min(longest_ns, 20'000L << slept);
  Doorbell& bell = mine_->bell;
  const std::uint32_t rings = bell.rings.load(std::memory_order_acquire);
  bell.asleep.fetch_add(1, std::memory_order_seq_cst);
  const bool now = ready(argument);
  if (!now) sleep_on(&bell.rings, rings, limit_ns);
  bell.asleep.fetch_sub(1, std::memory_order_relaxed);
  if (now) return Rest::ready;
  return hopeless(peer) ? Rest::hopeless : Rest::over;
}

void Waiter::ring_slow(int rank) {
  Doorbell* bell = bells_[rank].load(std::memory_order_relaxed);
  if (!bell) {
    RankWords* front = front_of(rank);
    if (!front) return;
    bell = &front->bell;
    bells_[rank].store(bell, std::memory_order_relaxed);
    if (bell->asleep.load(std::memory_order_relaxed) == 0) return;
  }
  bell->rings.fetch_add(1, std::memory_order_release);
  wake_all(&bell->rings);
}

}  // namespace nigh::message
