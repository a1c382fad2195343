// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A Probe is what was measured on a machine: bandwidths and latencies between its NUMA nodes, alone and all
// at once, its caches and its cores. Every figure is the median of several samples with the smallest and the
// largest beside it, and says what it was taken with. It is kept in the user's cache directory under a hash
// of the topology (docs/probe.md), and apply_probe() writes it into a Machine, where plans find it as
// Source::measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "machine/probe_kernels.hpp"
#include "machine/probe_stats.hpp"

namespace nigh {

struct Probe {
  // NUMA nodes by OS number throughout. `from` is the node whose CPUs access, `to` the node with the memory.
  struct Node {
    int node = 0;
    CpuSet pus;                     // that took part; empty: memory only
    std::uint64_t llc_bytes = 0;    // last-level cache in front of one of its PUs
    std::uint64_t slice_bytes = 0;  // streamed by one thread
    std::uint64_t chase_bytes = 0;  // walked by the pointer chase
    std::uint64_t huge_bytes = 0;   // of total_bytes, backed by huge pages
    std::uint64_t total_bytes = 0;
  };
  struct Bandwidth {
    int from = 0, to = 0, threads = 0;
    probe::Mix mix = probe::Mix::read;
    probe::Figure mb_per_s;
  };
  struct Latency {
    int from = 0, to = 0;
    int streams = 0;  // threads that stream beside the chase; 0: idle
    probe::Figure ns;
    probe::Figure stream_mb_per_s;  // of those streams; no samples when idle
  };
  struct Point {
    int threads = 0;
    probe::Figure mb_per_s;
  };
  struct Scaling {  // read bandwidth over the number of threads, up to the knee and with all
    int from = 0, to = 0, knee = 0;
    std::vector<Point> points;
  };
  struct Together {  // several links at the same time
    std::string name;
    std::vector<Bandwidth> links;
    probe::Figure total;
  };
  struct Size {  // one thread on a working set of this size
    std::uint64_t bytes = 0;
    std::string level;  // "L1", "L2", "L3", "memory": what holds it; empty for sizes between
    probe::Figure ns;
    probe::Figure mb_per_s;
  };
  struct CorePair {
    int a = 0, b = 0;  // PUs
    probe::Figure ns;  // one way
  };

  std::string topology, date, kernel, cpu, vectors;
  bool quick = false;
  double seconds = 0;
  CpuSet pus;
  std::vector<Node> nodes;
  std::vector<Bandwidth> bandwidth;
  std::vector<Latency> latency;
  std::vector<Scaling> scaling;
  std::vector<Together> together;
  std::vector<Size> sizes;
  std::vector<CorePair> core_pairs;
  std::vector<std::string> contradictions;  // with SLIT and HMAT
  std::vector<std::string> notes;           // what was reduced, left out, refused or discarded

  [[nodiscard]] const Bandwidth* find(int from, int to, probe::Mix mix) const;
  [[nodiscard]] const Latency* find_latency(int from, int to, bool loaded) const;
};

struct ProbeOptions {
  bool quick = false;
  CpuSet nodes;  // only these; empty: all
  std::function<void(const std::string& phase, double done, double seconds_left)> progress;
  const std::atomic<bool>* cancel = nullptr;
};

// Measures this machine. Errors: invalid (no such node), permission, io, or that it was interrupted.
Result<Probe> run_probe(const Machine& machine, const ProbeOptions& options);

// The path of the result for this machine. Errors: neither XDG_CACHE_HOME nor HOME is set.
Result<std::string> probe_path(const Machine& machine);
// Atomic. A result that covers fewer nodes or PUs than the one that is there does not replace it: invalid.
Result<void> store_probe(const Machine& machine, const Probe& probe);
// Errors: io with ENOENT when nothing is stored; invalid (one sentence) when the file is damaged or another
// machine's.
Result<Probe> load_probe(const Machine& machine);

// The marks of a stored probe: this CPU's model, and the time, UTC.
std::string name_of_cpu();
std::string now_text();

std::string probe_to_json(const Probe& probe);
Result<Probe> probe_from_json(std::string_view text, const std::string& where);

// Writes read bandwidths and idle latencies over what the machine knew; adds a note with date and mode.
void apply_probe(Machine& machine, const Probe& probe);
// load_probe and apply_probe for a machine that is this one: silent when nothing is stored, a note when the
// file can't be used.
void apply_stored_probe(Machine& machine);

// Tables and pictures for a terminal.
std::string draw_probe(const Probe& probe, int width = 80);

}  // namespace nigh
