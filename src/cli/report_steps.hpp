// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The pictures of O. Haan (SCICOMP 2000, slides 17 to 22) from runs between hosts: what was
// measured, as points, beside what the model had said, as lines. The records are those of `nigh bench
// transpose-steps` and of tests/hosts/model_case.py (`make model`), which has some numbers of hosts, too:
// bench "transpose-steps", a case for each bed, subjects `measured` and `predicted`, ms of each step for each
// matrix, ranks x threads and method.
#pragma once

#include "cli/bench_record.hpp"
#include "machine/markup.hpp"

namespace nigh::cli {

inline constexpr const char* steps_bench = "transpose-steps";
// A section of the page; of a file without such records: empty.
Markup transpose_steps_html(const BenchFile& file);

}  // namespace nigh::cli
