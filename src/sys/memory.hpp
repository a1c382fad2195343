// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory as the OS places it: how much of it may be used (per NUMA node, under the cgroup's limits), which
// caches lie in front of it, and a Buffer whose pages are bound to one node and can be asked where they are.
// Binding is a wish until the pages are touched, so whoever measures asks placement() afterwards and believes
// only that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

struct NodeMemory {
  int node = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;  // free, or page cache that can be dropped at once
};
// Every NUMA node with memory, ascending; a kernel without NUMA has one node 0.
std::vector<NodeMemory> node_memory(const Os& os);

// Bytes of a node below which the kernel reclaims before it gives (the high watermarks of its zones,
// /proc/zoneinfo); 0: not known. Moving pages there fails not far below.
std::uint64_t kernel_reserve(const Os& os, int node);

// Bytes this process may still take before the machine or a cgroup (v1 or v2, any level above us) is full.
std::uint64_t memory_headroom(const Os& os);

// The nodes the cpuset lets us allocate on; empty when the kernel does not say.
CpuSet allowed_nodes(const Os& os);

struct CacheLevel {
  int level = 0;
  std::uint64_t bytes = 0;
  CpuSet shared;  // the PUs that share it
};
// Data and unified caches in front of a PU, innermost first; empty when the kernel does not say.
std::vector<CacheLevel> caches_of(const Os& os, int cpu);

// Pages by the node they are on; `absent` counts those not touched yet.
struct Placement {
  std::map<int, std::size_t> pages;
  std::size_t absent = 0;
  [[nodiscard]] bool all_on(int node) const {
    return absent == 0 && pages.size() == 1 && pages.begin()->first == node;
  }
  [[nodiscard]] std::string to_text() const;  // "60 pages on node 0, 4 on node 1"
};

// Asks the kernel (move_pages query) where up to `most` pages are, spread evenly over the range.
Result<Placement> placement(const void* data, std::size_t bytes, std::size_t most);
// The same from /proc/self/numa_maps, for containers that refuse move_pages; counts the whole mapping.
Result<Placement> placement_from_maps(const Os& os, const void* data);

// The bytes of a range that are backed by huge pages, from /proc/self/smaps (AnonHugePages and hugetlb).
std::uint64_t huge_bytes(const Os& os, const void* data, std::size_t bytes);

// An anonymous mapping, aligned to 2 MiB, for which huge pages were asked (MADV_HUGEPAGE). Untouched at
// first.
class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> map(std::size_t bytes);
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  // Strict MPOL_BIND. Errors: permission (a container refuses mbind), invalid (no such node), io.
  Result<void> bind(int node);
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace nigh::sys
