// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// move_pages first; where it tells nothing of a region (refused, or a kernel that hides pages waiting for a
// hint fault) the mapping's line in numa_maps, which costs milliseconds per GB and so is read rarely.
#include "watch/node_finder.hpp"

#include <algorithm>

#include "sys/pages.hpp"

namespace nigh::watch {

namespace {
constexpr std::size_t most_regions = 1 << 18;  // half a TB; beyond it, all is forgotten and asked anew

NodeShares shares_of(const std::map<int, double>& counts) {
  NodeShares out(counts.begin(), counts.end());
  double total = 0;
  for (const auto& [node, count] : out) total += count;
  for (auto& [node, count] : out) count /= total;
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return out;
}
}  // namespace

NodeFinder::NodeFinder(sys::Os os, Ask ask, double keep_seconds)
    : os_(std::move(os)), ask_(std::move(ask)), keep_(keep_seconds) {
  if (!ask_) ask_ = sys::query_pages;
}

const NodeShares& NodeFinder::shares(const RegionKey& key) const {
  static const NodeShares unknown;
  auto found = known_.find(key);
  return found == known_.end() ? unknown : found->second.shares;
}

void NodeFinder::refresh(const std::vector<Wanted>& wanted, double now) {
  if (known_.size() > most_regions) known_.clear();
  std::map<int, std::vector<const Wanted*>> stale;
  for (const Wanted& one : wanted) {
    auto found = known_.find(one.key);
    if (found == known_.end() || found->second.until <= now) stale[one.key.pid].push_back(&one);
  }
  for (const auto& [pid, regions] : stale) ask_process(pid, regions, now);
}

void NodeFinder::ask_process(int pid, const std::vector<const Wanted*>& wanted, double now) {
  std::vector<std::uint64_t> addresses;
  for (const Wanted* one : wanted)
    for (std::size_t k = 0; k < std::min(pages_a_region, one->addresses.size()); ++k)
      addresses.push_back(one->addresses[k]);
  std::vector<int> nodes(addresses.size(), -1);
  const bool told = ask_(pid, addresses, nodes).has_value();
  std::size_t next = 0;
  for (const Wanted* one : wanted) {
    std::map<int, double> counts;
    std::size_t asked = std::min(pages_a_region, one->addresses.size());
    for (std::size_t k = 0; told && k < asked; ++k)
      if (int node = nodes[next + k]; node >= 0) ++counts[node];
    next += asked;
    Known& known = known_[one->key];
    known.shares = counts.empty() ? NodeShares() : shares_of(counts);
    known.until = now + keep_;
    if (!counts.empty() || one->addresses.empty()) continue;
    known.shares = ask_maps(pid, one->addresses.front(), now);
    if (!known.shares.empty()) ++from_maps_;
    known.until = now + keep_ / 4;  // the better way may answer soon
  }
}

NodeShares NodeFinder::ask_maps(int pid, std::uint64_t address, double now) {
  if (maps_.size() > 1024) maps_.clear();
  Maps& maps = maps_[pid];
  if (maps.until <= now) {
    maps.mappings = sys::numa_mappings(os_, pid).value_or(std::vector<sys::NumaMapping>());
    maps.until = now + 4 * keep_;
  }
  auto after = std::upper_bound(maps.mappings.begin(), maps.mappings.end(), address,
                                [](std::uint64_t at, const sys::NumaMapping& m) { return at < m.first; });
  if (after == maps.mappings.begin()) return {};
  std::map<int, double> counts;
  for (const auto& [node, pages] : std::prev(after)->by_node) counts[node] += static_cast<double>(pages);
  return counts.empty() ? NodeShares() : shares_of(counts);
}

}  // namespace nigh::watch
