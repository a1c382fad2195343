// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From single samples (thread, address, weight) to a Reading: what the sampling meters share.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "watch/node_finder.hpp"
#include "watch/reading.hpp"

namespace nigh::watch {

// One sampled access. `weight` is what it stands for, in the meter's unit.
struct Access {
  int pid = 0;
  int tid = 0;
  int cpu = -1;
  std::uint64_t address = 0;
  double weight = 1;
};

class Tally {
 public:
  void add(const Access& access);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  // Finds the nodes (through the cache), fills samples, unplaced, threads and regions, and begins anew.
  void into(Reading& reading, NodeFinder& nodes, double now);

 private:
  struct Region {
    std::vector<std::uint64_t> addresses;  // a few distinct ones
    std::vector<std::pair<int, double>> by_thread;
    std::uint64_t samples = 0;
  };
  struct Thread {
    int pid = 0;
    int cpu = -1;
    std::vector<double> by_node;
  };
  void place(const RegionKey& key, Region& region, const NodeShares& shares, Reading& reading);

  std::unordered_map<RegionKey, Region, RegionHash> regions_;
  std::map<int, Thread> threads_;
  std::uint64_t samples_ = 0;
  int last_tid_ = 0;
  Thread* last_thread_ = nullptr;  // both maps keep their elements in place
  RegionKey last_key_;
  Region* last_region_ = nullptr;
};

}  // namespace nigh::watch
