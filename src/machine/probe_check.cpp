// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The firmware's distances are what every other tool believes; this file lists where the machine does not
// behave so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "machine/probe_stats.hpp"

namespace nigh::probe {

namespace {
constexpr double clearly = 0.05;    // slower by so much contradicts "nearer"
constexpr double different = 0.20;  // differing by so much contradicts "equal"

struct Cell {
  std::size_t row = 0, column = 0;
  double reference = 0;
  Figure figure;
};

// > 0 when a is better than b by the reference.
double nearer(const CrossCheck& check, const Cell& a, const Cell& b) {
  double by = b.reference - a.reference;
  return check.reference_better_high ? -by : by;
}

// The slowdown of a against b (0.22: 22 %), 0 unless their ranges lie apart.
double slower(const CrossCheck& check, const Cell& a, const Cell& b) {
  if (check.measured_better_high)
    return a.figure.high < b.figure.low ? 1 - a.figure.median / b.figure.median : 0;
  return a.figure.low > b.figure.high ? a.figure.median / b.figure.median - 1 : 0;
}

std::vector<Cell> cells(const CrossCheck& check, bool with_local) {
  std::vector<Cell> out;
  std::size_t n = check.nodes.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (check.measured[i * n + j].known() && check.reference[i * n + j] > 0 && (with_local || i != j))
        out.push_back({i, j, check.reference[i * n + j], check.measured[i * n + j]});
  return out;
}

std::string sentence(const CrossCheck& check, const Cell& a, const Cell& b, double by, bool equal) {
  auto link = [&](const Cell& c) { return fmt::format("{}->{}", check.nodes[c.row], check.nodes[c.column]); };
  const char* unit = check.measured_better_high ? "MB/s" : "ns";
  return fmt::format("{} is {} {} by {} ({:g} and {:g}), but {:.0f} % slower ({:.0f} against {:.0f} {})",
                     link(a), equal ? "as near as" : "nearer than", link(b), check.what, a.reference,
                     b.reference, by * 100, a.figure.median, b.figure.median, unit);
}

// Ranks with ties averaged.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> out;
  for (double v : values) {
    auto below = std::count_if(values.begin(), values.end(), [v](double w) { return w < v; });
    auto equal = std::count(values.begin(), values.end(), v);
    out.push_back(static_cast<double>(below) + static_cast<double>(equal - 1) / 2);
  }
  return out;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  double n = static_cast<double>(x.size()), mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mx += x[i] / n, my += y[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  constexpr double rounding = 1e-9;  // all equal but for the arithmetic
  return xx > rounding && yy > rounding ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}
}  // namespace

// Links of one node are compared with each other, and a link with its own opposite direction: between links
// that share no end, a difference may be the CPUs' and not the link's.
std::vector<std::string> contradictions(const CrossCheck& check, std::size_t most) {
  std::vector<Cell> all = cells(check, true);
  std::vector<std::pair<double, std::string>> found;
  for (const Cell& a : all)
    for (const Cell& b : all) {
      bool comparable = a.row == b.row || (a.row == b.column && a.column == b.row);
      double reference = nearer(check, a, b), by = slower(check, a, b);
      if (!comparable || reference < 0 || by <= (reference > 0 ? clearly : different)) continue;
      found.emplace_back(by, sentence(check, a, b, by, reference == 0));
    }
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) out.push_back(found[i].second);
  if (found.size() > most)
    out.push_back(fmt::format("... and {} more of {}", found.size() - most, check.what));
  return out;
}

double rank_agreement(const CrossCheck& check) {
  std::vector<double> measured, reference;
  for (const Cell& cell : cells(check, false)) {
    measured.push_back(check.measured_better_high ? -cell.figure.median : cell.figure.median);
    reference.push_back(check.reference_better_high ? -cell.reference : cell.reference);
  }
  if (measured.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  return correlation(ranks(measured), ranks(reference));
}

}  // namespace nigh::probe
