// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.hpp"
#include "cli/run.hpp"

namespace nigh::cli {

void add_rank_map_option(CLI::App& command, const std::shared_ptr<RunOptions>& options);

// --rank-map: the launcher's words and variables with the map in them; without it the same options. Errors:
// invalid: no map, no launcher that we know, or one whose words say otherwise; io.
Result<RunOptions> with_rank_map(const RunOptions& options);

}  // namespace nigh::cli
