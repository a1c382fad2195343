// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The measurements of `nigh machine --probe-mpi` between nodes of this kind, fitted: the figures that the
// model of the transpose is calculated with (transfer.hpp). Kept beside the Probe under the same hash of the
// topology; `nigh plan --transpose` uses it. Machine files that give their own figures win.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "machine/mpi_fit.hpp"
#include "machine/probe.hpp"

namespace nigh {

struct MpiProbe {
  std::string topology, date, cpu, library;
  int nodes = 1, ranks = 1;  // ranks of a node
  int cores = 1;             // of a node that worked at the same time: ranks x threads
  double seconds = 0;        // that measuring took
  Network network;           // empty: there was one node
  CopyRates copying;
  std::string copying_from;  // what measured its rates, if the ranks did not
  std::vector<MpiPoint> points;
  std::vector<std::string> notes;
};

// From the line that the program on the ranks prints. Rates of copying that it was told not to measure are
// those of `probe`, the machine's own. Errors: invalid: it is not such a line, or its figures make no sense.
Result<MpiProbe> read_mpi_report(const std::string& line, const Machine& machine,
                                 const Probe* probe = nullptr);

Result<std::string> mpi_probe_path(const Machine& machine);
Result<void> store_mpi_probe(const Machine& machine, const MpiProbe& probe);
// Errors: io with ENOENT when nothing is stored; invalid when the file is damaged or another machine's.
Result<MpiProbe> load_mpi_probe(const Machine& machine);

std::string mpi_probe_to_json(const MpiProbe& probe);
Result<MpiProbe> mpi_probe_from_json(std::string_view text, const std::string& where);
std::string draw_mpi_probe(const MpiProbe& probe);

}  // namespace nigh
