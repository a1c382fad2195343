// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Demand classes of the programs in AsymSched's evaluation (Lepers, Quema, Fedorova, USENIX ATC 2015, slides
// 5, 10 and 11), for the simulator. Only streamcluster's figures are fitted to published ones (two rows of
// slide 5); those of the others are ours, and stand for what the slides call them by: bandwidth-bound, in
// between, light.
#pragma once

#include <string>
#include <vector>

#include "plan/application.hpp"

namespace nigh {

struct KnownProgram {
  std::string name;
  double compute = 0;    // s for each thread
  double megabytes = 0;  // from memory for each thread
  double sharing = 1;    // part of that which all threads use
  double resident = 0;   // MB
};
const std::vector<KnownProgram>& known_programs();

// With eight threads on each of the nodes (as many as an Opteron 6272 node has cores) and all memory that
// they share on the first of them, the master's; what they do not share lies with its threads. Errors: no
// such program.
Result<Application> known_application(const std::string& name, const std::vector<int>& nodes, int node_count);

// The view of a meter on that machine in a second, all running at once: fills in accesses and
// accesses_per_us.
void observe(const Links& links, std::vector<Application>& applications);

}  // namespace nigh
