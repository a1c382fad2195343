// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The costs in the model of the transposition, from the known figures of a machine: those that the machine
// file gives come first, then measured ones (its probe), then its tree and its matrix of bandwidths, and at
// last assumptions. Each has its origin with it, since a plan is no more certain than the least certain
// figure that it rests on.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/mpi_probe.hpp"
#include "machine/probe.hpp"

namespace nigh {

struct TransposeCosts {
  Network network;
  CopyRates copying;
  std::vector<std::string> told;  // one line for each kind of figure: what it is and where it comes from
};

// The costs of a cluster of such machines of which `cores` cores each are used. Where that is more than the
// machine has, the rate of all cores together is taken to grow with their number. `probe` and `mpi` may be
// null. Errors: none; missing figures are assumed and reported.
TransposeCosts transpose_costs(const Machine& machine, const Probe* probe, int cores,
                               const MpiProbe* mpi = nullptr);

// An assumed network: a link of 100 Gbit/s, with the latencies of an MPI library on it.
Network assumed_network();

}  // namespace nigh
