// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The benchmark part of the report: a card for each case, in it a line for each subject with the range of its
// samples and their median as a picture, on one scale per card, beside the figures themselves.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/bench_catalog.hpp"
#include "cli/bench_fingerprint.hpp"
#include "cli/bench_matrix.hpp"
#include "cli/bench_table.hpp"
#include "cli/report_page.hpp"

namespace nigh::cli {

namespace {

constexpr double bar_width = 240;

// Shown at once; other results of a benchmark are behind a fold.
bool is_first_class(const BenchRecord& r) {
  static const std::set<std::string> names = {"triad", "parallel", "barrier", "reduction", "solve", "region"};
  return names.count(r.result) > 0;
}

using Card = std::vector<const BenchRecord*>;

// libgomp and libomp of the same teams and result next to each other, else in the order given.
std::vector<Card> side_by_side(const std::vector<Card>& cards) {
  auto key = [](const Card& card) { return card.front()->teams + " " + card.front()->result; };
  std::vector<std::string> keys;
  for (const Card& card : cards)
    if (std::find(keys.begin(), keys.end(), key(card)) == keys.end()) keys.push_back(key(card));
  std::vector<Card> out;
  for (const std::string& wanted : keys)
    for (const Card& card : cards)
      if (key(card) == wanted) out.push_back(card);
  return out;
}

// Records of one case, in the order they were written; cases in order of team sizes, then runtimes.
std::vector<Card> cards_of(const BenchFile& file, const std::string& bench) {
  std::vector<Card> out;
  for (const BenchRecord& r : file.records) {
    if (r.bench != bench || !is_headline(r)) continue;
    auto same = std::find_if(out.begin(), out.end(),
                             [&](const Card& card) { return card.front()->case_name == r.case_name; });
    if (same == out.end()) same = out.insert(out.end(), Card{});
    same->push_back(&r);
  }
  return side_by_side(out);
}

double scale_of(const Card& card) {
  double most = 0;
  // One stalled sample must not press all others flat: the scale ends at three times the largest median.
  double median = 0;
  for (const BenchRecord* r : card)
    most = std::max(most, r->value.high), median = std::max(median, r->value.median);
  most = std::min(most, 3 * median);
  return most > 0 ? most : 1;
}

std::string bar(const BenchRecord& r, double scale, double base) {
  auto x = [&](double value) { return 4 + std::clamp(value / scale, 0.0, 1.0) * (bar_width - 8); };
  std::string label = fmt::format("median {}, {} to {} {}", short_number(r.value.median),
                                  short_number(r.value.low), short_number(r.value.high), r.unit);
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} 16\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{1}\"><title>{1}</title>",
      bar_width, html(label));
  if (base > 0)
    out += fmt::format("<line class=\"base\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"16\"/>", x(base));
  out += fmt::format("<line class=\"range\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"8\" y2=\"8\"/>", x(r.value.low),
                     x(r.value.high));
  // A bar, not a circle: the picture is stretched to the column.
  out += fmt::format("<rect class=\"mid\" x=\"{:.1f}\" y=\"2\" width=\"3\" height=\"12\" rx=\"1.5\"/></svg>",
                     x(r.value.median) - 1.5);
  return out;
}

std::string row(const BenchRecord& r, double scale, double base, bool states) {
  std::string type = r.subject == "nigh" ? "nigh" : r.subject == "limit" ? "limit" : "peer";
  std::string ratio = is_baseline(r.subject) ? "1"
                      : r.ratio              ? fmt::format("{:.2f}", r.ratio->median)
                                             : "&ndash;";
  std::string range = r.ratio ? fmt::format(" title=\"{:.2f} to {:.2f}\"", r.ratio->low, r.ratio->high) : "";
  std::string out =
      fmt::format("<tr class=\"{}\"><td>{}</td><td class=\"bar\">{}</td><td class=\"n\">{}</td>", type,
                  html(r.subject), bar(r, scale, base), short_number(r.value.median));
  out += fmt::format("<td class=\"n\"{}>{}</td>", range, ratio);
  if (states) out += "<td>" + html(r.core_state) + "</td>";
  std::string moves = r.moves > 0 ? fmt::format(", {} moves", r.moves) : "";
  out += fmt::format("<td class=\"p\" title=\"{0}{1}\">{0}{1}</td>", html(placement_text(r)), moves);
  std::string why = r.errors.empty() ? "" : r.errors.front();
  out += r.verified ? "<td class=\"ok\" title=\"verified\">&#10003;</td></tr>\n"
                    : "<td class=\"no\" title=\"" + html(why) + "\">&#10007;</td></tr>\n";
  return out;
}

std::string card_html(const Card& card) {
  const BenchRecord& first = *card.front();
  double scale = scale_of(card), base = 0;
  std::set<std::string> states;
  for (const BenchRecord* r : card) {
    states.insert(r->core_state);
    if (is_baseline(r->subject) && base == 0) base = r->value.median;
  }
  std::string size = first.size_bytes > 0
                         ? fmt::format(", {:.0f} MiB", static_cast<double>(first.size_bytes) / 1048576)
                         : std::string();
  std::string out = fmt::format(
      "<div class=\"card\"><h4>{}, {} threads, {} <span>&middot; {}, {} better{}, cores {}</span></h4>",
      html(first.result), html(first.teams), html(first.runtime), html(first.unit),
      higher_is_better(first.unit) ? "more is" : "less is", size,
      states.size() == 1 ? html(*states.begin()) : "near and far");
  out +=
      "<table><tr><th>subject</th><th>low &ndash; median &ndash; high</th><th class=\"n m\">median</th>"
      "<th class=\"n r\">&times; " +
      html(baseline_of(first.bench)) + "</th>";
  out += states.size() > 1 ? "<th class=\"s\">cores</th>" : "";
  out += "<th class=\"p\">PUs, by team</th><th class=\"v\"></th></tr>\n";
  for (const BenchRecord* r : card) out += row(*r, scale, base, states.size() > 1);
  return out + "</table></div>\n";
}

std::string matrices_html(const BenchFile& file, const BenchKind& kind) {
  std::string out;
  for (const BenchMatrix& matrix : matrices_of(file, kind.name)) out += matrix_html(matrix);
  return out.empty() ? out : "<h3>" + html(kind.name) + ": " + html(kind.title) + "</h3>\n" + out;
}

std::string bench_html(const BenchFile& file, const BenchKind& kind) {
  if (kind.is_mpi()) return matrices_html(file, kind);
  std::string first, others;
  for (const Card& card : cards_of(file, kind.name))
    (is_first_class(*card.front()) ? first : others) += card_html(card);
  if (first.empty() && others.empty()) return "";
  std::string out = "<h3>" + html(kind.name) + ": " + html(kind.title) + "</h3>\n" +
                    (kind.is_copy() ? copies_html(file) : "") + "<div class=\"cards\">" + first + "</div>\n";
  if (!others.empty())
    out +=
        "<details><summary>Its other results</summary><div class=\"cards\">" + others + "</div></details>\n";
  return out;
}

std::string absent_html(const std::vector<BenchFile>& files) {
  std::string rows;
  for (const BenchFile& file : files)
    for (const BenchAbsence& a : file.absent)
      rows += "<tr><td>" + html(a.bench) + "</td><td>" + html(a.case_name) + "</td><td>" + html(a.subject) +
              "</td><td>" + html(a.reason) + "</td></tr>\n";
  if (rows.empty()) return "";
  return "<h3>Not measured</h3>\n<div "
         "class=\"peers\"><table><tr><th>benchmark</th><th>case</th><th>subject</th>"
         "<th>why</th></tr>\n" +
         rows + "</table></div>\n";
}

bool is_busy(const BenchFile& file) {
  auto load = file.machine.find("load_before");
  return load != file.machine.end() && load->is_number() && load->get<double>() > 0.5;
}

}  // namespace

std::string bench_section(const std::vector<BenchFile>& files) {
  std::string out =
      "<h2 id=\"benchmarks\">Benchmarks</h2>\n<p>The same binaries under each subject, one run of each in "
      "turn, the first "
      "one changing from round to round. The line is the range of the samples, the mark on it their median, "
      "the dashed "
      "line the median of <i>unbound</i>. The ratio compares samples of the same round; above 1 is better "
      "than "
      "unbound. <i>limit</i> is a bound one-level run on all allowed cores.</p>\n";
  bool quick = false, busy = false, is_virtual = false;
  for (const BenchFile& file : files) {
    quick = quick || says(file.machine, "quick");
    busy = busy || is_busy(file);
    is_virtual = is_virtual || says(file.machine, "virtual");
  }
  if (quick)
    out +=
        "<p class=\"note\">Short form: small data and few cases. It shows that everything works; take "
        "figures from <code>make bench</code>.</p>\n";
  if (busy)
    out +=
        "<p class=\"note\">The machine was busy with other work while this was measured (load above 0.5 at "
        "the start): ranges are wide and differences within them mean nothing.</p>\n";
  if (is_virtual)
    out +=
        "<p class=\"note\">A virtual machine: the hypervisor may move its CPUs; <i>cores near</i> or "
        "<i>far</i> says which state a cache-line ping-pong saw around the samples, and samples of different "
        "states are never mixed.</p>\n";
  for (const BenchKind& kind : bench_kinds())
    for (const BenchFile& file : files) out += bench_html(file, kind);
  out += absent_html(files);
  out += "<h3>Taken on</h3>\n";
  for (const BenchFile& file : files)
    out += "<p class=\"note\">" + html(fingerprint_line(file.machine)) + "</p>\n";
  return out;
}

}  // namespace nigh::cli
