// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The short form of a benchmark on this machine, for the report.
#pragma once

#include <string>

#include "base/result.hpp"
#include "benchmark/record.hpp"

namespace nigh::cli {

Result<benchmark::BenchFile> bench_here(const std::string& name);

}  // namespace nigh::cli
