// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "benchmark/catalog.hpp"

#include "benchmark/matrix.hpp"
#include "machine/draw.hpp"

namespace nigh::benchmark {

namespace {

// Longer lists of PUs are cut: the record has them all.
constexpr std::size_t most_placement = 34;

std::string with_blanks(std::string digits) {
  std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, " ");
  return digits;
}

std::string ratio_text(const BenchRecord& record) {
  if (is_baseline(record.subject)) return "1";
  if (!record.ratio) return "-";
  return fmt::format("{:.2f}  {:.2f} - {:.2f}", record.ratio->median, record.ratio->low, record.ratio->high);
}

std::string line_of(const BenchRecord& r, bool color) {
  const char* good = color ? "\033[32m" : "";
  const char* bad = color ? "\033[1;31m" : "";
  const char* plain = color ? "\033[0m" : "";
  std::string range = short_number(r.value.low) + " - " + short_number(r.value.high);
  return fmt::format("  {:<27} {:>9}  {:<19} {:<19} {:<5} {}{:<3}{} {}{}\n", r.subject,
                     short_number(r.value.median), range, ratio_text(r), r.core_state,
                     r.verified ? good : bad, r.verified ? "yes" : "NO", plain, placement_text(r),
                     r.moves > 0 ? fmt::format("  ({} moves)", r.moves) : "");
}

std::string heading(const BenchRecord& r, int samples, bool color) {
  std::string size =
      r.size_bytes > 0 ? fmt::format(", {:.1f} MiB", static_cast<double>(r.size_bytes) / 1048576) : "";
  return fmt::format("\n{}{}: {}{} ({}{}, {} samples){}\n  {:<27} {:>9}  {:<19} {:<19} {:<5} {:<3} {}\n",
                     color ? "\033[1m" : "", r.bench, r.case_name, color ? "\033[0m" : "", r.unit, size,
                     samples, "", "subject", "median", "low - high", "against " + baseline_of(r.bench),
                     "cores", "ok", "PUs, by team");
}

// The samples of one subject: in different core states these are several records.
int samples_of(const BenchFile& file, const BenchRecord& first) {
  int out = 0;
  for (const BenchRecord& r : file.records)
    if (r.bench == first.bench && r.case_name == first.case_name && r.subject == first.subject)
      out += r.samples;
  return out;
}

bool same_block(const BenchRecord& a, const BenchRecord& b) {
  return a.bench == b.bench && a.case_name == b.case_name;
}

std::string errors_of(const BenchFile& file) {
  std::string out;
  for (const BenchRecord& record : file.records)
    for (const std::string& error : record.errors)
      out += fmt::format("  {} by {}: {}\n", record.case_name, record.subject, printable(error));
  return out.empty() ? out : "\nwrong results\n" + out;
}

std::string absences_of(const BenchFile& file) {
  std::string out;
  for (const BenchAbsence& a : file.absent)
    out += fmt::format("  {} {} by {}: {}\n", a.bench, a.case_name, a.subject, printable(a.reason));
  return out.empty() ? out : "\nnot measured\n" + out;
}

}  // namespace

std::string short_number(double value) {
  double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 10000) return with_blanks(fmt::format("{:.0f}", value));
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 1) return fmt::format("{:.2f}", value);
  if (size >= 0.001) return fmt::format("{:.3f}", value);
  return fmt::format("{:.1e}", value);
}

std::string placement_text(const BenchRecord& record) {
  std::size_t x = record.teams.find('x');
  std::size_t inner = x == std::string::npos
                          ? record.placement.size()
                          : static_cast<std::size_t>(std::atoi(record.teams.c_str() + x + 1));
  std::string out;
  for (std::size_t i = 0; i < record.placement.size(); ++i) {
    if (i > 0) out += inner > 0 && i % inner == 0 ? " | " : " ";
    out += std::to_string(record.placement[i]);
    if (out.size() > most_placement && i + 1 < record.placement.size()) return out + " ...";
  }
  return out;
}

bool is_headline(const BenchRecord& record) {
  return record.bench == "nested-overhead" || !record.result.ends_with(" min");
}

std::string bench_table(const BenchFile& file, bool color) {
  std::string out;
  const BenchRecord* before = nullptr;
  std::set<std::string> shown;
  for (const BenchRecord& record : file.records) {
    if (is_matrix_record(record)) {
      if (shown.insert(record.bench).second)
        for (const BenchMatrix& matrix : matrices_of(file, record.bench)) out += matrix_text(matrix, color);
      continue;
    }
    if (!is_headline(record)) continue;
    if (before == nullptr || !same_block(*before, record))
      out += heading(record, samples_of(file, record), color);
    out += line_of(record, color);
    before = &record;
  }
  return out + errors_of(file) + absences_of(file);
}

}  // namespace nigh::benchmark
