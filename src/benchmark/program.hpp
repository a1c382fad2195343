// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Runs one benchmark program once, as one subject, and reads the line it prints. A program that can't be
// started, crashes, hangs or prints something else is an error with one sentence, which becomes a row of the
// table; a program whose own checks fail is an observation that is not verified.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "benchmark/catalog.hpp"
#include "benchmark/record.hpp"

namespace nigh::benchmark {

struct ProgramRun {
  Observation seen;                 // subject, round and core state are the caller's
  std::vector<double> derivatives;  // of programs that have them
};

Result<ProgramRun> run_program(const std::string& program, const std::vector<std::string>& options,
                               const Teams& teams, const Subject& subject, double timeout_seconds);

// Reads the program's line of JSON.
Result<ProgramRun> parse_program_output(const std::string& text);

}  // namespace nigh::benchmark
