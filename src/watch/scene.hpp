// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From what a meter saw to what a policy decides on: units of placement. Threads of a process that touch the
// same memory are one unit; a process whose threads work on two buffers that have nothing to do with each
// other is two. Old samples count less and less, so that the picture follows a program through its phases.
//
//     samples (thread, address, node)          regions of 2 MiB       units
//       t1 t2 ──────► buffer A on node 0         A: t1 t2              {t1 t2, A}
//       t3 t4 ──────► buffer B on node 5         B: t3 t4              {t3 t4, B}
//
// Pure: facts about processes and readings go in, units come out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "watch/governor.hpp"
#include "watch/reading.hpp"

namespace nigh::watch {

struct ProcessFacts {
  int pid = 0;
  std::uint64_t start = 0;  // ticks since boot: with the pid, who it is
  std::string name;
  double running = 0;    // s
  double megabytes = 0;  // resident
};

// A piece of memory of a unit. Nodes are indices into Machine::nodes.
struct UnitRegion {
  std::uint64_t region = 0;  // address >> 21
  int node = -1;             // where it is
  int user = -1;             // the node of the threads that use it; -1: of several
  double weight = 0;
};

struct Watched {
  Unit unit;
  int pid = 0;
  std::uint64_t start = 0;
  std::vector<std::pair<int, int>> threads;  // (tid, node)
  std::vector<UnitRegion> regions;
  bool whole = false;  // all threads of the process that do anything: all its memory is this unit's
};

struct SceneOptions {
  double half_life = 5;        // s after which a sample counts half, where there are `plenty`
  double long_half_life = 60;  // ... and where there are fewer: a slow meter needs a longer look
  double plenty = 200;         // samples of each thread
  double overlap = 0.1;        // part of two threads' touches that goes to the same memory: then they share
  double user = 0.1;           // part of a region's touches that makes a node one of its users
  double active = 5;           // samples (with age) that a thread must have to be placed
};

class Scene {
 public:
  explicit Scene(const Machine& machine, SceneOptions options = {});
  // Readings of processes that `facts` does not name are left out; what was known of processes that it names
  // no more is forgotten.
  void add(const Reading& reading, const std::vector<ProcessFacts>& facts);
  // Threads (by their number: to these nodes) or pages of this process were moved: what was seen before
  // counts a tenth from now on.
  void moved(int pid, const std::map<int, int>& threads = {});
  // Samples since then.
  [[nodiscard]] double fresh() const { return fresh_; }
  [[nodiscard]] std::vector<Watched> watched(const Links& links) const;
  // The confidence in all that is remembered, as a meter's in one interval: from the number of samples, the
  // lost ones, and `most`, the best that the meter can have.
  [[nodiscard]] double confidence(double most) const;

 private:
  struct Thread {
    int node = -1;
    bool just_moved = false;  // the next reading may have seen it last where it came from
    std::vector<double> by_node;
  };
  struct Region {
    int node = -1;
    std::map<int, double> by_thread;
  };
  struct Process {
    ProcessFacts facts;
    std::map<int, Thread> threads;
    std::map<std::uint64_t, Region> regions;
  };
  [[nodiscard]] int node_index(int os_number) const;
  [[nodiscard]] std::vector<std::vector<int>> groups_of(const Process& process) const;
  [[nodiscard]] Watched unit_of(const Process& process, const std::vector<int>& tids, std::size_t number,
                                bool whole) const;
  void age(Process& process, double factor) const;

  const Machine& machine_;
  SceneOptions options_;
  std::map<int, int> index_of_;  // OS number of a node to its index
  std::map<int, Process> processes_;
  double rate_ = 0;  // accesses per us of all, 0: not known
  double samples_ = 0, lost_ = 0, fresh_ = 1e9;
  double weight_ = 1;  // of a sample
};

}  // namespace nigh::watch
