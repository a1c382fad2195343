// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/programs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/assignment.hpp"

namespace nigh {

const std::vector<KnownProgram>& known_programs() {
  // streamcluster: time = 48.2 s + 558870 MB / bandwidth for the eight threads that are remote, from the rows
  // 0-1 (148 s, 5598 MB/s) and 0-3 with master 0 (340 s, 1915 MB/s) of slide 5.
  static const std::vector<KnownProgram> programs = {
      {"streamcluster", 48.2, 558870.0 / 8, 1, 100},
      {"graph500", 60, 50000, 0.7, 300},
      {"specjbb", 80, 40000, 0.5, 10000},
      {"matrixmultiply", 120, 10000, 0.8, 1000},
      {"swaptions", 150, 60, 0.5, 20},
      {"ep", 150, 10, 0.5, 20},
  };
  return programs;
}

Result<Application> known_application(const std::string& name, const std::vector<int>& nodes,
                                      int node_count) {
  std::string names;
  for (const KnownProgram& known : known_programs()) {
    names += (names.empty() ? "" : ", ") + known.name;
    if (known.name != name) continue;
    std::vector<double> threads(static_cast<std::size_t>(node_count), 0);
    for (const int node : nodes) threads[static_cast<std::size_t>(node)] = 8;
    Application out = Application::with_master(
        {.name = name, .compute = known.compute, .megabytes = known.megabytes, .outstanding = 4.48}, threads,
        nodes.front(), known.sharing);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      if (threads[i] == 0) continue;
      std::fill(out.own[i].begin(), out.own[i].end(), 0);
      out.own[i][i] = 1;
    }
    out.megabytes = known.resident;
    return out;
  }
  return fail(Errc::invalid,
              fmt::format("no figures are known of the program '{}'; there are {}", name, names));
}

void observe(const Links& links, std::vector<Application>& applications) {
  constexpr double line = 64;  // bytes
  const std::vector<Forecast> seen = forecasts(links, applications);
  for (std::size_t a = 0; a < applications.size(); ++a) {
    applications[a].accesses_per_us = seen[a].bandwidth / line;  // MB/s are bytes per us
    applications[a].accesses = applications[a].accesses_per_us * 1e6;
  }
}

}  // namespace nigh
