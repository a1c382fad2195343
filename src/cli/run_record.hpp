// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/traffic.hpp"
#include "report/rank_record.hpp"

namespace nigh::cli {

struct RunOptions;

// Makes the folder of --record. Errors: invalid: the command records nothing, or the folder holds a record;
// io.
Result<void> prepare_record(const RunOptions& options);
// The value of NIGH_RECORD: ranks may have another working directory.
std::string record_folder(const RunOptions& options);
// The record that `nigh run --record` left in a folder, or in the folder of one of its jobs. Errors: io;
// invalid: there is no record, there are several, or ranks are missing.
Result<std::vector<report::RankRecord>> read_rank_records(const std::string& folder);
// The bytes of these alone.
Result<Traffic> read_rank_record(const std::string& folder);

}  // namespace nigh::cli
