// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/bench_catalog.hpp"
#include "cli/bench_model.hpp"
#include "cli/bench_table.hpp"
#include "cli/bench_transpose.hpp"
#include "cli/report_steps.hpp"
#include "cli/web_page.hpp"

namespace nigh::cli {

namespace {

// How nigh compares with unbound over all headline cases of a benchmark: not its best case.
std::vector<double> ratios_of(const BenchFile& file, const std::string& bench) {
  std::vector<double> out;
  for (const BenchRecord& r : file.records)
    if (r.bench == bench && r.subject == "nigh" && r.ratio && is_headline(r)) out.push_back(r.ratio->median);
  return out;
}

struct Totals {
  std::size_t records = 0, verified = 0, runs = 0;
};

// A run of a program gives one sample to each of its results.
Totals totals_of(const std::vector<BenchFile>& files) {
  Totals out;
  for (const BenchFile& file : files) {
    if (says(file.machine, "computed")) continue;
    std::map<std::string, int> runs;
    for (const BenchRecord& r : file.records) {
      ++out.records;
      out.verified += r.verified ? 1 : 0;
      runs[r.bench + r.runtime + r.teams + r.subject + r.core_state] = r.samples;
    }
    for (const auto& [key, count] : runs) out.runs += static_cast<std::size_t>(count);
  }
  return out;
}

}  // namespace

std::vector<ReportSection> report_sections(const ReportParts& parts) {
  std::vector<ReportSection> out;
  const auto add = [&](const char* id, const char* title, Markup markup) {
    if (!markup.empty()) out.push_back({id, title, std::move(markup)});
  };
  Markup transposes, steps;
  for (const BenchFile& file : parts.benches)
    transposes += transpose_model_html(file), steps += transpose_steps_html(file);
  if (!parts.traces.empty()) add("time", "Over time", trace_section(parts.traces));
  add("links", "Asymmetric links", model_section(parts.benches));
  add("transpose", "Transpose", transposes);
  add("steps", "Transpose, measured", steps);
  if (parts.peers) add("peers", "Other ways to bind", peers_section(*parts.peers));
  if (!parts.account.empty())
    add("account", "A run's account",
        markup("<h1 id=\"title\">A run's account</h1>\n<p>What <code>nigh run --explain</code> "
               "saw.</p>\n<pre>{}</pre>\n",
               parts.account));
  return out;
}

std::string report_page(const ReportParts& parts) {
  nlohmann::ordered_json sections = nlohmann::ordered_json::array();
  for (const ReportSection& one : report_sections(parts))
    sections.push_back({{"id", one.id}, {"title", one.title}, {"markup", one.markup.text()}});
  return web_page_with({{"format", "nigh-page"},
                        {"version", 1},
                        {"nigh", NIGH_VERSION},
                        {"date", parts.date},
                        {"documents", parts.documents},
                        {"sections", sections}});
}

std::string report_summary(const ReportParts& parts) {
  std::string out = parts.machine.summary() + "\n";
  Totals t = totals_of(parts.benches);
  if (t.records > 0)
    out += fmt::format("{} records from {} runs, {}\n", t.records, t.runs,
                       t.records == t.verified ? "all numerically verified"
                                               : fmt::format("{} of them WRONG", t.records - t.verified));
  for (const BenchFile& file : parts.benches)
    for (const BenchKind& kind : bench_kinds())
      if (auto ratios = ratios_of(file, kind.name); !ratios.empty()) {
        Spread all = spread_of(ratios);
        out += fmt::format("{:<16} nigh against {}: {:.2f} times, median of {} cases ({:.2f} to {:.2f})\n",
                           kind.name, kind.baseline(), all.median, ratios.size(), all.low, all.high);
      }
  std::size_t absent = 0;
  out += model_summary(parts.benches);
  for (const BenchFile& file : parts.benches) absent += file.absent.size();
  if (absent > 0)
    out += fmt::format("{} subject{} could not be measured; the page says why\n", absent,
                       absent == 1 ? "" : "s");
  return out;
}

}  // namespace nigh::cli
