// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh machine --probe`: its options and what they start. Measuring itself is in machine/probe.hpp.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "machine/machine.hpp"

namespace nigh::cli {

struct ProbeRequest {
  bool wanted = false;
  bool quick = false;
  bool no_store = false;
  std::string nodes;
};

void add_probe_options(CLI::App& command, ProbeRequest& request);

// Measures this machine, prints the figures (or the nigh-probe document) and keeps them. Returns the exit
// status.
int run_probe(const Machine& machine, const ProbeRequest& request, bool json, int width);

}  // namespace nigh::cli
