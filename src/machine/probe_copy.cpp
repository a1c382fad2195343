// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probe_copy.hpp"

#include <algorithm>

namespace nigh {

namespace {
int cores_below(const Machine& machine, const Object& object) {
  int out = 0;
  for (const int core : machine.of_kind(Kind::core))
    if (object.pus.contains(machine.objects[static_cast<std::size_t>(core)].pus)) ++out;
  return std::max(out, 1);
}
}  // namespace

double probed_memory_rate(const Probe& probe) {
  double sum = 0;
  for (const Probe::Node& node : probe.nodes) {
    if (node.pus.empty()) continue;
    const Probe::Bandwidth* both = probe.find(node.node, node.node, probe::Mix::one_to_one);
    if (both == nullptr || !both->mb_per_s.known()) return 0;
    sum += both->mb_per_s.median;
  }
  return sum;
}

double probed_core_rate(const Probe* probe, const std::string& level) {
  if (probe == nullptr) return 0;
  for (const Probe::Size& size : probe->sizes)
    if (size.level == level && size.mb_per_s.known()) return size.mb_per_s.median;
  return 0;
}

// The caches of one kind are taken to be like the first.
std::vector<CopyLevel> copy_levels(const Machine& machine, const Probe* probe, double core, double node,
                                   double gain) {
  struct Cache {
    Kind kind;
    const char* level;
  };
  std::vector<CopyLevel> out;
  const int cores = std::max(machine.count(Kind::core), 1);
  for (const auto& [kind, level] : {Cache{Kind::l2, "L2"}, Cache{Kind::l3, "L3"}}) {
    const std::vector<int> caches = machine.of_kind(kind);
    if (caches.empty()) continue;
    const Object& cache = machine.objects[static_cast<std::size_t>(caches.front())];
    const double measured = probed_core_rate(probe, level);
    if (cache.bytes == 0 || (measured <= 0 && gain <= 0)) continue;
    const double one = std::max(measured > 0 ? measured : gain * core, core);
    out.push_back({cache.bytes, cores_below(machine, cache), one, one * cores});
  }
  out.push_back({0, 0, core, node});
  return out;
}

std::vector<CopyLevel> probed_copy_levels(const Machine& machine, const Probe& probe) {
  const double node = probed_memory_rate(probe), core = probed_core_rate(&probe, "memory");
  if (node <= 0 || core <= 0) return {};
  return copy_levels(machine, &probe, std::min(core, node), node, 0);
}

}  // namespace nigh
