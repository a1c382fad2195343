// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// How computed benchmarks are shown: slide 5 as the table it is, predicted beside published, and the policies
// as a table and as the slides' picture: bars about the average placement. Everywhere it is said that these
// are predictions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/bench_model.hpp"
#include "cli/bench_table.hpp"
#include "cli/bench_transpose.hpp"
#include "cli/report_page.hpp"

namespace nigh::cli {

namespace {

const std::vector<std::string>& policies() {
  static const std::vector<std::string> names = {"worst", "average", "hops",    "memory-only",
                                                 "best",  "paper",   "improved"};
  return names;
}

const BenchRecord* find(const BenchFile& file, const std::string& bench, const std::string& case_name,
                        const std::string& subject) {
  for (const BenchRecord& r : file.records)
    if (r.bench == bench && r.case_name == case_name && r.subject == subject) return &r;
  return nullptr;
}

// What one bench's records are about, in their order: rows of slide 5, mixes of programs.
std::vector<std::string> names_of(const BenchFile& file, const std::string& bench) {
  std::vector<std::string> out;
  for (const BenchRecord& r : file.records) {
    const std::string& name = bench == "slide5" ? r.teams : r.case_name;
    if (r.bench == bench && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

// "+27", "-3", never "-0".
std::string signed_text(double value) { return std::abs(value) < 0.5 ? "+0" : fmt::format("{:+.0f}", value); }

struct Quantity {
  const char *name, *heading;
};
constexpr Quantity quantities[] = {
    {"time", "time, s"}, {"latency", "latency, cycles"}, {"bandwidth", "to the master, MB/s"}};

// "148 / 148 (+0 %)"
std::string pair_text(const BenchFile& file, const std::string& row, const Quantity& quantity) {
  const BenchRecord* ours = find(file, "slide5", row + " " + quantity.name, "nigh");
  const BenchRecord* theirs = find(file, "slide5", row + " " + quantity.name, "published");
  if (ours == nullptr || theirs == nullptr) return "-";
  return fmt::format("{:.0f} / {:.0f} ({:+.0f} %)", ours->value.median, theirs->value.median,
                     100 * (ours->value.median / theirs->value.median - 1));
}

std::string slide5_text(const BenchFile& file) {
  std::string out = "\nslide5: streamcluster on two nodes, predicted / published\n";
  out += fmt::format("  {:<14}", "nodes");
  for (const Quantity& q : quantities) out += fmt::format(" {:<24}", q.heading);
  for (const std::string& row : names_of(file, "slide5")) {
    out += fmt::format("\n  {:<14}", row);
    for (const Quantity& q : quantities) out += fmt::format(" {:<24}", pair_text(file, row, q));
  }
  return out + "\n";
}

std::string placement_text_table(const BenchFile& file) {
  std::string out = "\nplacement: predicted speed above the average placement, % (median over starts)\n";
  out += fmt::format("  {:<44}", "programs, nodes");
  for (const std::string& policy : policies()) out += fmt::format("{:>12}", policy);
  for (const std::string& mix : names_of(file, "placement")) {
    out += fmt::format("\n  {:<44}", mix);
    for (const std::string& policy : policies()) {
      const BenchRecord* r = find(file, "placement", mix, policy);
      out +=
          fmt::format("{:>12}", r == nullptr ? "-" : signed_text(r->value.median) + (r->verified ? "" : "!"));
    }
  }
  return out + "\n";
}

std::string errors_text(const BenchFile& file) {
  std::string out;
  for (const BenchRecord& r : file.records)
    for (const std::string& error : r.errors)
      out += fmt::format("  {} by {}: {}\n", r.case_name, r.subject, error);
  return out.empty() ? out : "\nworth knowing\n" + out;
}

// Bars of one mix about the line of the average; whiskers from the lowest to the highest start.
Markup bars(const BenchFile& file, const std::string& mix, double low, double high) {
  constexpr double width = 320, row = 17, left = 92;
  const auto x = [&](double value) { return left + (value - low) / (high - low) * (width - left - 6); };
  Markup out = markup("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", width,
                      row * static_cast<double>(policies().size()), mix);
  out += markup("<line class=\"base\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.0f}\"/>", x(0),
                row * static_cast<double>(policies().size()));
  double y = 0;
  for (const std::string& policy : policies()) {
    const BenchRecord* r = find(file, "placement", mix, policy);
    if (r == nullptr) continue;
    const double a = std::min(x(0), x(r->value.median)), b = std::max(x(0), x(r->value.median));
    const char* type = policy == "improved" ? "ours" : policy == "paper" ? "published" : "peer";
    out += markup("<text x=\"0\" y=\"{:.1f}\">{}</text>", y + 12, policy);
    out += markup(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"10\" rx=\"1.5\"><title>{}: "
        "{:+.0f} % "
        "({:+.0f} to {:+.0f})</title></rect>",
        type, a, y + 4, std::max(b - a, 1.0), policy, r->value.median, r->value.low, r->value.high);
    out += markup("<line class=\"range\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>",
                  x(r->value.low), x(r->value.high), y + 9);
    y += row;
  }
  return out + "</svg>";
}

Markup placement_html(const BenchFile& file) {
  double low = -10, high = 10;
  for (const BenchRecord& r : file.records)
    if (r.bench == "placement") low = std::min(low, r.value.low), high = std::max(high, r.value.high);
  Markup out(
      "<h2>Policies, in the simulator</h2>\n<p>Speed relative to the average of all static placements; a "
      "mix's is "
      "the geometric mean of its programs'. Bars: the median over starting placements; lines: the lowest and "
      "the "
      "highest (of <i>hops</i>: of the placements it can't tell apart). Of the programs only streamcluster "
      "is fitted "
      "to published figures; the others stand for a class of demand.</p>\n<div class=\"policies\">\n");
  for (const std::string& mix : names_of(file, "placement"))
    out += markup("<figure><h3>{}</h3>{}</figure>\n", mix, bars(file, mix, low, high));
  out += "</div>\n<div class=\"peers\"><table><tr><th>programs, nodes</th>";
  for (const std::string& policy : policies()) out += markup("<th class=\"n\">{}</th>", policy);
  out += "</tr>\n";
  for (const std::string& mix : names_of(file, "placement")) {
    out += markup("<tr><td>{}</td>", mix);
    for (const std::string& policy : policies()) {
      const BenchRecord* r = find(file, "placement", mix, policy);
      out += r == nullptr ? Markup("<td class=\"n\">&ndash;</td>")
                          : markup("<td class=\"n\">{} %</td>", signed_text(r->value.median));
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

Markup slide5_html(const BenchFile& file) {
  Markup out(
      "<h2>streamcluster on two nodes, predicted and published</h2>\n<div "
      "class=\"peers\"><table><tr><th>nodes</th>");
  for (const Quantity& q : quantities) out += markup("<th>{}</th>", q.heading);
  out += "</tr>\n";
  for (const std::string& row : names_of(file, "slide5")) {
    out += markup("<tr><td>{}</td>", row);
    for (const Quantity& q : quantities) out += markup("<td>{}</td>", pair_text(file, row, q));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string model_table(const BenchFile& file) {
  if (const std::string text = transpose_model_text(file); !text.empty()) return text + errors_text(file);
  std::string out = "Predicted by the link model on opteron-6272; nothing was run on such a machine.\n";
  if (!names_of(file, "slide5").empty()) out += slide5_text(file);
  if (!names_of(file, "placement").empty()) out += placement_text_table(file);
  return out + errors_text(file);
}

Markup model_section(const std::vector<BenchFile>& files) {
  Markup out;
  for (const BenchFile& file : files) {
    if (!names_of(file, "slide5").empty()) out += slide5_html(file);
    if (!names_of(file, "placement").empty()) out += placement_html(file);
  }
  if (out.empty()) return out;
  return markup(
      "<h1 id=\"title\">Placement on a machine whose links differ</h1>\n<p class=\"note\">Predictions "
      "of nigh's "
      "link model for 4 x Opteron 6272 (8 nodes), the machine of AsymSched (USENIX ATC 2015); nothing in "
      "this "
      "section was timed.</p>\n{}",
      out);
}

std::string model_summary(const std::vector<BenchFile>& files) {
  std::string out;
  for (const BenchFile& file : files) {
    const std::vector<std::string> mixes = names_of(file, "placement");
    if (mixes.empty()) continue;
    out += "placement        predicted speed above the average placement, median of " +
           std::to_string(mixes.size()) + " mixes:";
    for (const std::string& policy : policies()) {
      std::vector<double> values;
      for (const std::string& mix : mixes)
        if (const BenchRecord* r = find(file, "placement", mix, policy)) values.push_back(r->value.median);
      if (policy != "average" && !values.empty())
        out += fmt::format(" {} {} %{}", policy, signed_text(spread_of(values).median),
                           policy == policies().back() ? "\n" : ",");
    }
  }
  return out;
}

}  // namespace nigh::cli
