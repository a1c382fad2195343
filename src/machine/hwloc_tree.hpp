// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The two halves of the hwloc reader, apart from each other so that each stays small: the tree, and the
// links.
#pragma once

#include <hwloc.h>

#include "machine/machine.hpp"

namespace nigh {

CpuSet from_bitmap(hwloc_const_bitmap_t bitmap);

// Our tree of a loaded topology, with notes on what had to be changed to make it one.
Result<Machine> tree_from_hwloc(hwloc_topology_t topology);

// SLIT distances and memory attributes (the best initiators' HMAT figures) of a loaded topology.
void add_hwloc_links(hwloc_topology_t topology, Machine& machine);

// Machine::devices of a topology that was loaded with I/O objects.
void add_hwloc_devices(hwloc_topology_t topology, Machine& machine);

// Latencies that are unknown, where a local one and SLIT distances are known: local times distance over 10.
void add_latencies_from_slit(Machine& machine);

}  // namespace nigh
