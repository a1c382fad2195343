// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Teams without a spec (NIGH_TEAMS=auto, which `nigh run -- ./app` sets). The places follow from the teams
// that the program opens: an outermost team is spread over the PUs in the order of its threads, inner teams
// stay close to the thread that opens them. Binding must never cost more than it brings, so it is done only
// where nothing speaks against it, and ends for the rest of the process when something does:
//
//   more threads than PUs              the teams share PUs: the system balances them better
//   PUs of another program's team      two programs bound to the same PUs would take turns
//   OMP_PROC_BIND and its like         the user binds
//   the program's own affinity calls   the program binds
//   team sizes that alternate          each change moves threads
//
//   one memory, one cache              every PU is as near as any other, so there is nothing to gain
//
// (`nigh run --teams auto`, NIGH_TEAMS=always, binds in spite of the last one.) Which PUs are taken is known
// by locks on bytes of one file of the node (byte N: PU N). The kernel releases them when the process ends,
// however it ends. Where a machine has one NUMA node nothing is lost by binding late, so programs that end
// within 0.25 s pay nothing.
#pragma once

#include "openmp/core.hpp"

struct nigh_place;

namespace nigh::preload {

constexpr const char* automatic_spec = "auto";
constexpr const char* always_spec = "always";
constexpr const char* off_spec = "off";  // the library only keeps itself out of programs that can't have it

// Reads NIGH_TEAMS and OpenMP's own binding variables from an environment; before libc is up.
void automatic_begin(const char* wish, bool user_binds);
bool automatic_wanted();
// `nigh run --off teams`: nothing is bound, whoever asks for it.
bool teams_are_off();
// Puts the plan in force that waits for a reason to bind; false: not wanted.
bool automatic_start();
// For each tick of the coarse clock, by the thread that opens outermost regions.
void automatic_tick();
// The places of a team, under the lock. False: its threads stay where they are.
bool automatic_places(Node* parent, unsigned size, nigh_place* places);
// .. then it is kKeep or kFree, by what is in force.
int unplaced_automatically(const Plan& plan, const Node* parent);
bool automatic_waits();
// This thread was bound elsewhere than before.
void automatic_moved();
// No team is bound from the next outermost region on; the first reason counts.
void automatic_off(const char* reason, ...) __attribute__((format(printf, 1, 2)));
// The reason, null if there is none.
const char* automatic_reason();
// All PUs are alike: nothing is bound, and no region is looked at.
bool automatic_needless();
// In a forked child: the locks are its parent's.
void automatic_forget();

}  // namespace nigh::preload
