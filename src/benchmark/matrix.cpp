// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "benchmark/table.hpp"

namespace nigh::benchmark {

namespace {

BenchMatrix& matrix_for(std::vector<BenchMatrix>& all, const BenchRecord& r) {
  for (BenchMatrix& m : all)
    if (m.any->runtime == r.runtime && m.any->teams == r.teams) return m;
  all.push_back({&r, {}, {}});
  return all.back();
}

std::size_t column_of(BenchMatrix& m, const std::string& subject) {
  auto found = std::find(m.subjects.begin(), m.subjects.end(), subject);
  if (found != m.subjects.end()) return static_cast<std::size_t>(found - m.subjects.begin());
  m.subjects.push_back(subject);
  return m.subjects.size() - 1;
}

BenchMatrix::Row& row_for(BenchMatrix& m, const BenchRecord& r) {
  for (BenchMatrix::Row& row : m.rows)
    if (row.label == r.result && row.core_state == r.core_state) return row;
  m.rows.push_back({r.result, r.core_state, {}});
  return m.rows.back();
}

// The baseline comes first, nigh next to it, the limit last; else the order of the records.
int order_of(const std::string& subject) {
  if (is_baseline(subject)) return 0;
  if (subject == "nigh") return 1;
  return subject == "limit" ? 3 : 2;
}

void sort_columns(BenchMatrix& m) {
  // Not by stable_sort: behind libstdc++'s is a function that clang calls deprecated.
  std::vector<std::string> wanted;
  for (int order = 0; order < 4; ++order)
    std::copy_if(m.subjects.begin(), m.subjects.end(), std::back_inserter(wanted),
                 [&](const std::string& subject) { return order_of(subject) == order; });
  for (BenchMatrix::Row& row : m.rows) {
    row.cells.resize(m.subjects.size(), nullptr);
    std::vector<const BenchRecord*> cells;
    for (const std::string& subject : wanted)
      cells.push_back(row.cells[static_cast<std::size_t>(
          std::find(m.subjects.begin(), m.subjects.end(), subject) - m.subjects.begin())]);
    row.cells = std::move(cells);
  }
  m.subjects = std::move(wanted);
}

bool has_two_states(const BenchMatrix& m) {
  return std::any_of(m.rows.begin(), m.rows.end(), [&](const BenchMatrix::Row& row) {
    return row.core_state != m.rows.front().core_state;
  });
}

std::string ratio_of(const BenchRecord& r) {
  return r.ratio ? fmt::format("x{:.2f}", r.ratio->median) : std::string();
}

std::string heading_of(const BenchMatrix& m) {
  return fmt::format("{}, {} ranks, {} ({}{})", m.any->bench, m.any->teams, m.any->runtime, m.any->unit,
                     m.any->bench == "mpi-pingpong" ? ", one way" : "");
}

std::string label_of(const BenchMatrix& m, const BenchMatrix::Row& row) {
  return has_two_states(m) ? row.label + ", " + row.core_state : row.label;
}

}  // namespace

bool is_matrix_record(const BenchRecord& record) { return record.bench.starts_with("mpi-"); }

std::vector<BenchMatrix> matrices_of(const BenchFile& file, const std::string& bench) {
  std::vector<BenchMatrix> out;
  for (const BenchRecord& r : file.records) {
    if (r.bench != bench || !is_matrix_record(r)) continue;
    BenchMatrix& m = matrix_for(out, r);
    std::size_t column = column_of(m, r.subject);
    auto& cells = row_for(m, r).cells;
    cells.resize(std::max(cells.size(), column + 1), nullptr);
    cells[column] = &r;
  }
  for (BenchMatrix& m : out) sort_columns(m);
  return out;
}

std::string matrix_text(const BenchMatrix& m, bool color) {
  std::string states = has_two_states(m) ? "" : fmt::format(", cores {}", m.rows.front().core_state);
  std::string out = fmt::format("\n{}{}{}{}; x: times better than the library\n  {:<22}",
                                color ? "\033[1m" : "", heading_of(m), states, color ? "\033[0m" : "", "");
  for (const std::string& subject : m.subjects) out += fmt::format(" {:>17}", subject);
  out += "\n";
  for (const BenchMatrix::Row& row : m.rows) {
    out += fmt::format("  {:<22}", label_of(m, row));
    for (const BenchRecord* r : row.cells) {
      if (r == nullptr) {
        out += fmt::format(" {:>17}", "-");
        continue;
      }
      std::string text = short_number(r->value.median) + " " + fmt::format("{:>7}", ratio_of(*r));
      if (!r->verified) text = "WRONG " + text;
      out += fmt::format(" {:>17}", text);
    }
    out += "\n";
  }
  return out;
}

}  // namespace nigh::benchmark
