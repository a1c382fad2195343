// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Others change the masks of running threads: `taskset -ap`, kubelet, whoever writes a cpuset, a library by a
// raw system call. Nobody tells us, so a bound thread looks: at the start of a region, at most once for each
// tick of the kernel's coarse clock (1 to 10 ms), which it reads without a system call, and only at every
// 64th region where regions are short. The look itself is one system call.
//
// The intention behind a changed mask. A mask that holds all PUs of the plan takes none away: the thread is
// bound again. The same where only some threads were changed. Where all threads have one and the same other
// mask, or where the kernel refuses the planned PU, the PUs of the program have changed: the next outermost
// region has a plan for those. Masks of all threads are changed one by one, so a thread looks twice before it
// takes itself for the only one. Where a cpuset took PUs away, one thread asks four times a second whether
// they are back.
#include "openmp/outside.hpp"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openmp/account.hpp"
#include "openmp/automatic.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/say.hpp"
#include "openmp/session.hpp"

namespace nigh::preload {

constexpr unsigned kLongestPeriod = 64;
constexpr long kPatience = 250'000'000;  // ns between two looks for PUs that came back

static std::atomic<bool> g_fewer;  // the kernel allows fewer PUs than at first: they may come back, unsaid
static std::atomic<long> g_asked;  // when that was looked at

static long tick() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The PUs that the program had at its first region, of these; all of these if there is none.
static Mask within_first(const Mask& mask) {
  Mask out = mask;
  for (size_t i = 0; i < sizeof out.word / sizeof *out.word; i++) out.word[i] &= g.first_home.word[i];
  return out.count() > 0 ? out : mask;
}

static bool everybody_has(const Mask& mask) {
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  bool all = true;
  while (const dirent* entry = all ? readdir(tasks) : nullptr) {
    const int tid = atoi(entry->d_name);
    Mask theirs;
    if (tid > 0 && theirs.load(tid)) all = theirs == mask;
  }
  closedir(tasks);
  return all;
}

static void plan_for(const Mask& mask) {
  static std::atomic<bool> busy, said;
  if (busy.exchange(true)) return;
  const char* spec = current_spec();
  auto* now = static_cast<Mask*>(spec ? malloc(sizeof(Mask)) : nullptr);  // for good: others may read it
  char err[512] = "";
  if (now) {
    *now = mask;
    g.home.store(now, std::memory_order_release);
    const bool failed = set_spec(spec, err, sizeof err) != 0;
    g.epoch.fetch_add(1, std::memory_order_relaxed);  // nobody is where he should be
    if (!said.exchange(true)) {
      char list[512];
      mask.list(list, sizeof list);
      say("the CPUs of this program were changed from outside to %s: %s%s", list,
          failed ? "its teams stay where they are planned, since " : "its next teams are placed on these",
          err);
    }
  }
  busy.store(false);
}

// Takes all PUs that the kernel allows this thread; it then runs on all of them.
static bool take_all(Mask& allowed) {
  Mask all;
  memset(&all, 0xff, sizeof all);
  return all.store(0) >= 0 && allowed.load(0);
}

bool narrowed_from_outside() {
  Mask allowed;
  if (!cured(Cure::kOutside) || !take_all(allowed)) return false;
  const Mask here = within_first(allowed);
  if (here == home()) return false;
  used(Cure::kOutside);
  g_fewer.store(true);
  here.store(0);
  plan_for(here);
  return true;
}

// A bound thread keeps its mask when PUs come back. One thread asks for all.
static void look_for_more(long now) {
  long before = g_asked.load(std::memory_order_relaxed);
  if (now - before < kPatience || !g_asked.compare_exchange_strong(before, now)) return;
  Mask allowed, one{};
  const bool known = take_all(allowed);
  one.add(pu_of_place(t.held));
  one.store(0);
  if (!known || within_first(allowed) == home()) return;
  used(Cure::kOutside);
  if (within_first(allowed) == g.first_home) g_fewer.store(false);
  plan_for(within_first(allowed));
}

static void bind_again(const Mask& now) {
  const int pu = pu_of_place(t.held);
  Mask one{};
  one.add(pu);
  used(Cure::kOutside);
  t.strange = false;
  if (!home().has(pu)) return;  // its plan is one from before
  if (one.store(0) >= 0) return account_bound(t.held);
  if (!narrowed_from_outside()) now.store(0);
}

static void changed(const Mask& now) {
  const Mask here = within_first(now);
  if (here == home()) return bind_again(now);
  if (everybody_has(now)) {
    Mask allowed;
    used(Cure::kOutside);
    t.strange = false;
    g_fewer.store(take_all(allowed) && allowed == now && !(here == g.first_home));
    here.store(0);
    return plan_for(here);
  }
  if (t.strange) return bind_again(now);
  t.strange = true;
}

void look_again() {
  automatic_tick();
  if (!is_bound() || !cured(Cure::kOutside)) return;
  const long now = tick();
  if (now == t.looked) {
    t.period = t.period < kLongestPeriod ? 2 * t.period : kLongestPeriod;
    t.look = t.period;
    return;
  }
  t.looked = now;
  t.look = t.period = 1;
  Mask mask;
  if (!mask.load(0)) return;
  if (!mask.is_only(pu_of_place(t.held)))
    changed(mask);
  else if (g_fewer.load(std::memory_order_relaxed))
    look_for_more(now);
}

}  // namespace nigh::preload
