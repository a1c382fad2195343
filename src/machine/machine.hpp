// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A Machine is a plain value: a tree of places (machine, group, board, package, die, NUMA node, L3, L2,
// core, PU) and what is known of the links between its NUMA nodes. Everything that plans works from
// this value and from nothing else, so a recorded or imagined machine plans exactly as a real one.
//
//     machine
//       +- package 0
//       |    +- numa 0 (8 GiB)          a NUMA node with CPUs is a level of the tree
//       |    |    +- l3 - core 0 - pu 0, pu 8    (PUs of a core in SMT order)
//       |    +- numa 2 (32 GiB, no CPUs)         a memory-only node (CXL, HBM) is a leaf of its parent
//
// Objects are stored in depth-first order (a parent before its children), objects[0] is the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "machine/transfer.hpp"

namespace nigh {

// Ordered from the outside in: of the kinds other than group and numa, a child's is always greater than that
// of everything around it. Groups and NUMA nodes sit where their CPUs are, anywhere outside cores: one memory
// may serve four packages (machine, numa, package), one L3 may span three NUMA nodes (package, l3, numa).
enum class Kind : std::uint8_t { machine, group, board, package, die, numa, l3, l2, core, pu };

// True if an object of kind `inner` may lie below one of kind `outer` (directly or further in).
bool may_hold(Kind outer, Kind inner);

// The name used in JSON and on screen ("machine", "board", ..., "pu"), and back.
const char* kind_name(Kind kind);
Result<Kind> kind_from_name(std::string_view name);

struct Object {
  Kind kind = Kind::machine;
  int os_index = -1;  // the number the OS uses; unique in its kind, but for cores (per package); -1 if none
  int parent = -1;    // index into Machine::objects, -1 for the machine itself
  std::vector<int>
      children;  // indices into Machine::objects, in the machine's logical order; SMT order below a core
  std::uint64_t bytes = 0;  // memory of a NUMA node, capacity of a cache, else 0
  CpuSet pus;               // OS numbers of the PUs below (empty for a memory-only node)
};

// The origin of a figure; fitted: so that a model gives figures that were published or measured. A plan may
// be no more certain than the least certain figure it rests on.
enum class Source : std::uint8_t { unknown, measured, hmat, slit, datasheet, guessed, fitted };
const char* source_name(Source source);
Result<Source> source_from_name(std::string_view name);

// A directional node-to-node matrix: row = node whose CPUs access, column = node whose memory is
// accessed, both in the order of Machine::nodes. Unknown entries are 0 with Source::unknown.
struct LinkMatrix {
  std::vector<double> value;
  std::vector<Source> source;
  [[nodiscard]] bool empty() const { return value.empty(); }
};

// A GPU or a network adapter, and the PUs nearest to it.
struct Device {
  enum class Type : std::uint8_t { gpu, nic };
  Type type = Type::gpu;
  std::string bus;                 // its PCI address, "0000:c1:00.0"
  std::string vendor;              // "NVIDIA", "AMD", "Intel", ...; may be empty
  std::string title;               // "Tesla V100-SXM2-16GB"; may be empty
  std::vector<std::string> names;  // drivers' names for it: "cuda0", "nvml0"; "mlx5_0", "ib0"
  CpuSet pus;                      // all of the machine where the firmware says nothing
  bool operator==(const Device&) const = default;
};
const char* device_type_name(Device::Type type);

struct Machine {
  std::string name;                // short identifier, "opteron-6272"
  std::string title;               // one line for people
  std::string origin;              // where this description comes from (hwloc, a file, a paper)
  std::vector<std::string> notes;  // what is assumed, odd or unknown about it
  std::vector<Object> objects;     // depth-first; never empty in a valid machine
  std::vector<int> nodes;          // NUMA nodes as indices into objects, by ascending os_index
  std::vector<int> slit;           // nodes x nodes ACPI distances, row major; empty if unknown
  LinkMatrix bandwidth;            // MB/s (10^6 bytes per second)
  LinkMatrix latency;              // ns
  Network network;                 // between nodes of a cluster of such machines; empty if unknown
  CopyRates copying;               // within one; empty if unknown
  std::vector<Device> devices;     // GPUs, then network adapters, each by PCI address

  [[nodiscard]] std::size_t node_count() const { return nodes.size(); }
  [[nodiscard]] const Object& root() const { return objects.front(); }
  [[nodiscard]] const CpuSet& pus() const { return objects.front().pus; }
  [[nodiscard]] std::vector<int> of_kind(Kind kind) const;  // object indices, in logical order
  [[nodiscard]] int count(Kind kind) const { return static_cast<int>(of_kind(kind).size()); }
  // The innermost object of that kind that holds the PU; -1 when there is none.
  [[nodiscard]] int ancestor_of_pu(int pu, Kind kind) const;
  // Index into `nodes` of the NUMA node local to the PU (the one with CPUs), -1 when unknown.
  [[nodiscard]] int node_of_pu(int pu) const;
  // The OS number of nodes[index].
  [[nodiscard]] int node_number(std::size_t index) const {
    return objects[static_cast<std::size_t>(nodes[index])].os_index;
  }
  // "4 packages, 8 NUMA nodes, 64 cores, 64 PUs, 128 GiB"
  [[nodiscard]] std::string summary() const;
  // Every invariant stated in this file; the first one broken, as a sentence. Readers call it last.
  [[nodiscard]] Result<void> validate() const;
};

// Builds a Machine in depth-first order: open() an object, add what is inside, close() it. finish() fills
// the PU sets and the node list and validates.
class MachineBuilder {
 public:
  MachineBuilder();  // opens the machine object
  int open(Kind kind, int os_index = -1, std::uint64_t bytes = 0);
  void close();
  Machine& machine() { return machine_; }  // for names, notes and matrices
  Result<Machine> finish();

 private:
  Machine machine_;
  std::vector<int> stack_;
};

}  // namespace nigh
