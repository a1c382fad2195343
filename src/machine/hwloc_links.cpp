// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Links between nodes by hwloc. Distances are the SLIT; memory attributes are the HMAT figures that the
// kernel shows, as a rule from each node's best initiators only, so most entries stay unknown.
#include <algorithm>
#include <map>

#include "machine/hwloc_tree.hpp"

namespace nigh {

namespace {
std::map<int, std::size_t> node_positions(const Machine& m) {
  std::map<int, std::size_t> out;
  for (std::size_t i = 0; i < m.node_count(); ++i)
    out[m.objects[static_cast<std::size_t>(m.nodes[i])].os_index] = i;
  return out;
}

void read_slit(const hwloc_distances_s& d, Machine& m) {
  auto position = node_positions(m);
  std::size_t n = m.node_count();
  std::vector<int> slit(n * n, 0);
  for (unsigned i = 0; i < d.nbobjs; ++i)
    for (unsigned j = 0; j < d.nbobjs; ++j) {
      if (d.objs[i] == nullptr || d.objs[j] == nullptr) continue;
      auto row = position.find(static_cast<int>(d.objs[i]->os_index));
      auto column = position.find(static_cast<int>(d.objs[j]->os_index));
      auto value = d.values[i * d.nbobjs + j];
      if (row == position.end() || column == position.end() || value > 255) continue;
      slit[row->second * n + column->second] = static_cast<int>(value);
    }
  for (int v : slit)
    if (v == 0) {
      m.notes.push_back("the SLIT distances do not cover all NUMA nodes and are left out");
      return;
    }
  m.slit = std::move(slit);
}

CpuSet initiator_pus(const hwloc_location& location) {
  if (location.type == HWLOC_LOCATION_TYPE_CPUSET) return from_bitmap(location.location.cpuset);
  return location.location.object == nullptr ? CpuSet() : from_bitmap(location.location.object->cpuset);
}

// Figures of one attribute into the column of `node`; false when hwloc has none.
bool read_attribute(hwloc_topology_t topology, hwloc_memattr_id_t attribute, hwloc_obj_t node,
                    std::size_t column, const Machine& m, LinkMatrix& out) {
  unsigned count = 0;
  if (hwloc_memattr_get_initiators(topology, attribute, node, 0, &count, nullptr, nullptr) != 0 || count == 0)
    return false;
  std::vector<hwloc_location> initiators(count);
  std::vector<hwloc_uint64_t> values(count);
  if (hwloc_memattr_get_initiators(topology, attribute, node, 0, &count, initiators.data(), values.data()) !=
      0)
    return false;
  std::size_t n = m.node_count();
  for (std::size_t k = 0; k < std::min<std::size_t>(count, values.size()); ++k) {
    CpuSet from = initiator_pus(initiators[k]);
    for (std::size_t row = 0; row < n; ++row) {
      const auto& pus = m.objects[static_cast<std::size_t>(m.nodes[row])].pus;
      auto value = static_cast<double>(values[k]);
      if (pus.empty() || !from.contains(pus) || !(value > 0 && value <= 1e12)) continue;
      out.value[row * n + column] = value;
      out.source[row * n + column] = Source::hmat;
    }
  }
  return true;
}

void read_matrix(hwloc_topology_t topology, std::initializer_list<hwloc_memattr_id_t> attributes,
                 const Machine& m, LinkMatrix& out) {
  std::size_t n = m.node_count();
  LinkMatrix found{std::vector<double>(n * n, 0), std::vector<Source>(n * n, Source::unknown)};
  auto position = node_positions(m);
  bool any = false;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    auto column = position.find(static_cast<int>(node->os_index));
    if (column == position.end()) continue;
    for (auto attribute : attributes)
      if (read_attribute(topology, attribute, node, column->second, m, found)) {
        any = true;
        break;
      }
  }
  if (any) out = std::move(found);
}
}  // namespace

void add_hwloc_links(hwloc_topology_t topology, Machine& machine) {
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  int ok = hwloc_distances_get_by_name(topology, "NUMALatency", &count, &distances, 0);
  if (ok == 0 && count > 0 && distances != nullptr) {
    read_slit(*distances, machine);
    hwloc_distances_release(topology, distances);
  }
  read_matrix(topology, {HWLOC_MEMATTR_ID_BANDWIDTH, HWLOC_MEMATTR_ID_READ_BANDWIDTH}, machine,
              machine.bandwidth);
  read_matrix(topology, {HWLOC_MEMATTR_ID_LATENCY, HWLOC_MEMATTR_ID_READ_LATENCY}, machine, machine.latency);
}

void add_latencies_from_slit(Machine& m) {
  std::size_t n = m.node_count();
  if (m.slit.empty() || m.latency.empty()) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (m.latency.source[i * n + i] == Source::unknown || m.latency.source[i * n + i] == Source::slit)
      continue;
    for (std::size_t j = 0; j < n; ++j) {
      std::size_t at = i * n + j;
      if (m.latency.source[at] != Source::unknown) continue;
      m.latency.value[at] = m.latency.value[i * n + i] * m.slit[at] / m.slit[i * n + i];
      m.latency.source[at] = Source::slit;
    }
  }
}

}  // namespace nigh
