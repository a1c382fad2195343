// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The samples of a meter in one interval: who accessed which node's memory, and which places of it are
// shared. A meter samples, so counts are of samples; `rate` says what they stand for where the meter can know
// it. All code that decides (plan) or shows (service) works from this value and never asks which meter it
// was, but for its level and confidence, which stand beside everything derived from it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nigh::watch {

// The ladder, best first.
enum class Level : std::uint8_t {
  pmu,     // addresses of memory accesses, sampled by the processor (AMD IBS, Intel PEBS, Arm SPE)
  faults,  // addresses of page faults that the kernel (or we) provoke to see who touches what
  proc,    // the kernel's own counts by thread and node
  none,    // nothing is measured: advice from the machine alone
};
const char* level_name(Level level);

// A thread's accesses by the node of the memory. Nodes are OS numbers.
struct ThreadTraffic {
  int pid = 0;
  int tid = 0;
  int cpu = -1;                 // where it was last seen
  std::vector<double> by_node;  // samples by their weight, index = OS number of the memory's node
};

// A piece of a process's memory (2 MiB, by its address) and who touched it: what clusters are found from.
struct RegionTouches {
  int pid = 0;
  std::uint64_t region = 0;                       // address >> 21
  int node = -1;                                  // where it was, -1: not known
  std::vector<std::pair<int, double>> by_thread;  // (tid, samples by their weight), tids ascending
};

struct Reading {
  Level level = Level::none;
  double seconds = 0;     // of the interval
  double confidence = 0;  // 0 to 1: how far the counts can be believed, from their number and what was lost
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::uint64_t unplaced = 0;  // samples whose node could not be found: in `regions`, in no `by_node`
  double cost = 0;             // CPU time that the meter itself took, as a share of one core
  double rate = 0;             // DRAM accesses per microsecond of all threads, 0: this meter can't know
  std::vector<ThreadTraffic> threads;
  std::vector<RegionTouches> regions;
  std::string note;  // one sentence about what the figures are not, empty: nothing to say
};

// The confidence in `samples` if the meter at its best deserves `most`: falls with few samples (half at 200),
// with those that were lost and with those whose node is unknown.
double confidence_of(double most, double samples, double lost, double unplaced = 0);

}  // namespace nigh::watch
