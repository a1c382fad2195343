// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What the model of the transposition is calculated with, from what is known of a machine: figures that the
// machine file gives come first, then what was measured on it (its probe), then its tree and its matrix of
// bandwidths, and at last assumptions. Each is told with where it comes from, since a plan is no more certain
// than the least certain figure that it rests on.
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

// Of a cluster of such machines of which `cores` cores each are used. Where that is more than the machine
// has, what all cores get together is taken to grow with their number. `probe` and `mpi` may be null. Errors:
// none; what is missing is assumed and told.
TransposeCosts transpose_costs(const Machine& machine, const Probe* probe, int cores,
                               const MpiProbe* mpi = nullptr);

// What is assumed of a network nobody knows: a link of 100 Gbit/s, with the latencies of an MPI library on
// it.
Network assumed_network();

}  // namespace nigh
