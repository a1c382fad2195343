// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One process's use of nigh: which mask it may use, which plan is in force.
#pragma once

#include "openmp/core.hpp"

namespace nigh::preload {

// OMP_NESTING_TEAM_SIZE; null: it is not set, empty, or teams are off.
const char* wished_spec();
// The spec in force, as written; null: none.
const char* current_spec();

}  // namespace nigh::preload
