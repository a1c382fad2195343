// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The key `devices` of a machine file (docs/machine-json.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine/machine.hpp"

namespace nigh {

// Fills in Machine::devices from the whole document, where it has them. Errors: invalid, one sentence that
// begins with the place, "devices[0].pus: ...".
Result<void> devices_from_json(const nlohmann::json& document, Machine& machine);
// `,\n  "devices": [...]`, or nothing.
std::string devices_to_json(const Machine& machine);

}  // namespace nigh
