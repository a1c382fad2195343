// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The first moment. This library is linked with -z initfirst, so its constructor runs before libgomp's, which
// pins the initial thread when OMP_PROC_BIND is set: here the mask is still whole, and the variables can
// still be taken away. The price is that libc itself is not initialised yet: only the arguments that the
// loader hands us and raw system calls may be used; environ is not set, which is also how we know that we
// came in time. Before glibc 2.34 libpthread claims initfirst for itself; then we come late, notice it, and
// say so if it matters.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openmp/account.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/session.hpp"

namespace nigh::preload {

static const char* const kPins[] = {"OMP_PROC_BIND=", "OMP_PLACES=", "GOMP_CPU_AFFINITY=", "KMP_AFFINITY="};

static const char* value_of(char* const* envp, const char* name) {
  const size_t length = strlen(name);
  for (; *envp; envp++)
    if (!strncmp(*envp, name, length) && (*envp)[length] == '=') return *envp + length + 1;
  return nullptr;
}

static bool is_pin(const char* entry) {
  for (const char* pin : kPins)
    if (!strncmp(entry, pin, strlen(pin))) return true;
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

__attribute__((constructor)) static void begin(int, char**, char** envp) {
  g.late = environ != nullptr;
  g.start.load(0);
  g.home = g.start;
  g.helper.place = kFree;
  if (!envp) return;
  read_cures_off(value_of(envp, "NIGH_CURES_OFF"));
  account_begin(const_cast<char*>(value_of(envp, "NIGH_EXPLAIN")));
  g.had_pins = any_pin(envp);
  const char* spec = value_of(envp, "OMP_NESTING_TEAM_SIZE");
  if (spec && *spec && !value_of(envp, "NIGH_MASK") && any_pin(envp) && cured(Cure::kStrip)) strip_pins(envp);
  g.pinned_by_omp = any_pin(envp);
}

__attribute__((destructor)) static void end() { account_end(); }

}  // namespace nigh::preload
