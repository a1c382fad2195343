// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// GPUs and network adapters for the ranks of a node: the nearest ones, and as evenly as can be. Pure.
#pragma once

#include <vector>

#include "base/cpuset.hpp"
#include "machine/machine.hpp"

namespace nigh {

// The `devices` (indices into Machine::devices) of each rank, whose PUs are `shares`. With fewer ranks than
// devices each device has one rank, else each rank has one device. Lists are ascending; all are empty where
// there is no device.
std::vector<std::vector<int>> share_devices(const Machine& machine, const std::vector<int>& devices,
                                            const std::vector<CpuSet>& shares);

// All devices of a type.
std::vector<int> devices_of(const Machine& machine, Device::Type type);

}  // namespace nigh
