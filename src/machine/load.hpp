// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ways to a Machine: this computer, a file, a synthetic string, a shipped model. All end in
// MachineBuilder::finish(), so whatever they return is valid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "sys/os.hpp"

namespace nigh {

// This computer as hwloc sees it, without binding the calling thread; SLIT and HMAT links included.
// Only PUs that are online; the affinity mask is not applied (plans do that).
Result<Machine> load_this_machine();
// The same with its GPUs and network adapters, which takes some ms more; files have theirs anyway.
Result<Machine> load_this_machine_with_devices();
Result<Machine> load_this_machine(const sys::Os& os);  // the firmware's HMAT table read through `os`
Result<Machine> load_hwloc_xml(const std::string& path);
// An hwloc synthetic description, "pack:4 numa:1 core:4 pu:1".
Result<Machine> load_hwloc_synthetic(const std::string& description);
// Our JSON (docs/machine-json.md). `where` names the text in messages.
Result<Machine> machine_from_json(std::string_view text, const std::string& where);
std::string machine_to_json(const Machine& machine);

std::vector<std::string> model_names();
Result<Machine> load_model(const std::string& name);

// The values of --machine / --model: "" or "this" (this computer), a model's name, a path of a .json or .xml
// file, or "synthetic:DESCRIPTION". An error lists all attempts.
Result<Machine> load_machine(const std::string& what);

// A hash (16 hex digits) of the tree alone, not of names or links: the key of measured data. The memory sizes
// of NUMA nodes are left out too: what the kernel reports changes a little with each kernel and boot.
std::string topology_hash(const Machine& machine);

}  // namespace nigh
