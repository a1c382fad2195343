// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The names of the cures, as NIGH_CURES_OFF and the account know them.
#include "openmp/cures.hpp"

#include "openmp/say.hpp"
#include "sys/raw_text.hpp"

namespace nigh::preload {

unsigned g_cures_off;
constinit std::atomic<unsigned> g_cures_used[static_cast<unsigned>(Cure::kCount)]{};

static const char* const kNames[] = {"pthread_create", "fork",     "system",     "popen",       "posix_spawn",
                                     "exec",           "numprocs", "affinity",   "setaffinity", "strip",
                                     "local",          "caller",   "reductions", "oldabi",      "helpers",
                                     "alias",          "barrier",  "roots",      "rebind",      "league",
                                     "birth",          "pin",      "attributes", "outside",     "preload"};
static_assert(sizeof kNames / sizeof *kNames == static_cast<unsigned>(Cure::kCount), "one name per cure");

const char* cure_name(Cure cure) { return kNames[static_cast<unsigned>(cure)]; }

void read_cures_off(const char* names) {
  while (names && *names) {
    const size_t length = sys::raw_length_to(names, ',');
    bool found = false;
    for (unsigned i = 0; i < static_cast<unsigned>(Cure::kCount); i++)
      if (sys::raw_length(kNames[i]) == length && sys::raw_begins(names, kNames[i])) {
        g_cures_off |= 1u << i;
        found = true;
      }
    if (!found) say("NIGH_CURES_OFF: there is no cure \"%.*s\"", static_cast<int>(length), names);
    names += length + (names[length] == ',');
  }
}

}  // namespace nigh::preload
