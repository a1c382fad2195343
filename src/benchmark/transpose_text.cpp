// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose model on the terminal.
#include <fmt/format.h>

#include "benchmark/transpose_model.hpp"

namespace nigh::benchmark {

namespace {
struct Compared {
  const BenchRecord *ours, *theirs;
};

std::vector<Compared> compared(const BenchFile& file) {
  std::vector<Compared> out;
  for (const BenchRecord& a : file.records)
    for (const BenchRecord& b : file.records)
      if (a.bench == transpose_bench && b.bench == a.bench && a.case_name == b.case_name &&
          a.subject == "nigh" && b.subject == "published")
        out.push_back({&a, &b});
  return out;
}

std::string difference(const Compared& c) {
  return fmt::format("{:+.1f} %", 100 * (c.ours->value.median / c.theirs->value.median - 1));
}

}  // namespace

std::string transpose_model_text(const BenchFile& file) {
  const std::vector<Compared> rows = compared(file);
  if (rows.empty()) return "";
  std::string out = fmt::format(
      "Predicted by the transpose model on winterhawk2, 16 nodes; nothing was run on such a machine. The "
      "four transpose speeds are fitted.\n\n  {:<32} {:>9} {:>10}\n",
      "ranks x threads, words", "predicted", "published");
  for (const Compared& c : rows)
    out += fmt::format("  {:<32} {:>9.4g} {:>10.4g} {:<8} {:>7}\n", c.ours->case_name, c.ours->value.median,
                       c.theirs->value.median, c.ours->unit, difference(c));
  return out;
}

}  // namespace nigh::benchmark
