// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From an address to the node of its memory. Asking the kernel costs 0.2 to 0.3 us a page, so a few pages of
// each 2 MiB region are asked for, and the answer holds for some seconds: memory rarely moves, and a share
// per node (interleaved memory has several) is all that traffic by node needs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"
#include "sys/task.hpp"

namespace nigh::watch {

// A 2 MiB piece of a process's memory.
struct RegionKey {
  int pid = 0;
  std::uint64_t region = 0;  // address >> 21
  friend bool operator==(const RegionKey&, const RegionKey&) = default;
};
struct RegionHash {
  std::size_t operator()(const RegionKey& key) const {
    return std::hash<std::uint64_t>()(key.region * 0x9e3779b97f4a7c15ULL ^
                                      static_cast<std::uint64_t>(key.pid));
  }
};
inline constexpr int region_shift = 21;

// (node, share), shares sum to 1, the largest first; empty: not known.
using NodeShares = std::vector<std::pair<int, double>>;

class NodeFinder {
 public:
  // The form of sys::query_pages: a node or a negative number for each address.
  using Ask =
      std::function<Result<void>(int pid, std::span<const std::uint64_t> addresses, std::span<int> nodes)>;
  // Pages asked for in each region.
  static constexpr std::size_t pages_a_region = 4;

  explicit NodeFinder(sys::Os os, Ask ask = {}, double keep_seconds = 4);

  // Makes sure that the regions have an answer as fresh as `keep_seconds`; addresses are some that were seen
  // in it (the first few are used). One kernel call per process.
  struct Wanted {
    RegionKey key;
    std::vector<std::uint64_t> addresses;
  };
  void refresh(const std::vector<Wanted>& wanted, double now);
  [[nodiscard]] const NodeShares& shares(const RegionKey& key) const;
  // Regions answered from numa_maps since the kernel would not tell page by page.
  [[nodiscard]] std::uint64_t from_maps() const { return from_maps_; }
  // Memory was moved: asks again.
  void forget() { known_.clear(), maps_.clear(); }

 private:
  struct Known {
    double until = 0;
    NodeShares shares;
  };
  void ask_process(int pid, const std::vector<const Wanted*>& wanted, double now);
  NodeShares ask_maps(int pid, std::uint64_t address, double now);

  sys::Os os_;
  Ask ask_;
  double keep_;
  std::unordered_map<RegionKey, Known, RegionHash> known_;
  struct Maps {
    double until = 0;
    std::vector<sys::NumaMapping> mappings;
  };
  std::map<int, Maps> maps_;
  std::uint64_t from_maps_ = 0;
};

}  // namespace nigh::watch
