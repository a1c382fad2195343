// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Benchmarks that are computed, not run: the link model against a published table (slide5), and the policies
// of asymmetric placement against each other (placement), both on the shipped model of AsymSched's machine;
// the cost model of the transpose against the published figures (transpose-model, see bench_transpose.hpp).
// Their records have the form of all others; what they say is a prediction, and is called so wherever it is
// shown.
#pragma once

#include <string>
#include <vector>

#include "benchmark/record.hpp"

namespace nigh::benchmark {

struct ModelBench {
  std::string name, title;
};
const std::vector<ModelBench>& model_benches();
bool is_model_bench(const std::string& name);

// slide5: subjects nigh and published. placement: worst, average, hops, memory-only, best, paper, improved;
// the unit is "%" of speed above the average placement; the spread is over starting placements (of hops: over
// those that it can't tell apart). transpose-model: nigh and published. `starts`: of about so many.
Result<BenchFile> run_model_bench(const std::string& name, std::size_t starts);

// For the terminal; empty when the file holds none of these.
std::string model_table(const BenchFile& file);
// One line about the policies.
std::string model_summary(const std::vector<BenchFile>& files);

}  // namespace nigh::benchmark
