// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Regions are gathered first, so that the kernel is asked once for all of them.
#include "watch/tally.hpp"

#include <algorithm>

namespace nigh::watch {

// Faults and accesses come in runs, so the last thread and region are tried before the maps.
void Tally::add(const Access& access) {
  ++samples_;
  if (last_thread_ == nullptr || last_tid_ != access.tid) {
    last_thread_ = &threads_[access.tid];
    last_tid_ = access.tid;
  }
  last_thread_->pid = access.pid;
  last_thread_->cpu = access.cpu;
  RegionKey key{access.pid, access.address >> region_shift};
  if (last_region_ == nullptr || last_key_ != key) {
    last_region_ = &regions_[key];
    last_key_ = key;
  }
  Region& region = *last_region_;
  ++region.samples;
  auto& pages = region.addresses;
  if (pages.size() < NodeFinder::pages_a_region &&
      std::find(pages.begin(), pages.end(), access.address) == pages.end())
    pages.push_back(access.address);
  for (auto& [tid, weight] : region.by_thread)
    if (tid == access.tid) {
      weight += access.weight;
      return;
    }
  region.by_thread.emplace_back(access.tid, access.weight);
}

void Tally::place(const RegionKey& key, Region& region, const NodeShares& shares, Reading& reading) {
  if (shares.empty()) reading.unplaced += region.samples;
  for (const auto& [tid, weight] : region.by_thread)
    for (const auto& [node, share] : shares) {
      auto& by_node = threads_[tid].by_node;
      if (by_node.size() <= static_cast<std::size_t>(node))
        by_node.resize(static_cast<std::size_t>(node) + 1);
      by_node[static_cast<std::size_t>(node)] += weight * share;
    }
  std::sort(region.by_thread.begin(), region.by_thread.end());
  reading.regions.push_back({.pid = key.pid,
                             .region = key.region,
                             .node = shares.empty() ? -1 : shares.front().first,
                             .by_thread = std::move(region.by_thread)});
}

void Tally::into(Reading& reading, NodeFinder& nodes, double now) {
  std::vector<NodeFinder::Wanted> wanted;
  wanted.reserve(regions_.size());
  for (const auto& [key, region] : regions_) wanted.push_back({key, region.addresses});
  nodes.refresh(wanted, now);
  reading.samples = samples_;
  for (auto& [key, region] : regions_) place(key, region, nodes.shares(key), reading);
  std::sort(reading.regions.begin(), reading.regions.end(), [](const auto& a, const auto& b) {
    return std::pair(a.pid, a.region) < std::pair(b.pid, b.region);
  });
  for (auto& [tid, thread] : threads_)
    reading.threads.push_back(
        {.pid = thread.pid, .tid = tid, .cpu = thread.cpu, .by_node = std::move(thread.by_node)});
  *this = Tally();
}

}  // namespace nigh::watch
