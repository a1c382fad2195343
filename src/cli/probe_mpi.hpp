// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh machine --probe-mpi -- mpirun -n 16`: the words that start ranks are the user's, the program that
// they start is ours. What it measured is fitted, shown and kept (machine/mpi_probe.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace nigh::cli {

struct MpiProbeRequest {
  bool wanted = false;
  bool no_store = false;  // the same flag as that of --probe
  std::string library;    // "openmpi", "mpich"; empty: by the launcher's name
};

void add_mpi_probe_options(CLI::App& command, MpiProbeRequest& request);

// Returns the exit status.
int run_mpi_probe(const Machine& machine, const MpiProbeRequest& request,
                  const std::vector<std::string>& launcher, bool json);

}  // namespace nigh::cli
