// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The small door between the programme of a probe (what to measure, how often, what follows) and the machine.
// A Lab takes one sample at a time; the real one streams and chases, the one in the tests computes what a
// made-up machine would show. Layout is the pure part in between: which PUs and how much memory of each node
// may be used.
//
//     the memory of one node:  | ball | chase region | slice 0 | slice 1 | ... one for each thread |
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "machine/probe_kernels.hpp"
#include "machine/probe_stats.hpp"
#include "sys/memory.hpp"

namespace nigh::probe {

struct NodeShare {
  int node = 0;          // OS number
  std::vector<int> pus;  // usable, one of each core first, then their siblings
  std::uint64_t llc = 0;
  Sizes sizes;  // slice 0: its memory can't be used
  int threads = 0;
  std::uint64_t chain_bytes = 0;  // what of sizes.chase the chase really walks (set by the real lab)
  std::uint64_t huge_bytes = 0;   // (set by the real lab)
};

struct Layout {
  std::vector<NodeShare> nodes;                               // ascending
  std::vector<std::pair<std::string, std::uint64_t>> caches;  // of the first PU: "L1" and its bytes, ...
  std::vector<std::string> notes;
  [[nodiscard]] std::vector<int> pus() const;
};

// The resources that the OS allows; read once, so that lay_out() is pure.
struct Resources {
  CpuSet pus;
  CpuSet mems;  // empty: all
  std::vector<sys::NodeMemory> memory;
  std::uint64_t headroom = 0;
  std::vector<sys::CacheLevel> caches;  // of the first usable PU
};
Result<Resources> read_resources(const sys::Os& os);

// `only`: NUMA nodes to keep, empty for all. `most_per_node` bounds the memory taken of one node. At most
// half of what is free is taken. Errors: invalid (a node that is not there), unsupported (nothing that could
// be measured).
Result<Layout> lay_out(const Machine& machine, const Resources& resources, const CpuSet& only,
                       std::uint64_t most_per_node);

// One thread that streams: from which PU, over which slice of which node (an index into Layout::nodes).
struct Stream {
  int pu = 0;
  std::size_t node = 0, slot = 0;
  Mix mix = Mix::read;
};

class Lab {
 public:
  virtual ~Lab() = default;
  virtual double now() = 0;
  // MB/s of each job, all at the same time; bytes over the time from the first start to the last end.
  virtual Result<std::vector<double>> stream(const std::vector<Stream>& jobs, double seconds) = 0;
  // ns per step of a chase, then MB/s of all that streams `beside` it.
  virtual Result<std::vector<double>> chase(int pu, std::size_t node, const std::vector<Stream>& beside,
                                            double seconds) = 0;
  // ns per step and MB/s read of one thread on a working set of that size.
  virtual Result<std::vector<double>> working_set(int pu, std::uint64_t bytes, double seconds) = 0;
  // ns one way, `a` having the line's home.
  virtual Result<std::vector<double>> ping_pong(int a, int b, double seconds) = 0;
  // Other remarks on the samples taken so far.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
};

// This machine. Takes the memory that `layout` says, binds, touches and verifies it, and builds the chains
// (for at most `chain_seconds`); what can't be had is left out with a note in `layout`.
Result<std::unique_ptr<Lab>> open_lab(Layout& layout, const sys::Os& os, double chain_seconds,
                                      const std::atomic<bool>* cancel);

}  // namespace nigh::probe
