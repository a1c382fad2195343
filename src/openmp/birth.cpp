// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libgomp makes new threads for every nested region. A new thread inherits its opener's mask, which is one PU
// by our doing, and there it waits until the opener, who spins for it, has used up its time slice: a team of
// two took 10 to 100 times as long to start as unbound. So the thread gets its own place in its attributes,
// the way libgomp itself does it under OMP_PROC_BIND: libc sets the mask before the thread runs.
//
// The choice of a place. libgomp makes the threads of a team in order: all of them for a nested region, those
// that its pool lacks for an outermost one. If the guess is wrong, entering the region puts the thread right,
// as ever.
#include "openmp/birth.hpp"

#include <stdint.h>
#include <stdlib.h>

#include "openmp/callsite.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/libc.hpp"
#include "openmp/planner.hpp"

namespace nigh::preload {

struct Birth {
  void* (*run)(void*);
  void* arg;
  int place;
  unsigned epoch;
  bool has_own;
  Mask own;
};

static void* live(void* data) {
  auto* given = static_cast<Birth*>(data);
  void* (*run)(void*) = given->run;
  void* arg = given->arg;
  t.has_own = given->has_own;
  if (given->has_own) t.own = given->own;
  note_bound(given->place, given->epoch);
  free(given);
  return run(arg);
}

// The place of the next thread of the region that is being opened; kKeep: unknown. A team of unknown size has
// no places yet, but its threads shall not wait on their opener's PU.
static int next_place() {
  const Body* region = t.opening;
  if (!region || !region->parent->plan) return kKeep;
  Node* parent = region->parent;
  const unsigned index = parent->depth > 0 ? ++t.born : ++t.pool;
  const bool in_spec = parent->depth < parent->plan->levels;
  unsigned size = region->asked;
  if (!size && parent->plan->automatic) return is_bound() ? kFree : kKeep;
  if (!size && in_spec) size = static_cast<unsigned>(planner_size(parent->plan->planner, parent->depth + 1));
  return index < size ? child(parent, index, size)->place : kKeep;
}

// pthread_attr_t can't be copied as a whole. The properties that libgomp sets can.
static bool copy_attributes(const pthread_attr_t* from, pthread_attr_t* to) {
  if (pthread_attr_init(to)) return false;
  if (!from) return true;
  int detached = 0;
  size_t stack = 0, guard = 0;
  void* base = nullptr;
  // glibc answers with the end of the stack less its size: without a stack of its own, null less the size.
  const bool own_stack =
      !pthread_attr_getstack(from, &base, &stack) && reinterpret_cast<uintptr_t>(base) + stack != 0;
  return !own_stack && !pthread_attr_getdetachstate(from, &detached) &&
         !pthread_attr_setdetachstate(to, detached) && !pthread_attr_getstacksize(from, &stack) &&
         (stack == 0 || !pthread_attr_setstacksize(to, stack)) && !pthread_attr_getguardsize(from, &guard) &&
         !pthread_attr_setguardsize(to, guard);
}

bool create_team_thread(pthread_t* thread, const pthread_attr_t* attr, void* (*run)(void*), void* arg,
                        int* rc) {
  const int place = next_place();
  if (place == kKeep || !is_bound() || !cured(Cure::kBirth)) return false;
  pthread_attr_t own;
  if (!copy_attributes(attr, &own)) return false;
  Mask one{};
  if (place == kFree)
    one = own_mask();
  else
    one.add(pu_of_place(place));
  const unsigned epoch = g.epoch.load(std::memory_order_relaxed);
  auto* given = static_cast<Birth*>(malloc(sizeof(Birth)));
  bool made = false;
  if (given && !pthread_attr_setaffinity_np(&own, sizeof one.word, reinterpret_cast<cpu_set_t*>(one.word))) {
    *given = {run, arg, place, epoch, t.has_own, t.own};
    *rc = NIGH_NEXT(pthread_create)(thread, &own, live, given);
    made = *rc == 0;
  }
  if (made)
    used(Cure::kBirth);
  else
    free(given);
  pthread_attr_destroy(&own);
  return made;
}

}  // namespace nigh::preload
