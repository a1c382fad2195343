// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The report: the page that web/ builds (page_template.hpp), with the documents that its views draw.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "benchmark/record.hpp"
#include "machine/machine.hpp"

namespace nigh::report {

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

// The contents of a file of --chare-trace.
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
  struct Message {  // to another PE: when it was sent, and when the run that it was for began
    int from = 0, to = 0;
    double sent_us = 0, begun_us = 0;
    std::string method;
    [[nodiscard]] double took_us() const { return begun_us - sent_us; }
  };
  std::string name;                       // of the file
  double ms = 0;                          // from beginning to end
  std::vector<std::vector<double>> busy;  // of each PE, %, in equal steps of that time: at most 1200
  std::vector<Method> methods;            // the longest first
  std::vector<double> held;               // bytes, the most of each PE; or empty: the file doesn't tell
  std::vector<Memory> memory;             // the most first
  std::size_t messages = 0;               // between PEs, for runs of a microsecond or more
  double median_us = 0;                   // of what they took
  std::vector<Message> arrows;            // of these at most 4000, by their times: the slowest of all, and
                                          // of each part of the time, and others evenly
  [[nodiscard]] double mean(std::size_t pe) const;
};
Result<Trace> trace_from_json(const std::string& text, const std::string& where);

struct ReportParts {
  Machine machine;
  std::string date;
  std::vector<nlohmann::ordered_json> documents;  // page_documents.hpp; this machine first
  std::vector<benchmark::BenchFile> benches;      // of those that are benchmarks, for the summary
  std::optional<Peers> peers;
  std::vector<Trace> traces;
  std::string account;  // of `nigh run --explain`
};

// The whole file.
std::string report_page(const ReportParts& parts);

nlohmann::ordered_json peers_document(const Peers& peers);
// Format nigh-trace. Of more than 512 PEs a row is several.
nlohmann::ordered_json trace_document(const Trace& trace);

// A few lines for the terminal: what was measured, whether all of it is right, how nigh compares.
std::string report_summary(const ReportParts& parts);

}  // namespace nigh::report
