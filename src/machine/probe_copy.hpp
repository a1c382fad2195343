// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The copy rates of a machine, from the measurements of `nigh machine --probe` on it: the levels of CopyRates
// (transfer.hpp). Used by the model of the transpose, and by the MPI probe, which need not measure known
// rates again.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/probe.hpp"

namespace nigh {

// MB/s of all memories to their own CPUs while as much is written as read; 0 when it has not been measured
// everywhere.
double probed_memory_rate(const Probe& probe);
// MB/s of one thread on a working set of that level, "L2", "memory"; 0: not measured, or no probe.
double probed_core_rate(const Probe* probe, const std::string& level);

// The caches, then the memory, where one core has `core` and all have `node` MB/s. A cache that was not
// measured has `gain` times what one core has in memory; gain 0: it is left out.
std::vector<CopyLevel> copy_levels(const Machine& machine, const Probe* probe, double core, double node,
                                   double gain);
// Made of measured figures only; empty where the probe lacks those of memory.
std::vector<CopyLevel> probed_copy_levels(const Machine& machine, const Probe& probe);

}  // namespace nigh
