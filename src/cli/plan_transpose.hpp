// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh plan --transpose N1xN2`: the time of each step of a distributed matrix transpose for every ranks x
// threads on a cluster of some machine, the best choice and why. Nothing is run; it is a prediction, and what
// it rests on is printed above it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "machine/machine.hpp"
#include "machine/mpi_probe.hpp"
#include "machine/probe.hpp"

namespace nigh::cli {

struct TransposeOptions {
  std::string size;  // "1000x2000"; empty: no transpose is asked for
  std::string type = "double";
  int nodes = 1;
  int cores = 0;     // 0: all of the machine
  double flops = 0;  // Mflop/s of a node, for the FFT; 0: no FFT
  bool curves = false;
  bool json = false;
  bool all = false;  // every number of panels, not the best alone
};

// Adds --transpose and what goes with it, but for --nodes, --json and --all. Returns the option --transpose.
CLI::Option* add_transpose_options(CLI::App& command, const std::shared_ptr<TransposeOptions>& options);

// The best of all ways, for `nigh run --auto-hybrid`. Errors: a wrong size or type, a matrix too small.
struct BestTranspose {
  int ranks = 1, threads = 1;
  std::string why, table;
};
Result<BestTranspose> best_transpose(const TransposeOptions& options, const Machine& machine,
                                     const Probe* probe, const MpiProbe* mpi);

// Prints the table or the document and returns 0; a wrong size or type, or a matrix too small: the sentence,
// and 1. `probe` and `mpi` may be null.
int run_transpose_plan(const TransposeOptions& options, const Machine& machine, const Probe* probe,
                       const MpiProbe* mpi);

}  // namespace nigh::cli
