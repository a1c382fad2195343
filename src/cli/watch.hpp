// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The options of `nigh watch`; its parts are one file each.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "cli/commands.hpp"
#include "machine/machine.hpp"
#include "watch/governor.hpp"

namespace nigh::cli {

struct WatchOptions {
  watch::GovernorOptions governor;
  std::vector<int> pids;
  std::vector<std::string> command;
  bool all = false, demo = false, meters = false, undo = false, json = false, quiet = false;
  double interval = 1;       // s
  double cost = 1;           // own CPU time, per cent of a core
  double duration = 0;       // s, 0: until what is watched has ended, or Ctrl-C
  std::string log, listen;   // a file; [address:]port of the feed
  std::string web;           // the same of a page; "": none
  std::string machine;       // a file or model, instead of what is found here
  std::string memory_nodes;  // for a program that is started: where its memory comes from
};

int watch_demo(const WatchOptions& options);
int watch_meters(const WatchOptions& options);
// The service itself.
int watch_run(const WatchOptions& options);

// Nodes for the measure-only policy: those of a list, or (empty) those of the PUs that this process may use.
// Errors: invalid (not a list, or no such node).
Result<CpuSet> policy_nodes(const Machine& machine, const std::string& list);

}  // namespace nigh::cli
