// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See away.hpp. The stand-in and the thread that it stands in for are never in our engines at once, unless
// the library calls us back from within (ROMIO is made of MPI calls): for that time the locks of the engines
// are real ones (Process::contended). Who comes back waits until the stand-in has left its engine.
#include "mpi/away.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <mutex>

#include "message/atomic.hpp"
#include "mpi/nbc.hpp"
#include "mpi/process.hpp"

namespace nigh::mpi {
namespace {

constexpr long first_nap_ns = 20'000, longest_nap_ns = 1'000'000, sleep_ns = 1'000'000'000;
constexpr int looks_for_nothing = 50;  // and then it sleeps until it is called

std::atomic<int> away = 0;              // threads that are in the library, or calls within calls
std::atomic<bool> at_work = false;      // the stand-in is in an engine, or about to be
std::atomic<bool> ending = false;       // of the stand-in
std::atomic<std::uint32_t> asleep = 0;  // until it is called
std::mutex making;
pthread_t thread;
bool made = false, failed = false;

bool wanted() {
  return process().multiple ? coll::g_under_way.load(std::memory_order_relaxed) != 0 : away.load() != 0;
}

// Peers ring this bell when they have done their part of a call.
void nap(long limit_ns) {
  message::Doorbell& bell = process().waiter->front().bell;
  const std::uint32_t rings = bell.rings.load(std::memory_order_acquire);
  bell.asleep.fetch_add(1, std::memory_order_seq_cst);
  message::sleep_on(&bell.rings, rings, limit_ns);
  bell.asleep.fetch_sub(1, std::memory_order_relaxed);
}

void sleep_until_called() {
  asleep.store(1);
  if (!wanted() && !ending.load()) message::sleep_on(&asleep, 1, sleep_ns);
  asleep.store(0);
}

void* stand_in(void*) {
  long limit_ns = first_nap_ns;
  for (int nothing = 0; !ending.load();) {
    at_work.store(true);
    const bool now = wanted();
    const bool moved = now && coll::drive_calls();
    at_work.store(false);
    nothing = now ? 0 : nothing + 1;
    limit_ns = moved ? first_nap_ns : std::min(2 * limit_ns, longest_nap_ns);
    if (nothing > looks_for_nothing)
      sleep_until_called();
    else if (moved)
      message::yield_cpu();
    else
      nap(now ? limit_ns : longest_nap_ns);
  }
  return nullptr;
}

bool make_stand_in() {
  const std::lock_guard guard(making);
  if (made || failed) return made;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  made = pthread_create(&thread, nullptr, stand_in, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  failed = !made;
  if (failed)
    say("no thread can be made: non-blocking collectives rest while a rank is in a function of the library");
  return made;
}

void stop() {
  const std::lock_guard guard(making);
  if (!made) return;
  ending.store(true);
  call_stand_in();
  pthread_join(thread, nullptr);
  made = false;
}
const Hooks hooks(nullptr, stop);

}  // namespace

void call_stand_in() {
  if (!ending.load() && !make_stand_in()) return;
  if (asleep.load() == 0) return;
  asleep.store(0);
  message::wake_all(&asleep);
}

void Away::leave() {
  hold();
  process().contended.store(true, std::memory_order_relaxed);
  away.fetch_add(1);
  call_stand_in();
}

void Away::come_back() {
  if (away.fetch_sub(1) != 1 || process().multiple) return;
  while (at_work.load()) message::yield_cpu();
  process().contended.store(false, std::memory_order_relaxed);
}

}  // namespace nigh::mpi
