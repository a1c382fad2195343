// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/report_page.hpp"

namespace nigh::cli {

namespace {
constexpr const char* step_names[] = {"local_reorder", "on_node", "between_nodes", "local_transpose"};

// What identifies a figure, but for who says it.
struct StepKey {
  std::string bed, method, ways, step;
  std::uint64_t bytes = 0;
  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};
struct StepTimes {
  double measured = 0, predicted = 0;
};
using StepFigures = std::map<StepKey, StepTimes>;

StepFigures figures_of(const BenchFile& file) {
  StepFigures out;
  for (const BenchRecord& r : file.records) {
    if (r.bench != steps_bench || !std::isfinite(r.value.median)) continue;
    StepTimes& both = out[{r.case_name, r.runtime, r.teams, r.result, r.size_bytes}];
    (r.subject == "measured" ? both.measured : both.predicted) = r.value.median;
  }
  return out;
}

struct StepPoint {
  double x;
  StepTimes y;
};
struct StepCurve {
  std::string name;
  std::vector<StepPoint> points;
};

constexpr double width = 340, height = 200, left = 46, right = 10, top = 8, bottom = 22;  // of a picture

// Both axes are logarithmic. Points: measured; lines: predicted. The first series has the first colour.
Markup chart(const std::string& title, const std::vector<StepCurve>& all) {
  double low_x = 1e300, high_x = 0, low_y = 1e300, high_y = 0;
  for (const StepCurve& series : all)
    for (const StepPoint& p : series.points) {
      low_x = std::min(low_x, p.x);
      high_x = std::max(high_x, p.x);
      low_y = std::min({low_y, p.y.measured, p.y.predicted});
      high_y = std::max({high_y, p.y.measured, p.y.predicted});
    }
  if (high_x <= low_x || high_y <= low_y || low_y <= 0) return {};
  const auto at_x = [&](double x) {
    return left + std::log(x / low_x) / std::log(high_x / low_x) * (width - left - right);
  };
  const auto at_y = [&](double y) {
    return height - bottom - std::log(y / low_y) / std::log(high_y / low_y) * (height - top - bottom);
  };
  Markup out = markup("<figure><h3>{0}</h3><svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{0}\">",
                      title, width, height);
  for (const double x : {low_x, high_x})
    out += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{:.3g}</text>", at_x(x), height - 6,
                  x == high_x ? "end" : "middle", x);
  for (const double y : {low_y, high_y})
    out +=
        markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>", left - 5, at_y(y) + 4, y);
  const char* type = "ours";
  for (const StepCurve& series : all) {
    out += markup("<polyline class=\"{}\" points=\"", type);
    for (const StepPoint& p : series.points) out += markup("{:.1f},{:.1f} ", at_x(p.x), at_y(p.y.predicted));
    out += markup("\"><title>{}, predicted</title></polyline>", series.name);
    for (const StepPoint& p : series.points)
      out += markup(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: measured {:.3g}, predicted "
          "{:.3g}</title></circle>",
          at_x(p.x), at_y(p.y.measured), series.name, p.y.measured, p.y.predicted);
    type = "peer";
  }
  return out + "</svg></figure>\n";
}

// One step of one method over the sizes, a series for one rank a host and one for as many as there are cores.
Markup over_sizes(const StepFigures& figures, const std::string& bed, const std::string& method,
                  const char* step, const std::string& title) {
  std::map<std::string, StepCurve> ways;
  for (const auto& [key, both] : figures)
    if (key.bed == bed && key.method == method && key.step == step && both.measured > 0 &&
        both.predicted > 0 && (key.ways.starts_with("1x") || key.ways.ends_with("x1")))
      ways[key.ways].points.push_back({static_cast<double>(key.bytes) * 1e-6, both});
  std::vector<StepCurve> all;
  for (auto& [name, series] : ways) all.push_back({name + " " + method, series.points});
  return chart(title + ", ms, over MB of the matrix", all);
}

// Beds that differ in the number of hosts only, which is the first word of a bed: by what follows it.
std::string without_hosts(const std::string& bed) {
  return bed.substr(std::min(bed.find_first_not_of("0123456789"), bed.size()));
}

// One matrix by one method over hosts, of those that most numbers of hosts were measured with the largest.
Markup over_hosts(const StepFigures& figures, const std::string& kind, const std::string& method) {
  std::map<std::uint64_t, std::map<std::string, StepCurve>> sizes;
  for (const auto& [key, both] : figures)
    if (key.step == "total" && key.method == method && without_hosts(key.bed) == kind && both.measured > 0 &&
        both.predicted > 0 && (key.ways.starts_with("1x") || key.ways.ends_with("x1")))
      sizes[key.bytes][key.ways].points.push_back({std::atof(key.bed.c_str()), both});
  std::vector<StepCurve> best;
  std::uint64_t bytes = 0;
  for (auto& [size, ways] : sizes) {
    std::vector<StepCurve> all;
    for (auto& [name, curve] : ways) {
      std::sort(curve.points.begin(), curve.points.end(), [](auto& a, auto& b) { return a.x < b.x; });
      all.push_back({name + " " + method, curve.points});
    }
    if (!best.empty() && all.front().points.size() < best.front().points.size()) continue;
    best = std::move(all);
    bytes = size;
  }
  if (best.empty() || best.front().points.size() < 2) return {};
  return chart(
      fmt::format("Scaling: {}, {:.3g} MB, ms, over hosts", method, static_cast<double>(bytes) * 1e-6), best);
}

// Of each kind of bed that was measured with several numbers of hosts.
Markup scaling(const StepFigures& figures) {
  std::set<std::string> kinds;
  for (const auto& [key, both] : figures) kinds.insert(without_hosts(key.bed));
  Markup out;
  for (const std::string& kind : kinds) {
    const Markup charts = over_hosts(figures, kind, "three-steps") + over_hosts(figures, kind, "one-pass");
    if (!charts.empty())
      out += markup("<h2>2, 3, ...{}</h2>\n<div class=\"policies\">\n{}</div>\n", kind, charts);
  }
  return out;
}

// Which part each of Haan's steps has, for the largest matrix: measured above predicted.
Markup shares(const StepFigures& figures, const std::string& bed) {
  std::uint64_t largest = 0;
  std::set<std::string> ways;
  for (const auto& [key, both] : figures)
    if (key.bed == bed && key.method == "three-steps") {
      largest = std::max(largest, key.bytes);
      ways.insert(key.ways);
    }
  Markup rows;
  double y = 4;
  for (const std::string& way : ways)
    for (const bool measured : {true, false}) {
      double sum = 0, x = 90;
      std::vector<double> parts;
      for (const char* step : step_names) {
        const auto found = figures.find({bed, "three-steps", way, step, largest});
        const StepTimes both = found == figures.end() ? StepTimes{} : found->second;
        parts.push_back(measured ? both.measured : both.predicted);
        sum += parts.back();
      }
      rows += markup("<text x=\"0\" y=\"{:.1f}\">{} {}</text>", y + 11, way, measured ? "measured" : "model");
      for (std::size_t i = 0; i < parts.size() && sum > 0; ++i) {
        const double wide = parts[i] / sum * (width - 90);
        rows += markup(
            "<rect class=\"ours\" style=\"opacity:{:.2f}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"13\"><title>{}: {:.3g} ms</title></rect>",
            1 - 0.22 * static_cast<double>(i), x, y, wide, step_names[i], parts[i]);
        x += wide;
      }
      y += 18;
    }
  if (rows.empty()) return {};
  return markup(
      "<figure><h3>Shares of the three steps, {:.3g} MB: {}, {}, {}, {}</h3><svg viewBox=\"0 0 {} "
      "{}\" "
      "role=\"img\" aria-label=\"shares of steps\">{}</svg></figure>\n",
      static_cast<double>(largest) * 1e-6, step_names[0], step_names[1], step_names[2], step_names[3], width,
      y + 4, rows);
}
}  // namespace

Markup transpose_steps_html(const BenchFile& file) {
  const StepFigures figures = figures_of(file);
  if (figures.empty()) return {};
  std::set<std::string> beds;
  for (const auto& [key, both] : figures) beds.insert(key.bed);
  const auto told = file.machine.find("where");
  const std::string where = told != file.machine.end() && told->is_string()
                                ? told->get<std::string>()
                                : "hosts that the file does not describe";
  Markup out = markup(
      "<h1 id=\"title\">The transpose between hosts: measured beside modelled</h1>\n<p "
      "class=\"note\">Measured on "
      "{}. Points: measured; lines: what the model said from nigh machine --probe-mpi there. Blue: one rank "
      "a host; "
      "grey: one rank a core.</p>\n",
      where);
  for (const std::string& bed : beds)
    out += markup("<h2>{}</h2>\n<div class=\"policies\">\n", bed) +
           over_sizes(figures, bed, "three-steps", "between_nodes", "Global reorder between hosts") +
           over_sizes(figures, bed, "three-steps", "total", "Transpose in three steps") +
           over_sizes(figures, bed, "one-pass", "total", "Transpose in one pass, ours") +
           shares(figures, bed) + "</div>\n";
  return out + scaling(figures);
}

}  // namespace nigh::cli
