// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What `nigh watch` was asked for; its parts are one file each.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "watch/governor.hpp"

namespace nigh::cli {

struct WatchOptions {
  watch::GovernorOptions governor;
  std::vector<int> pids;
  std::vector<std::string> command;
  bool all = false, demo = false, meters = false, undo = false, json = false;
  double interval = 1;      // s
  double duration = 0;      // s, 0: until what is watched has ended, or Ctrl-C
  std::string log, listen;  // a file; [address:]port of the feed
  std::string machine;      // a file or model, instead of what is found here
};

int watch_demo(const WatchOptions& options);

}  // namespace nigh::cli
