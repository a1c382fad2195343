// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose model on the terminal and on the page. The pictures are the slides' (17 to 22), drawn by the
// model when the page is made: it is a pure function, so nothing of them has to be stored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/bench_transpose.hpp"
#include "cli/report_page.hpp"

namespace nigh::cli {

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

struct Series {
  const char* type;  // class of the line
  TransposeWay way;
};
constexpr Series two_series[] = {{"ours", haan_hybrid}, {"peer", haan_mpi}};

// A chart of both programs over powers of two or sizes; x is logarithmic, so is y where it spans decades.
class Chart {
 public:
  Chart(std::string title, std::vector<double> xs, bool log_y)
      : title_(std::move(title)), xs_(std::move(xs)), log_y_(log_y) {}
  Markup draw(const std::function<double(double, const TransposeWay&)>& value);
  void mark(double x, double y) { marks_.emplace_back(x, y); }  // a published figure

 private:
  static constexpr double width = 340, height = 190, left = 46, right = 10, top = 8, bottom = 22;
  [[nodiscard]] double at_x(double x) const {
    return left + std::log(x / xs_.front()) / std::log(xs_.back() / xs_.front()) * (width - left - right);
  }
  [[nodiscard]] double at_y(double y) const {
    const double part = log_y_ ? std::log(y / low_) / std::log(high_ / low_) : (y - low_) / (high_ - low_);
    return height - bottom - part * (height - top - bottom);
  }
  [[nodiscard]] Markup axes() const;

  std::string title_;
  std::vector<double> xs_;
  bool log_y_;
  std::vector<std::pair<double, double>> marks_;
  double low_ = 0, high_ = 0;
};

Markup Chart::axes() const {
  Markup out = markup("<line class=\"base\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", left,
                      width - right, height - bottom);
  for (const double x : {xs_.front(), xs_[xs_.size() / 2], xs_.back()})
    out += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", at_x(x), height - 6,
                  x == xs_.back() ? "end" : "middle", x);
  for (const double y : {low_, high_})
    out += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.{}f}</text>", left - 5, at_y(y) + 4,
                  y, y < 10 ? 1 : 0);
  return out;
}

Markup Chart::draw(const std::function<double(double, const TransposeWay&)>& value) {
  low_ = log_y_ ? 1e300 : 0, high_ = 0;
  for (const double x : xs_)
    for (const Series& series : two_series) {
      low_ = std::min(low_, value(x, series.way));
      high_ = std::max(high_, value(x, series.way));
    }
  Markup out = markup("<figure><h3>{0}</h3><svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{0}\">{3}",
                      title_, width, height, axes());
  for (const Series& series : two_series) {
    out += markup("<polyline class=\"{}\" points=\"", series.type);
    for (const double x : xs_) out += markup("{:.1f},{:.1f} ", at_x(x), at_y(value(x, series.way)));
    out += "\"/>";
  }
  for (const auto& [x, y] : marks_)
    out += markup("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", at_x(x), at_y(y));
  return out + "</svg></figure>\n";
}

TransposeSteps steps_of(double side, double nodes, const TransposeWay& way) {
  const auto steps = haan_steps(static_cast<std::uint64_t>(side), static_cast<int>(nodes), way);
  NIGH_CHECK(steps.has_value());  // a shipped model, and sizes of ours
  return *steps;
}

// Speed of the whole machine, Mword/s.
double speed_of(double side, double nodes, const TransposeWay& way) {
  return nodes * transpose_speed(haan_demand(static_cast<std::uint64_t>(side), static_cast<int>(nodes)),
                                 steps_of(side, nodes, way).total());
}

// Slide 22: which part of the time each step takes, of both programs and two sizes.
Markup shares() {
  constexpr const char* names[] = {"reorder", "on node", "between", "transpose", "sync"};
  constexpr double left = 92, width = 340, row = 22, shade[] = {0.9, 0.2, 0.55, 0.75, 0.3};
  Markup out = markup(
      "<figure><h3>Steps, from the left: {}, {}, {}, {}, {}</h3><svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"parts of the steps\">",
      names[0], names[1], names[2], names[3], names[4], width, 4 * row);
  double y = 0;
  for (const double side : {1000.0, 10000.0})
    for (const Series& series : two_series) {
      const TransposeSteps s = steps_of(side, 16, series.way);
      out += markup("<text x=\"0\" y=\"{:.1f}\">{}x{}, {}</text>", y + 13, series.way.ranks,
                    series.way.threads, side);
      double x = left;
      int step = 0;
      for (const double seconds :
           {s.local_reorder, s.on_node, s.between_nodes, s.local_transpose, s.synchronisation}) {
        const double wide = seconds / s.total() * (width - left);
        out += markup(
            "<rect class=\"ours\" style=\"opacity:{:.2f}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"14\"><title>{}: {:.3g} ms</title></rect>",
            shade[step], x, y + 2, wide, names[step], seconds * 1e3);
        x += wide;
        ++step;
      }
      y += row;
    }
  return out + "</svg></figure>\n";
}

Markup pictures() {
  const std::vector<double> sides = {200, 316, 500, 1000, 2000, 3162, 5000, 10000, 20000, 31623};
  const std::vector<double> nodes = {1, 2, 4, 8, 16, 32, 64};
  Chart between("Between nodes, ms, over rows of the matrix, 16 nodes", sides, true);
  Chart speed("Transpose, Mword/s per node, over rows of the matrix, 16 nodes", sides, false);
  for (const auto& [side, c] : {std::pair(1000.0, 5.6), {1000.0, 2.5}, {31623.0, 7.8}, {31623.0, 7.0}})
    speed.mark(side, c);
  Chart scaling("Transpose, Mword/s of all nodes, over nodes, 10000 x 10000", nodes, true);
  Chart small("The same, 1000 x 1000", nodes, true);
  return Markup("<div class=\"policies\">\n") +
         between.draw([](double x, auto& way) { return 1e3 * steps_of(x, 16, way).between_nodes; }) +
         speed.draw([](double x, auto& way) { return speed_of(x, 16, way) / 16; }) +
         scaling.draw([](double x, auto& way) { return speed_of(10000, x, way); }) +
         small.draw([](double x, auto& way) { return speed_of(1000, x, way); }) + shares() + "</div>\n";
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

Markup transpose_model_html(const BenchFile& file) {
  const std::vector<Compared> rows = compared(file);
  if (rows.empty()) return {};
  Markup out(
      "<h1 id=\"title\">Ranks or threads: the transpose of Haan (SCICOMP 2000)</h1>\n<p "
      "class=\"note\">Predictions "
      "of nigh's cost "
      "model for 16 nodes of an IBM SP (4 x POWER3-II each), the machine of Haan (SCICOMP 2000); nothing in "
      "this section was "
      "timed. Blue: one process of four threads on a node; grey: four processes; green points: published. "
      "The four transpose "
      "speeds are what the model's latency, bandwidths and barrier are fitted to.</p>\n<div "
      "class=\"peers\"><table><tr><th>ranks x "
      "threads, words</th><th class=\"n\">predicted</th><th class=\"n\">published</th><th></th></tr>\n");
  for (const Compared& c : rows)
    out +=
        markup("<tr><td>{}</td><td class=\"n\">{:.4g} {}</td><td class=\"n\">{:.4g}</td><td>{}</td></tr>\n",
               c.ours->case_name, c.ours->value.median, c.ours->unit, c.theirs->value.median, difference(c));
  return out + "</table></div>\n" + pictures();
}

}  // namespace nigh::cli
