// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The pictures of `nigh bench copy`: rate over size, a line for each subject with its name at its end, and
// the memory limit dashed. The first three are those of Haan (slides 11 to 13): copies in memory, with
// prefetches, in cache; then the reorder and the transpose, over all sizes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "cli/report_page.hpp"

namespace nigh::cli {

namespace {

constexpr double one_kib = 1024,
                 cached_most = 512 * one_kib;  // both matrices: what fits a core's L2 nowadays

struct RatePoint {
  double bytes, rate;  // GB/s
};
struct RateLine {
  std::string subject;
  std::vector<RatePoint> points;  // smallest first
};
using RateLines = std::vector<RateLine>;

// "copy 32 KiB" of a move "copy": its bytes. Nothing for other moves, and for "transpose odd 128 MiB".
std::optional<double> size_of_matrix(const std::string& result, const std::string& move) {
  if (!result.starts_with(move + " ")) return std::nullopt;
  const char *const begin = result.data() + move.size() + 1, *const end = result.data() + result.size();
  int number = 0;
  const auto [rest, error] = std::from_chars(begin, end, number);
  const std::string unit(rest, end);
  if (error != std::errc() || number <= 0 || (unit != " KiB" && unit != " MiB")) return std::nullopt;
  return number * (unit == " KiB" ? one_kib : one_kib * one_kib);
}

RateLines rate_lines(const BenchFile& file, const std::string& teams, const std::string& move) {
  RateLines out;
  for (const BenchRecord& r : file.records) {
    const auto bytes = size_of_matrix(r.result, move);
    if (r.bench != "copy" || r.teams != teams || !bytes || r.value.median <= 0) continue;
    auto line =
        std::find_if(out.begin(), out.end(), [&](const RateLine& l) { return l.subject == r.subject; });
    if (line == out.end()) line = out.insert(out.end(), RateLine{r.subject, {}});
    line->points.push_back({*bytes, r.value.median / 1000});
  }
  for (RateLine& line : out)
    std::sort(line.points.begin(), line.points.end(),
              [](const RatePoint& a, const RatePoint& b) { return a.bytes < b.bytes; });
  return out;
}

// Those of the sizes from `least` to `most`, without the subjects `but`.
RateLines of_sizes(const RateLines& lines, double least, double most, const std::set<std::string>& but = {}) {
  RateLines out;
  for (const RateLine& line : lines) {
    RateLine kept{line.subject, {}};
    for (const RatePoint& p : line.points)
      if (p.bytes >= least && p.bytes <= most) kept.points.push_back(p);
    if (!kept.points.empty() && but.count(line.subject) == 0) out.push_back(std::move(kept));
  }
  return out;
}

std::string matrix_size(double bytes) {
  return bytes < one_kib * one_kib ? fmt::format("{:.0f} KiB", bytes / one_kib)
                                   : fmt::format("{:.0f} MiB", bytes / one_kib / one_kib);
}

class RateChart {
 public:
  // Nothing of less than two sizes: there is no line.
  static Markup draw(const std::string& title, const RateLines& lines, bool log_y) {
    const RateChart chart(lines, log_y);
    if (chart.sizes_.size() < 2) return {};
    return markup(
        "<figure><h4>{0}</h4><svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{0}, GB/s over "
        "size\">{3}{4}{5}</svg></figure>\n",
        title, width, height, chart.axes(), chart.curves(), chart.names());
  }

 private:
  static constexpr double width = 460, height = 260, left = 34, right = 104, top = 10, bottom = 24;

  RateChart(const RateLines& lines, bool log_y) : lines_(lines), log_y_(log_y) {
    double least = 1e300, most = 0;
    for (const RateLine& line : lines)
      for (const RatePoint& p : line.points) {
        sizes_.insert(p.bytes);
        least = std::min(least, p.rate);
        most = std::max(most, p.rate);
      }
    low_ = log_y ? least / 1.1 : 0;
    high_ = most * 1.05;
  }

  [[nodiscard]] double x_of(double bytes) const {
    const double first = *sizes_.begin(), last = *sizes_.rbegin();
    return left + std::log(bytes / first) / std::log(last / first) * (width - left - right);
  }
  [[nodiscard]] double y_of(double rate) const {
    const double part =
        log_y_ ? std::log(rate / low_) / std::log(high_ / low_) : (rate - low_) / (high_ - low_);
    return height - bottom - part * (height - top - bottom);
  }
  // 1, 2, 5, 10 ... on a scale of decades; else three to eight equal steps of such a size.
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> out;
    if (log_y_) {
      for (int power = -3; power < 9; ++power)
        for (const double digit : {1.0, 2.0, 5.0})
          if (const double tick = digit * std::pow(10, power); tick >= low_ && tick <= high_)
            out.push_back(tick);
      return out;
    }
    double step = std::pow(10, std::floor(std::log10(high_)));
    for (const double part : {0.5, 0.2, 0.1})
      if (high_ / step < 3) step = part * std::pow(10, std::floor(std::log10(high_)));
    for (int i = 0; i * step <= high_; ++i) out.push_back(i * step);
    return out;
  }

  [[nodiscard]] Markup axes() const {
    Markup out;
    for (const double tick : ticks())
      out += markup(
          "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>",
          left, width - right, y_of(tick), left - 5, y_of(tick) + 3.5, tick);
    double free_from = 0;
    for (const double bytes : sizes_) {  // as many names as there is room for
      const double x = x_of(bytes);
      if (x < free_from) continue;
      free_from = x + 56;
      out += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x, height - 7,
                    matrix_size(bytes));
    }
    return out;
  }

  [[nodiscard]] static const char* type_of(const std::string& subject) {
    return subject == "nigh"             ? "ours"
           : subject.starts_with("nigh") ? "variant"
           : subject == "limit"          ? "limit"
                                         : "peer";
  }
  [[nodiscard]] Markup curves() const {
    Markup out;
    for (const RateLine& line : lines_) {
      const char* const type = type_of(line.subject);
      Markup points, dots;
      for (const RatePoint& p : line.points) {
        points += markup("{:.1f},{:.1f} ", x_of(p.bytes), y_of(p.rate));
        dots += markup(
            "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"><title>{}, {}: {:.3g} "
            "GB/s</title></circle>",
            type, x_of(p.bytes), y_of(p.rate), line.subject, matrix_size(p.bytes), p.rate);
      }
      out += markup("<polyline class=\"{}\" points=\"{}\"/>{}", type, points, dots);
    }
    return out;
  }

  // Beside the ends of the lines, from above, moved down where two would touch, and all up if there is no
  // room.
  [[nodiscard]] Markup names() const {
    constexpr double apart = 12;
    std::multimap<double, const RateLine*> by_height;
    for (const RateLine& line : lines_) by_height.emplace(y_of(line.points.back().rate), &line);
    std::vector<double> at;
    for (const auto& [y, line] : by_height) at.push_back(at.empty() ? y : std::max(y, at.back() + apart));
    for (std::size_t i = at.size(); i-- > 0;)
      at[i] = std::min(at[i], i + 1 < at.size() ? at[i + 1] - apart : height - bottom);
    Markup out;
    std::size_t i = 0;
    for (const auto& [y, line] : by_height) {
      const double end = x_of(line->points.back().bytes);
      out += markup(
          "<line class=\"lead\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
          end + 3, y, width - right + 12, at[i], type_of(line->subject), width - right + 15, at[i] + 3.5,
          line->subject);
      ++i;
    }
    return out;
  }

  const RateLines& lines_;
  std::set<double> sizes_;
  bool log_y_;
  double low_ = 0, high_ = 1;
};

Markup rate_pictures(const BenchFile& file, const std::string& teams) {
  constexpr double all = 1e300;
  const RateLines copies = rate_lines(file, teams, "copy");
  const std::string by = teams == "1" ? ", 1 thread" : fmt::format(", {} threads", teams);
  Markup three =
      RateChart::draw("Copy in memory, 2 MiB and more" + by,
                      of_sizes(copies, 4 * cached_most, all, {"prefetch"}), false) +
      RateChart::draw(
          "Copy with prefetches" + by,
          of_sizes(copies, 4 * cached_most, all, {"memcpy", "openblas", "nigh-cached", "nigh-streamed"}),
          false) +
      RateChart::draw("Copy in cache, up to 512 KiB" + by, of_sizes(copies, 0, cached_most), false);
  if (three.empty()) three = RateChart::draw("Copy" + by, copies, true);
  return three + RateChart::draw("Reorder" + by, rate_lines(file, teams, "reorder"), true) +
         RateChart::draw("Transpose" + by, rate_lines(file, teams, "transpose"), true);
}

}  // namespace

Markup copies_html(const BenchFile& file) {
  std::vector<std::string> teams;
  for (const BenchRecord& r : file.records)
    if (r.bench == "copy" && std::find(teams.begin(), teams.end(), r.teams) == teams.end())
      teams.push_back(r.teams);
  Markup out;
  for (const std::string& one : teams) out += rate_pictures(file, one);
  if (out.empty()) return {};
  return markup(
      "<p class=\"note\">GB/s, read and written, over the size of one of the two matrices; medians. The "
      "first pictures of a number of threads are those of Haan's slides 11 to 13. Dashed: the fastest "
      "copy of as many bytes.</p>\n<div class=\"rates\">\n{}</div>\n",
      out);
}

}  // namespace nigh::cli
