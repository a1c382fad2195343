// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The report: one HTML file that needs no script and fetches nothing, so that it can be mailed, printed and
// kept beside the figures it shows. Each part is a function from values to markup, in
// which no text of others is anything but text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "cli/bench_record.hpp"
#include "machine/machine.hpp"
#include "machine/markup.hpp"

namespace nigh::cli {

// A picture of a plan: where each thread of the spec goes.
struct PlanPicture {
  std::string spec, caption;
  Markup svg;
};
Result<PlanPicture> picture_plan(const Machine& machine, const CpuSet& mask, const std::string& spec);

struct Peers {
  std::string machine;
  std::vector<std::string> cases;  // "4x4 libgomp", in the file's order
  struct Row {
    std::string subject;
    std::vector<std::string> cells;  // by case: "right", "right*", the words that tell what is wrong, or ""
  };
  std::vector<Row> rows;
};
// docs/vm.md describes the file.
Result<Peers> peers_from_json(const std::string& text, const std::string& where);

// What --chare-trace has written of a job.
struct Trace {
  struct Method {
    std::string name;
    std::size_t runs = 0;  // that took a microsecond or more
    double ms = 0;
  };
  struct Memory {  // of messages for one entry method, and the like
    std::string name;
    double messages = 0, bytes = 0;  // on all PEs, ever
    double most = 0;                 // bytes at once on one PE
    std::string most_on;             // which that is
  };
  std::string name;                       // of the file
  double ms = 0;                          // from beginning to end
  std::vector<std::vector<double>> busy;  // of each PE, %, in equal steps of that time
  std::vector<Method> methods;            // the longest first
  std::vector<double> held;               // bytes, the most of each PE; or empty: the file doesn't tell
  std::vector<Memory> memory;             // the most first
  [[nodiscard]] double mean(std::size_t pe) const;
};
Result<Trace> trace_from_json(const std::string& text, const std::string& where);

struct ReportParts {
  Machine machine;
  CpuSet mask;
  std::string date;
  std::vector<PlanPicture> plans_here, plans_elsewhere;
  std::vector<BenchFile> benches;
  std::optional<Peers> peers;
  std::vector<Trace> traces;
  std::string account;  // of `nigh run --explain`
};

Markup report_page(const ReportParts& parts);

// Its sections.
Markup machine_section(const ReportParts& parts);
Markup plan_section(const ReportParts& parts);
Markup bench_section(const std::vector<BenchFile>& files);
Markup copies_html(const BenchFile& file);  // the pictures of `nigh bench copy`; or nothing
Markup peers_section(const Peers& peers);
Markup trace_section(const std::vector<Trace>& traces);

// A few lines for the terminal: what was measured, whether all of it is right, how nigh compares.
std::string report_summary(const ReportParts& parts);

}  // namespace nigh::cli
