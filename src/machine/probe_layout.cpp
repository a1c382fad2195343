// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The part of the machine that a probe may use: the affinity mask and the cpuset decide which PUs and nodes,
// and never more than half of the free memory is taken, since strict binding makes the kernel kill rather
// than fail.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "machine/probe_lab.hpp"

namespace nigh::probe {

namespace {
constexpr std::uint64_t assumed_llc = std::uint64_t{32} << 20;
constexpr std::uint64_t ball_bytes = std::uint64_t{64} << 10;

std::uint64_t mib(std::uint64_t bytes) { return bytes >> 20; }

// Usable PUs of a node: first of every core, then second siblings, and so on.
std::vector<int> core_first(const Machine& machine, const CpuSet& usable) {
  std::vector<int> order;
  std::vector<int> cores = machine.of_kind(Kind::core);
  for (std::size_t rank = 0, added = 1; added > 0; ++rank) {
    added = 0;
    for (int core : cores) {
      std::size_t met = 0;
      for (int child : machine.objects[static_cast<std::size_t>(core)].children) {
        int pu = machine.objects[static_cast<std::size_t>(child)].os_index;
        if (!usable.test(pu) || met++ != rank) continue;
        order.push_back(pu);
        ++added;
      }
    }
  }
  return order;
}

std::uint64_t last_level(const Machine& machine, const Resources& resources) {
  std::uint64_t llc = resources.caches.empty() ? 0 : resources.caches.back().bytes;
  for (Kind kind : {Kind::l2, Kind::l3})
    for (int i : machine.of_kind(kind))
      llc = std::max(llc, machine.objects[static_cast<std::size_t>(i)].bytes);
  return llc;
}

std::uint64_t free_on(const Resources& resources, int node) {
  for (const auto& memory : resources.memory)
    if (memory.node == node) return memory.free;
  return 0;
}

void size_memory(Layout& layout, const Resources& resources, std::uint64_t most_per_node) {
  std::size_t threads = 1;
  for (const NodeShare& share : layout.nodes) threads = std::max(threads, share.pus.size());
  for (NodeShare& share : layout.nodes) {
    bool allowed = resources.mems.empty() || resources.mems.test(share.node);
    std::uint64_t free = free_on(resources, share.node);
    std::uint64_t most = std::min({free / 2, resources.headroom / 2 / layout.nodes.size(), most_per_node});
    most = allowed && most > ball_bytes ? most - ball_bytes : 0;
    share.threads = static_cast<int>(threads);
    share.sizes = fit_sizes(share.llc, share.threads, most);
    if (share.sizes.slice == 0)
      layout.notes.push_back(allowed
                                 ? fmt::format("node {}: too little free memory ({} MiB) to measure it",
                                               share.node, mib(std::min(free, resources.headroom)))
                                 : fmt::format("node {}: the cpuset does not allow its memory", share.node));
    else if (share.sizes.reduced)
      layout.notes.push_back(
          fmt::format("node {}: buffers of {:.1f} MiB a thread instead of {} MiB ({:.1f} instead of 4 times "
                      "the last-level cache): {}",
                      share.node, static_cast<double>(share.sizes.slice) / 1048576.0, mib(4 * share.llc),
                      static_cast<double>(share.sizes.slice) / static_cast<double>(share.llc),
                      most + ball_bytes >= most_per_node
                          ? "bounded to save time"
                          : fmt::format("{} MiB are free", mib(std::min(free, resources.headroom)))));
  }
}
}  // namespace

std::vector<int> Layout::pus() const {
  std::vector<int> all;
  for (const NodeShare& share : nodes) all.insert(all.end(), share.pus.begin(), share.pus.end());
  std::sort(all.begin(), all.end());
  return all;
}

Result<Resources> read_resources(const sys::Os& os) {
  auto mask = sys::affinity();
  if (!mask) return tl::unexpected(mask.error());
  return Resources{*mask, sys::allowed_nodes(os), sys::node_memory(os), sys::memory_headroom(os),
                   sys::caches_of(os, mask->first())};
}

Result<Layout> lay_out(const Machine& machine, const Resources& resources, const CpuSet& only,
                       std::uint64_t most_per_node) {
  Layout layout;
  std::uint64_t llc = last_level(machine, resources);
  if (llc == 0) {
    llc = assumed_llc;
    layout.notes.emplace_back(
        "the size of the last-level cache is not known: buffers for one of 32 MiB are used");
  }
  CpuSet known;
  for (int index : machine.nodes) {
    const Object& object = machine.objects[static_cast<std::size_t>(index)];
    known.set(object.os_index);
    if (!only.empty() && !only.test(object.os_index)) continue;
    CpuSet usable = object.pus;
    usable &= resources.pus;
    layout.nodes.push_back({object.os_index, core_first(machine, usable), llc, {}, 0, 0, 0});
    if (!object.pus.empty() && usable.empty())
      layout.notes.push_back(
          fmt::format("node {}: none of its PUs is in the affinity mask, it is measured as memory only",
                      object.os_index));
    else if (!usable.contains(object.pus))
      layout.notes.push_back(fmt::format("node {}: the affinity mask allows only PUs {} of {}",
                                         object.os_index, usable.to_list(), object.pus.to_list()));
  }
  if (!known.contains(only))
    return fail(Errc::invalid, fmt::format("--nodes {}: this machine has the NUMA nodes {}", only.to_list(),
                                           known.to_list()));
  if (layout.pus().empty())
    return fail(Errc::unsupported,
                "none of the chosen nodes has a PU in the affinity mask, so nothing can be measured");
  for (const auto& cache : resources.caches)
    layout.caches.emplace_back(fmt::format("L{}", cache.level), cache.bytes);
  size_memory(layout, resources, most_per_node);
  return layout;
}

}  // namespace nigh::probe
