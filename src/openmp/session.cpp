// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From a spec to a plan in force: at the first region that is worth it (OMP_NESTING_TEAM_SIZE), or when the
// program says so (omp_set_nesting_info). The planner is made outside our lock, because opening it takes the
// loader's, and a library whose constructor opens a region holds that already; two threads that come first
// both make one, and one is dropped. A plan is never freed, since teams still running hold its nodes, but a
// spec used before gets its old plan back: memory grows with the number of distinct specs, not of calls.
#include "openmp/session.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openmp/account.hpp"
#include "openmp/automatic.hpp"
#include "openmp/callsite.hpp"
#include "openmp/cures.hpp"
#include "openmp/leaks.hpp"
#include "openmp/libc.hpp"
#include "openmp/ompt.hpp"
#include "openmp/planner.hpp"
#include "openmp/say.hpp"
#include "sys/launchers.hpp"
#include "sys/variables.hpp"

namespace nigh::preload {

static Plan* g_plans;  // under the lock
static bool g_ready;   // under the lock

const Plan* all_plans() { return g_plans; }

const char* current_spec() {
  Plan* plan = g.plan.load(std::memory_order_acquire);
  return plan ? plan->spec : nullptr;
}

int count_levels(const char* spec) {
  int fields = 1;
  for (const char* c = spec; *c; c++) fields += *c == ',';
  return fields % 2 == 0 ? fields / 2 : 0;
}

// ---- the mask -----------------------------------------------------------------------------------
// A list of PUs, "0-5,8"; false if there is none, or it is not one, which is told.
static bool cpus_in_variable(const char* name, Mask& mask) {
  const char* text = getenv(name);
  memset(&mask, 0, sizeof mask);
  if (!text) return false;
  if (read_cpus(text, mask)) return true;
  sys::tell_variable(name, text, "a list of PUs, such as 0-5,8");
  return false;
}

// The initial thread's mask now, since the program or its MPI library may have narrowed it with good reason:
// as the program set it, if that was seen; as it was before a runtime pinned that thread. Within what the
// launcher saw.
static Mask process_mask() {
  Mask mask = g.start, now, launcher;
  const bool pinned = g.pinned_by_omp || (cured(Cure::kPin) && ompt_has_places());
  if (g.initial && g.initial->has_own)
    mask = g.initial->own;
  else if (!pinned && now.load(getpid()) && now.count() > 0)
    mask = now;
  if (!cpus_in_variable("NIGH_MASK", launcher)) return mask;
  Mask both = mask;
  for (size_t i = 0; i < sizeof both.word / sizeof *both.word; i++) both.word[i] &= launcher.word[i];
  return both.count() > 0 ? both : mask;
}

// A rank that an MPI launcher left as many PUs as `nigh run --mpi` had (or all that are online, on another
// node) would plan on the same ones as its neighbours: it takes its part of them. A launcher that binds ranks
// to less has given the shares itself.
static Mask divided(const Mask& mask) {
  Mask whole;
  if (!cpus_in_variable("NIGH_RANK_SHARE", whole)) return mask;
  const bool undivided =
      memcmp(&whole, &mask, sizeof mask) == 0 || mask.count() == sysconf(_SC_NPROCESSORS_ONLN);
  sys::LocalSeat seat;
  if (!undivided || !sys::find_local_seat(sys::lookup_variable, nullptr, seat)) return mask;
  return seat.size > 1 && seat.size <= kMaskCpus ? rank_share(mask, seat.rank, seat.size) : mask;
}

const char* wished_spec() {
  const char* spec = teams_are_off() ? nullptr : getenv("OMP_NESTING_TEAM_SIZE");
  return spec && *spec ? spec : nullptr;
}

// ---- plans --------------------------------------------------------------------------------------
// Once per process, before any plan; safe to repeat.
static void get_ready() {
  const char* spec = wished_spec();
  // Without a spec a rank may stay unbound: then it has all that it had.
  const Mask mask = spec ? divided(process_mask()) : process_mask();
  lock();
  const bool first = !g_ready;
  g_ready = true;
  if (first) {
    g.first_home = is_bound() ? home() : mask;
    g.home.store(&g.first_home, std::memory_order_release);
    g.user_levels = getenv("OMP_MAX_ACTIVE_LEVELS") || getenv("OMP_NESTED");
  }
  unlock();
  if (!first) return;
  watch_forks();
}

static Plan* find_plan(const char* spec, const Mask& mask) {
  Plan* plan = g_plans;
  while (plan && (strcmp(plan->spec, spec) != 0 || !(plan->mask == mask))) plan = plan->next;
  return plan;
}

// Publishes a plan for spec, unless another thread was faster.
static bool adopt(const char* spec, const Mask& mask, nigh_planner* planner) {
  lock();
  Plan* plan = find_plan(spec, mask);
  if (!plan && planner) {
    plan = static_cast<Plan*>(calloc(1, sizeof(Plan)));
    char* copy = strdup(spec);
    if (plan && copy) {
      plan->planner = planner;
      plan->automatic = !strcmp(spec, automatic_spec);
      plan->levels = plan->automatic ? kMaxDepth : planner_levels(planner);
      plan->spec = copy;
      plan->mask = mask;
      plan->next = g_plans;
      g_plans = plan;
    } else {
      free(plan);
      free(copy);
      plan = nullptr;
    }
  }
  if (plan) g.plan.store(plan, std::memory_order_release);
  unlock();
  return plan != nullptr;
}

int set_spec(const char* spec, char* err, size_t errsize) {
  get_ready();
  const Mask mask = divided(home());
  if (adopt(spec, mask, nullptr)) return 0;
  char text[32];
  const bool automatic = !strcmp(spec, automatic_spec);
  if (automatic && !automatic_wanted()) {
    snprintf(err, errsize, "%s", automatic_reason() ? automatic_reason() : "'auto' is nigh run's own word");
    return -1;
  }
  if (automatic) snprintf(text, sizeof text, "%d,scatter", mask.count());  // deeper levels are subcompact
  nigh_planner* planner = planner_new(automatic ? text : spec, mask, err, errsize);
  if (planner && adopt(spec, mask, planner)) return 0;
  if (planner) snprintf(err, errsize, "out of memory");
  return -1;
}

void first_region() {
  get_ready();
  const char* spec = wished_spec();
  sys::word_in_variable("NIGH_TEAMS",
                        {automatic_spec, always_spec, off_spec});  // read before there was a way to tell
  if (spec) {
    static std::atomic<bool> said;
    char err[512] = "";
    if (set_spec(spec, err, sizeof err) && !said.exchange(true))
      say("OMP_NESTING_TEAM_SIZE: %s; the program runs unbound", err);
  } else {
    automatic_start();
  }
  g.prepared.store(true, std::memory_order_release);
}

// Makes nested regions real for the calling thread, as far as the plan goes, unless the user decided that.
static void raise_levels() {
  using Get = int (*)(void);
  using Set = void (*)(int);
  auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_active_levels"));
  auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_max_active_levels"));
  Plan* plan = g.plan.load(std::memory_order_acquire);
  if (get && set && plan && !g.user_levels && get() < plan->levels) set(plan->levels);
}

static int set_nesting_info(const char* spec) {
  char err[512] = "";
  if (!spec) {
    say("omp_set_nesting_info: the argument is a null pointer");
    return -1;
  }
  if (teams_are_off()) return 0;
  const int rc = set_spec(spec, err, sizeof err);
  if (rc) {
    say("omp_set_nesting_info: %s; the plan stays as it was", err);
  } else {
    g.prepared.store(true, std::memory_order_release);  // what the environment says comes too late now
    raise_levels();
  }
  return rc;
}

}  // namespace nigh::preload

NIGH_EXPORT int nigh_omp_set_nesting_info(const char* spec) { return nigh::preload::set_nesting_info(spec); }
NIGH_EXPORT int omp_set_nesting_info(const char* spec) { return nigh::preload::set_nesting_info(spec); }

// Fortran: a blank-padded string, its length as a hidden last argument.
NIGH_EXPORT int omp_set_nesting_info_(const char* spec, size_t length) {
  char text[1024];
  while (length > 0 && (spec[length - 1] == ' ' || spec[length - 1] == '\0')) length--;
  if (length >= sizeof text) length = sizeof text - 1;
  memcpy(text, spec, length);
  text[length] = '\0';
  return nigh::preload::set_nesting_info(text);
}
