// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.hpp"
#include "cli/run.hpp"

namespace nigh::cli {

// --gpus: the launcher's words, with nigh before the program in each rank; in a rank
// that a launcher started (srun nigh run --gpus -- ./app) the same wrapper. Without --gpus the same options.
// Errors: invalid, unsupported.
Result<RunOptions> with_gpus(const RunOptions& options, const CpuSet& own);

// The hidden command that with_gpus() puts before the program: `nigh rank-gpus -- ./app`.
void add_rank_gpus(CLI::App& app, int& status);

}  // namespace nigh::cli
