// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The records of communication benchmarks as matrices: one for each benchmark, number of ranks and MPI
// library, a line for each size, a column for each way to communicate. Dozens of sizes as blocks of their own
// would hide what matters.
#pragma once

#include <string>
#include <vector>

#include "benchmark/record.hpp"

namespace nigh::benchmark {

struct BenchMatrix {
  const BenchRecord* any = nullptr;  // bench, teams, runtime and unit are those of all
  std::vector<std::string> subjects;
  struct Row {
    std::string label, core_state;
    std::vector<const BenchRecord*> cells;  // by subject; nullptr: not measured
  };
  std::vector<Row> rows;
};

// True if this record belongs in a matrix.
bool is_matrix_record(const BenchRecord& record);
std::vector<BenchMatrix> matrices_of(const BenchFile& file, const std::string& bench);

std::string matrix_text(const BenchMatrix& matrix, bool color);

}  // namespace nigh::benchmark
