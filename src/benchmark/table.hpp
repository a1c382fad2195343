// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The records as a table for people: one block for each case, one line for each subject.
#pragma once

#include <string>

#include "benchmark/record.hpp"

namespace nigh::benchmark {

// Three significant digits or more: "57.4", "118 000", "0.084".
std::string short_number(double value);
// "0 1 | 2 3": the PUs by team.
std::string placement_text(const BenchRecord& record);
// Results that are shown in tables and pictures; the minima of nested-sync are in the records only.
bool is_headline(const BenchRecord& record);

std::string bench_table(const BenchFile& file, bool color);

}  // namespace nigh::benchmark
