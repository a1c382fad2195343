// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The first moment that is ours, when no malloc came before it: as early as libraries allow. Static data is
// shared here, before the program's own constructors have made threads, and the registry opens. And the last
// moment, after the program's own exit handlers.
#include <stdlib.h>
#include <string.h>

#include "space/account.hpp"
#include "space/heap.hpp"
#include "space/memory.hpp"
#include "space/process_space.hpp"
#include "space/say.hpp"
#include "space/sites.hpp"
#include "space/slot.hpp"
#include "sys/variables.hpp"

extern "C" nigh::space::ProcessSpace* nigh_space_object_here(std::uint32_t version);

namespace nigh::space {

namespace {

// libnigh-space.so and libnigh-mpi.so may both be in a process, each with this code. Whose functions the
// loader gives to everybody has the slot; the other, whose constructor may come first, keeps its hands off.
bool is_the_one() {
  ProcessSpace* (*volatile everybodys)(std::uint32_t) = nigh_space_object;
  ProcessSpace* (*volatile ours)(std::uint32_t) = nigh_space_object_here;
  return everybodys == ours;
}

}  // namespace

__attribute__((constructor(101))) static void begin() {
  if (!is_the_one() || !memory().on) return;
  heap_ready();
  const char* why = "";
  if (sys::word_in_variable("NIGH_SHARE", {"data"}, look_up_at_start) == 0 && !share_static_data(&why))
    say("static data is not shared: %s", why);
  if (registry_start != nullptr) registry_start();
}

__attribute__((destructor)) static void end() {
  if (!is_the_one()) return;
  hand_over_account();
  sites_keep();
}

}  // namespace nigh::space
