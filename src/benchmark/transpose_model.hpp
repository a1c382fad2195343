// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The benchmark `transpose-model`: the cost model of the distributed transpose against the published
// figures (O. Haan, SCICOMP 2000, slides 24 and 26). Computed, not run, like the benchmarks of
// bench_model.hpp, which it is one of.
#pragma once

#include <string>

#include "benchmark/record.hpp"
#include "plan/transpose_model.hpp"

namespace nigh::benchmark {

inline constexpr const char* transpose_bench = "transpose-model";
// The points of curves: rows and columns of a square matrix, and nodes.
inline constexpr std::uint64_t transpose_sides[] = {100,  200,  316,   500,   1000, 2000,
                                                    3162, 5000, 10000, 20000, 31623};
inline constexpr int transpose_nodes[] = {1, 2, 4, 8, 16, 32, 64, 128};
// A way and its steps, in s.
nlohmann::ordered_json way_document(const TransposeWay& way, const TransposeSteps& steps);

inline constexpr TransposeWay haan_hybrid = {1, 4}, haan_mpi = {4, 1};  // ranks, threads of a node of 4

// A square matrix of doubles on nodes of the shipped model winterhawk2, in Haan's three steps.
Result<TransposeSteps> haan_steps(std::uint64_t side, int nodes, const TransposeWay& way);
TransposeDemand haan_demand(std::uint64_t side, int nodes);

// Subjects `nigh` and `published`; ours is verified where it is within 10 %.
Result<BenchFile> run_transpose_model();

// The text for a file that has such records; else empty.
std::string transpose_model_text(const BenchFile& file);

// The model for the page (format nigh-transpose): both programs over sizes and nodes, the slides' pictures 17
// to 22.
nlohmann::ordered_json haan_document();

}  // namespace nigh::benchmark
