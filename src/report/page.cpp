// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "benchmark/catalog.hpp"
#include "benchmark/model.hpp"
#include "benchmark/table.hpp"
#include "benchmark/transpose_model.hpp"
#include "report/page_template.hpp"

namespace nigh::report {

namespace {

// The ratios of nigh to unbound over all headline cases of a benchmark, not only its best case.
std::vector<double> ratios_of(const benchmark::BenchFile& file, const std::string& bench) {
  std::vector<double> out;
  for (const benchmark::BenchRecord& r : file.records)
    if (r.bench == bench && r.subject == "nigh" && r.ratio && is_headline(r)) out.push_back(r.ratio->median);
  return out;
}

struct Totals {
  std::size_t records = 0, verified = 0, runs = 0;
};

// A run of a program gives one sample to each of its results.
Totals totals_of(const std::vector<benchmark::BenchFile>& files) {
  Totals out;
  for (const benchmark::BenchFile& file : files) {
    if (benchmark::says(file.machine, "computed")) continue;
    std::map<std::string, int> runs;
    for (const benchmark::BenchRecord& r : file.records) {
      ++out.records;
      out.verified += r.verified ? 1 : 0;
      runs[r.bench + r.runtime + r.teams + r.subject + r.core_state] = r.samples;
    }
    for (const auto& [key, count] : runs) out.runs += static_cast<std::size_t>(count);
  }
  return out;
}

}  // namespace

std::string report_page(const ReportParts& parts) {
  nlohmann::ordered_json documents = parts.documents;
  for (const Trace& trace : parts.traces) documents.push_back(trace_document(trace));
  if (parts.peers) documents.push_back(peers_document(*parts.peers));
  if (!parts.account.empty())
    documents.push_back({{"format", "nigh-account-text"}, {"version", 1}, {"text", parts.account}});
  const auto is_haan = [](const benchmark::BenchFile& file) { return !transpose_model_text(file).empty(); };
  if (std::any_of(parts.benches.begin(), parts.benches.end(), is_haan))
    documents.push_back(benchmark::haan_document());
  return web_page_with({{"format", "nigh-page"},
                        {"version", 1},
                        {"nigh", NIGH_VERSION},
                        {"date", parts.date},
                        {"documents", std::move(documents)}});
}

std::string report_summary(const ReportParts& parts) {
  std::string out = parts.machine.summary() + "\n";
  Totals t = totals_of(parts.benches);
  if (t.records > 0)
    out += fmt::format("{} records from {} runs, {}\n", t.records, t.runs,
                       t.records == t.verified ? "all numerically verified"
                                               : fmt::format("{} of them WRONG", t.records - t.verified));
  for (const benchmark::BenchFile& file : parts.benches)
    for (const benchmark::BenchKind& kind : benchmark::bench_kinds())
      if (auto ratios = ratios_of(file, kind.name); !ratios.empty()) {
        benchmark::Spread all = benchmark::spread_of(ratios);
        out += fmt::format("{:<16} nigh against {}: {:.2f} times, median of {} cases ({:.2f} to {:.2f})\n",
                           kind.name, kind.baseline(), all.median, ratios.size(), all.low, all.high);
      }
  std::size_t absent = 0;
  out += model_summary(parts.benches);
  for (const benchmark::BenchFile& file : parts.benches) absent += file.absent.size();
  if (absent > 0)
    out += fmt::format("{} subject{} could not be measured; the page says why\n", absent,
                       absent == 1 ? "" : "s");
  return out;
}

}  // namespace nigh::report
