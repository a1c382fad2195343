// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The first moment. This library is linked with -z initfirst, so its constructor runs before libgomp's, which
// pins the initial thread when OMP_PROC_BIND is set: here the mask is still whole, and the variables can
// still be taken away. The price is that libc itself is not initialised yet, nor who interposes on it: only
// the arguments that the loader hands us, raw system calls and raw text may be used; environ is not set.
// Before glibc 2.34 libpthread claims initfirst for itself, and we come late; so does a runtime that is
// loaded when the program has set the variables itself. libgomp pins through libc, where we stand, so that is
// left out then.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openmp/account.hpp"
#include "openmp/automatic.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/libc.hpp"
#include "openmp/pins.hpp"
#include "openmp/preload.hpp"
#include "openmp/say.hpp"
#include "openmp/session.hpp"
#include "openmp/share.hpp"
#include "sys/raw_text.hpp"

namespace nigh::preload {

static bool is_pin(const char* entry) {
  for (const char* pin : openmp::pins)
    if (sys::raw_begins(entry, pin) && entry[sys::raw_length(pin)] == '=') return true;
  return false;
}

static bool any_pin(char* const* envp) {
  for (; *envp; envp++)
    if (is_pin(*envp)) return true;
  return false;
}

// In place: libgomp's constructor and main() see the same array.
static void strip_pins(char** envp) {
  char** kept = envp;
  for (; *envp; envp++) {
    if (is_pin(*envp))
      account_stripped(*envp);
    else
      *kept++ = *envp;
  }
  *kept = nullptr;
  used(Cure::kStrip);
}

static bool wants_plan() {
  const Plan* plan = g.plan.load(std::memory_order_relaxed);
  return (plan && !plan->automatic) || wished_spec();
}

static bool keeps_pins() {
  const char* keep = getenv("NIGH_KEEP_ENV");
  return keep && *keep;
}

// Notes the PUs that this thread may use, before somebody else than the program changes them.
static void note_own_mask() {
  if (is_bound() || t.has_own) return;
  t.has_own = t.own.load(0);
}

void runtime_arrives() {
  if (!environ || !any_pin(environ) || !cured(Cure::kPin)) return;
  if (!wants_plan() || keeps_pins()) {
    automatic_off("the program's variables bind the threads");
    return note_own_mask();
  }
  for (const char* pin : openmp::pins) {
    const char* value = getenv(pin);
    if (!value) continue;
    char* entry = nullptr;  // kept for the account
    if (asprintf(&entry, "%s=%s", pin, value) > 0) account_stripped(entry);
    unsetenv(pin);
  }
  used(Cure::kPin);
}

bool leave_out_pin() {
  if (is_bound() || !cured(Cure::kPin)) return false;
  if (wants_plan() && !keeps_pins() && !g.pinned_by_omp) {
    used(Cure::kPin);
    return true;
  }
  note_own_mask();
  return false;
}

// A loader that is not glibc's hands constructors no arguments, but comes here when the environment is set
// up.
static void stand_aside() {
  const char* spec = getenv("OMP_NESTING_TEAM_SIZE");
  g.prepared.store(true, std::memory_order_relaxed);
  if (spec && *spec)
    say("this program runs on another C library than glibc, where nigh can't place threads: they are not "
        "bound");
}

__attribute__((constructor)) static void begin(int, char**, char** envp) {
  if (!is_glibc()) return stand_aside();
  if (envp) take_share(envp);
  g.start.load(0);
  g.home.store(&g.start, std::memory_order_relaxed);
  g.initial = &t;
  g.helper.place = kFree;
  if (!envp) return;
  read_cures_off(sys::raw_variable(envp, "NIGH_CURES_OFF"));
  account_begin(const_cast<char*>(sys::raw_variable(envp, "NIGH_EXPLAIN")));
  const char* spec = sys::raw_variable(envp, "OMP_NESTING_TEAM_SIZE");
  const char* keep = sys::raw_variable(envp, "NIGH_KEEP_ENV");
  const char* teams = sys::raw_variable(envp, "NIGH_TEAMS");
  const bool off = teams && sys::raw_equal(teams, off_spec);
  if (!off && spec && *spec && !(keep && *keep) && any_pin(envp) && cured(Cure::kStrip)) strip_pins(envp);
  g.pinned_by_omp = any_pin(envp);
  automatic_begin(teams, g.pinned_by_omp);
}

__attribute__((destructor)) static void end() { account_end(); }

}  // namespace nigh::preload
