// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The effect of a placement on programs and a machine: run time, bandwidth and latency, from the link model
// alone. A thread alternates between computing and moving bytes; while it moves, it competes with the average
// traffic of all others:
//
//     seconds = units x (compute + bytes / bandwidth under load)     for the threads of a node
//
// which is the form that fits slide 5 of AsymSched (Lepers, Quema, Fedorova, USENIX ATC 2015). Both sides
// depend on each other, so the answer is a fixed point. Threads of a program that meets at barriers go at the
// pace of the slowest node; those of one that hands out work go at their own. Pure: no I/O, no clock, the
// same answer for the same question.
#pragma once

#include <string>
#include <vector>

#include "machine/links.hpp"

namespace nigh {

struct Program {
  std::string name;
  double units = 1;        // of work for each thread
  double compute = 0;      // s a unit, when no byte must be waited for
  double megabytes = 0;    // (10^6) from memory a unit
  bool barriers = true;    // all threads end a unit together
  double outstanding = 4;  // cache lines that a thread waits for at once, for the latency alone
};

// The threads and bytes of a program; by node (index into Machine::nodes).
struct Placement {
  std::vector<double> threads;
  // traffic[i][j]: the part of what threads on node i access that lies on node j. Rows of nodes with threads
  // sum up to 1.
  std::vector<std::vector<double>> traffic;

  // All threads access all pages alike; `pages` is the part of them on each node.
  static Placement uniform(std::vector<double> threads, const std::vector<double>& pages);
};

struct Forecast {
  double seconds = 0;
  double bandwidth = 0;  // MB/s, all that the program moves, while it runs
  double remote = 0;     // part of its bytes that come from another node
  double far = 0;        // ... over more than one hop
  double latency = 0;    // ns, mean over its accesses
  std::vector<Flow> flows;
  std::vector<double> rates;  // MB/s of each flow while it has something to move, under the others' load
  std::vector<double> loads;  // MB/s of each flow, mean
  bool assumed = false;       // rests on a figure that was neither measured nor documented
};

struct SimulationOptions {
  double idle_latency = 100;  // ns of an access when nothing else is about, where the machine does not say
  int most_rounds = 500;      // of the fixed point
  double tolerance = 1e-7;    // relative, of every time and load
};

// One Forecast a program, in their order. Errors: sizes that do not fit the machine, rows that do not sum up
// to 1, a program without threads.
Result<std::vector<Forecast>> simulate(const Links& links, const std::vector<Program>& programs,
                                       const std::vector<Placement>& placements,
                                       const SimulationOptions& options = {});

}  // namespace nigh
