// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh plan --ranks FILE --nodes N`: which rank of a job should run on which node and PUs, by the bytes that
// ranks send each other, and what that saves over the maps of launchers. Nothing is run.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace nigh::cli {

struct RankMapOptions {
  std::string file;  // empty: no map is asked for
  int nodes = 1;
  int per_node = 0;  // ranks of a node; 0: as evenly as can be
  std::vector<std::string> hosts;
  std::string as;
  bool json = false, all = false;
};

// Adds --ranks, --ranks-per-node and --hosts. Returns the option --ranks.
CLI::Option* add_rank_map_options(CLI::App& command, const std::shared_ptr<RankMapOptions>& options);

// Prints it and returns 0; a wrong file, or too few places: the sentence, and 1. `mask`: the PUs of each
// node.
int run_rank_map(const RankMapOptions& options, const Machine& machine, const CpuSet& mask);

}  // namespace nigh::cli
