// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh bench transpose-steps -- mpirun -n 8`: the three steps of Haan (SCICOMP 2000), timed one by one on
// ranks that the user's launcher starts, and ours, beside what the model says of as many nodes, ranks and
// threads. The words are the user's (mpirun, srun, with a host file or without), the program that they start
// is nigh's. Records are those that the page draws: subjects `measured` and
// `predicted`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmark/record.hpp"
#include "plan/transpose_model.hpp"

namespace nigh::benchmark {

// Cases are beds ("2 hosts x 4 slots"), `runtime` the method, `teams` ranks x threads, `result` the step, ms.
// tests/hosts/model_case.py (`make model`) writes such records, too.
inline constexpr const char* steps_bench = "transpose-steps";

struct StepsRequest {
  std::vector<std::string> sizes;  // "1024x1024"
  std::vector<std::string> launcher;
  std::string library;  // "openmpi", "mpich"; empty: by the launcher's name
  int threads = 0;      // of a rank; 0: so that the ranks of a node use all its CPUs
  int passes = 7;       // of each shape and method
  double timeout_seconds = 300;
};

// Errors: invalid: no launcher, its library is not known, a size that is none; io: it failed, with its words.
Result<BenchFile> run_transpose_steps(const StepsRequest& request);

// Made of the program's lines; `predict` is called once for each. Errors: io: no line, or one that is not the
// program's; those of `predict`.
using StepsForecast = std::function<Result<TransposeSteps>(const TransposeDemand&, const TransposeWay&)>;
Result<BenchFile> steps_of_lines(const std::vector<std::string>& lines, const StepsForecast& predict);

// For the terminal: what the predictions rest on, then a line for each step.
std::string steps_table(const BenchFile& file);

}  // namespace nigh::benchmark
