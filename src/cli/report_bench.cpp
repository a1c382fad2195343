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

Markup bar(const BenchRecord& r, double scale, double base) {
  auto x = [&](double value) { return 4 + std::clamp(value / scale, 0.0, 1.0) * (bar_width - 8); };
  std::string label = fmt::format("median {}, {} to {} {}", short_number(r.value.median),
                                  short_number(r.value.low), short_number(r.value.high), r.unit);
  Markup out = markup(
      "<svg viewBox=\"0 0 {0:.0f} 16\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{1}\"><title>{1}</title>",
      bar_width, label);
  if (base > 0)
    out += markup("<line class=\"base\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"16\"/>", x(base));
  out += markup("<line class=\"range\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"8\" y2=\"8\"/>", x(r.value.low),
                x(r.value.high));
  // A bar, not a circle: the picture is stretched to the column.
  out += markup("<rect class=\"mid\" x=\"{:.1f}\" y=\"2\" width=\"3\" height=\"12\" rx=\"1.5\"/></svg>",
                x(r.value.median) - 1.5);
  return out;
}

Markup row(const BenchRecord& r, double scale, double base, bool states) {
  std::string type = r.subject == "nigh" ? "nigh" : r.subject == "limit" ? "limit" : "peer";
  Markup ratio = is_baseline(r.subject) ? Markup("1")
                 : r.ratio              ? markup("{:.2f}", r.ratio->median)
                                        : Markup("&ndash;");
  Markup range = r.ratio ? markup(" title=\"{:.2f} to {:.2f}\"", r.ratio->low, r.ratio->high) : Markup();
  Markup out = markup("<tr class=\"{}\"><td>{}</td><td class=\"bar\">{}</td><td class=\"n\">{}</td>", type,
                      r.subject, bar(r, scale, base), short_number(r.value.median));
  out += markup("<td class=\"n\"{}>{}</td>", range, ratio);
  if (states) out += markup("<td>{}</td>", r.core_state);
  std::string moves = r.moves > 0 ? fmt::format(", {} moves", r.moves) : "";
  out += markup("<td class=\"p\" title=\"{0}{1}\">{0}{1}</td>", placement_text(r), moves);
  std::string why = r.errors.empty() ? "" : r.errors.front();
  out += r.verified ? Markup("<td class=\"ok\" title=\"verified\">&#10003;</td></tr>\n")
                    : markup("<td class=\"no\" title=\"{}\">&#10007;</td></tr>\n", why);
  return out;
}

Markup card_html(const Card& card) {
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
  Markup out = markup(
      "<div class=\"card\"><h4>{}, {} threads, {} <span>&middot; {}, {} better{}, cores {}</span></h4>",
      first.result, first.teams, first.runtime, first.unit,
      higher_is_better(first.unit) ? "more is" : "less is", size,
      states.size() == 1 ? *states.begin() : "near and far");
  out += markup(
      "<table><tr><th>subject</th><th>low &ndash; median &ndash; high</th><th class=\"n m\">median</th>"
      "<th class=\"n r\">&times; {}</th>",
      baseline_of(first.bench));
  if (states.size() > 1) out += "<th class=\"s\">cores</th>";
  out += "<th class=\"p\">PUs, by team</th><th class=\"v\"></th></tr>\n";
  for (const BenchRecord* r : card) out += row(*r, scale, base, states.size() > 1);
  return out + "</table></div>\n";
}

Markup heading(const BenchKind& kind) { return markup("<h3>{}: {}</h3>\n", kind.name, kind.title); }

Markup matrices_html(const BenchFile& file, const BenchKind& kind) {
  Markup out;
  for (const BenchMatrix& matrix : matrices_of(file, kind.name)) out += matrix_html(matrix);
  return out.empty() ? out : heading(kind) + out;
}

Markup bench_html(const BenchFile& file, const BenchKind& kind) {
  if (kind.is_mpi()) return matrices_html(file, kind);
  Markup first, others;
  for (const Card& card : cards_of(file, kind.name))
    (is_first_class(*card.front()) ? first : others) += card_html(card);
  if (first.empty() && others.empty()) return {};
  Markup out = heading(kind);
  if (kind.is_copy()) out += copies_html(file);
  out += markup("<div class=\"cards\">{}</div>\n", first);
  if (!others.empty())
    out += markup("<details><summary>Its other results</summary><div class=\"cards\">{}</div></details>\n",
                  others);
  return out;
}

Markup absent_html(const std::vector<BenchFile>& files) {
  Markup rows;
  for (const BenchFile& file : files)
    for (const BenchAbsence& a : file.absent)
      rows += markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", a.bench, a.case_name,
                     a.subject, a.reason);
  if (rows.empty()) return {};
  return markup(
      "<h3>Not measured</h3>\n<div class=\"peers\"><table><tr><th>benchmark</th><th>case</th><th>subject</th>"
      "<th>why</th></tr>\n{}</table></div>\n",
      rows);
}

bool is_busy(const BenchFile& file) {
  auto load = file.machine.find("load_before");
  return load != file.machine.end() && load->is_number() && load->get<double>() > 0.5;
}

}  // namespace

Markup bench_section(const std::vector<BenchFile>& files) {
  Markup out(
      "<h2 id=\"benchmarks\">Benchmarks</h2>\n<p>The same binaries under each subject, one run of each in "
      "turn, the first "
      "one changing from round to round. The line is the range of the samples, the mark on it their median, "
      "the dashed "
      "line the median of <i>unbound</i>. The ratio compares samples of the same round; above 1 is better "
      "than "
      "unbound. <i>limit</i> is a bound one-level run on all allowed cores.</p>\n");
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
    out += markup("<p class=\"note\">{}</p>\n", fingerprint_line(file.machine));
  return out;
}

}  // namespace nigh::cli
