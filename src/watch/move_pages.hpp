// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Moves the pages of a process between nodes. Live: in calls sized for about 20 ms each, with rests between,
// while it runs. Frozen: it is stopped (sys::Freezer), several threads move, it goes on; no pause is longer
// than allowed, and what is left waits for the next. Lazily: just what was touched, with its neighbours.
//
// However it ends (Ctrl-C, kill -9, full nodes, pinned pages), each page is on its old or its new node and
// the process never knows; pages that did not move are counted by cause.
#pragma once

#include <atomic>
#include <vector>

#include "base/result.hpp"
#include "sys/freezer.hpp"
#include "sys/os.hpp"
#include "watch/journal.hpp"
#include "watch/move_report.hpp"
#include "watch/page_walk.hpp"

namespace nigh::watch {

struct MoveOptions {
  sys::Freezer* freezer = nullptr;  // with leave to pause; none: live
  Journal* journal = nullptr;       // names what is frozen, for undo after a kill -9 of us and the supervisor
  std::vector<sys::ProcessId> freeze_with;  // other processes of the application, stopped with it
  double pause_limit = 0.5;                 // seconds
  double pause_rest = 1;                    // rest after a pause, as a part of it
  int threads = 0;                          // movers in a pause; 0: the PUs that we may use, at most 8
  double call_seconds = 0.02;               // a live call's aim
  double call_rest = 0.1;                   // rest after a live call, as a part of it
  double keep_free = 0.02;                  // part of the target node's memory that stays free
  bool also_shared = false;  // pages that other processes have mapped, too (root; needs their leave)
  const std::atomic<bool>* stop = nullptr;  // set: end soon, in a good state
};

// Errors: io (the process is gone before anything was done), permission. Once begun it always gives a report.
Result<MoveReport> move_pages(const sys::Os& os, const PagePlan& plan, const MoveOptions& options = {});

// An address that a thread touched, and the node of that thread.
struct Touch {
  std::uint64_t address = 0;
  int node = 0;
};
// Moves the 2 MiB regions around the addresses to the node that touched each most often.
Result<MoveReport> move_touched(const sys::Os& os, const sys::ProcessId& process,
                                const std::vector<Touch>& touches, const MoveOptions& options = {});

}  // namespace nigh::watch
