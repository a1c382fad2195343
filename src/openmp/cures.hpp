// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A binding made behind a program's back leaks: into threads, children, and what runtimes believe about the
// machine. Each leak has a cure, each cure a name, and NIGH_CURES_OFF=name,name switches cures off. That is
// for diagnosis, and for the tests: every trap program must come out wrong without its cure, or it proves
// nothing.
#pragma once

#include <atomic>

namespace nigh::preload {

enum class Cure : unsigned {
  kPthread,      // threads made by the program start with the mask their maker would have had
  kFork,         // so do forked children
  kSystem,       // .. and what system() runs
  kPopen,        // .. popen()
  kSpawn,        // .. posix_spawn()
  kExec,         // .. exec*(), also after vfork()
  kNumProcs,     // runtimes count the processors of the process, not of the bound thread
  kAffinity,     // outside regions the program sees its own mask
  kSetAffinity,  // the program's own sched_setaffinity is believed
  kStrip,        // OMP_PROC_BIND and its like are taken away before libgomp obeys them
  kLocal,        // a libgomp that only a plugin can see is found
  kCaller,       // several libgomps: each caller gets its own
  kReductions,   // GOMP_parallel_reductions reads its data argument
  kOldAbi,       // GOMP_parallel_start: the master runs the body itself
  kHelpers,      // libomp's hidden helper team is no team of the program
  kAlias,        // a gcc program on libomp is seen once, not twice
  kBarrier,      // tasks run at a region's closing barrier still belong to the region
  kRoots,        // several threads that open regions are told apart
  kRebind,       // threads are bound again when the pool gives them another number
  kLeague,       // libomp runs the teams of a league at the same time
  kBirth,        // libgomp's new team threads start where they belong, not behind their opener
  kPin,          // the same variables, set by the program itself before a runtime comes
  kAttributes,   // pthread_getattr_np tells the mask that the thread would have without us
  kOutside,      // masks that somebody else changed meanwhile are noticed
  kPreload,      // programs that can't have our libraries are started without them
  kCount
};

extern __attribute__((visibility("hidden"))) unsigned g_cures_off;
extern __attribute__((visibility("hidden"))) std::atomic<unsigned>
    g_cures_used[static_cast<unsigned>(Cure::kCount)];

const char* cure_name(Cure cure);
void read_cures_off(const char* names);

inline bool cured(Cure cure) { return !(g_cures_off >> static_cast<unsigned>(cure) & 1); }
inline void used(Cure cure) {
  g_cures_used[static_cast<unsigned>(cure)].fetch_add(1, std::memory_order_relaxed);
}

// For cures that act now: is it on? Counts it.
inline bool cure_now(Cure cure) {
  if (!cured(cure)) return false;
  used(cure);
  return true;
}

}  // namespace nigh::preload
