// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The keys `network` and `copying` of a machine file (docs/machine-json.md), apart from its tree and
// matrices: they say what moving data costs, and are what `nigh plan --transpose` asks for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine/machine.hpp"

namespace nigh {

// Fills in Machine::network and Machine::copying from the whole document, where it has them. Errors: invalid,
// one sentence that begins with the place, "network.ranges[0].latency_us: ...".
Result<void> transfer_from_json(const nlohmann::json& document, Machine& machine);
// `,\n  "network": ...,\n  "copying": ...`, without what is not known.
std::string transfer_to_json(const Machine& machine);

}  // namespace nigh
