// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One run of a command that is measured: its time, CPU time and memory, and what of its output counts as the
// result. For `nigh compare` and `nigh tune`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::cli {

struct TimedCommand {
  std::string name;  // "without", "with nigh"; of two commands their text
  std::vector<std::string> words;
};

struct TimedRun {
  double seconds = 0, cpu = 0, mib = 0;
  double foreign = 0;      // CPU time of others meanwhile, as a share of all CPUs
  std::size_t result = 0;  // a hash: children begin with our memory, which must not grow
};

// `check`: what of the output is the result: the first group, or the match, of each line that matches; "":
// all. Longer than `most_seconds`, the run is ended. Errors: io (it can't be started, or ended with a status
// other than 0, or was too slow), invalid (no line matches).
Result<TimedRun> run_once(const TimedCommand& subject, const std::string& check,
                          std::optional<double> most_seconds = std::nullopt);

bool is_pattern(const std::string& text);
// The words of a text that blanks divide.
std::vector<std::string> split_blanks(const std::string& text);

}  // namespace nigh::cli
