// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The best cut into one, two or three lines is found by trying all. A further line has to take a third
// of the error away: noise would otherwise make protocols.
#include "machine/mpi_fit.hpp"

#include <algorithm>
#include <cmath>

#include "machine/machine.hpp"

namespace nigh {

namespace {
constexpr double most_rate = 1e9;        // MB/s: what is faster was not measured
constexpr double small_error = 0.1;      // relative, of any point: good enough
constexpr double most_left = 2.0 / 3;    // of the error, by a further line
constexpr std::size_t least_points = 2;  // of a line
constexpr double least_span = 1.5;       // its last size over its first: what is closer tells no slope

struct Line {
  double latency = 0, slope = 0;  // us, us a byte
  double error = 0;               // sum of relative errors
};

double error_of(const Line& line, const std::vector<MpiPoint>& points) {
  double sum = 0;
  for (const MpiPoint& p : points) sum += std::abs((line.latency + line.slope * p.bytes) / p.us - 1);
  return sum;
}

// The line with the least sum of relative errors, neither figure below zero. Not of their squares: a point
// that was disturbed should not draw the line to itself. Such a line passes through two of the points, or
// through one and is level or begins at zero.
Line fit_line(const std::vector<MpiPoint>& points) {
  Line best{0, 0, INFINITY};
  const auto offer = [&](double latency, double slope) {
    if (latency < 0 || slope < 0) return;
    const Line line{latency, slope, 0};
    if (const double error = error_of(line, points); error < best.error) best = {latency, slope, error};
  };
  for (const MpiPoint& a : points) {
    offer(a.us, 0);
    if (a.bytes > 0) offer(0, a.us / a.bytes);
    for (const MpiPoint& b : points) {
      if (b.bytes < least_span * a.bytes || b.bytes == a.bytes) continue;
      const double slope = (b.us - a.us) / (b.bytes - a.bytes);
      offer(a.us - slope * a.bytes, slope);
    }
  }
  return best;
}

std::vector<MpiPoint> of(const std::vector<MpiPoint>& points, bool one) {
  std::vector<MpiPoint> out;
  for (const MpiPoint& p : points)
    if ((p.k == 1) == one && p.us > 0 && p.bytes >= 0) out.push_back(p);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return out;
}

bool makes_a_line(const std::vector<MpiPoint>& points) {
  return points.size() >= least_points && points.back().bytes >= least_span * points.front().bytes;
}

// The times of one process and of several, by ascending size. Where one protocol ends and the next begins is
// the same for both, and may show in one of them only.
struct Curves {
  std::vector<MpiPoint> one, several;

  [[nodiscard]] std::size_t size() const { return one.size(); }
  // The part of the sizes of k = 1 from index `first` on, before `end`; the last part has no end.
  [[nodiscard]] Curves part(std::size_t first, std::size_t end) const {
    Curves out;
    out.one = {one.begin() + static_cast<std::ptrdiff_t>(first),
               one.begin() + static_cast<std::ptrdiff_t>(end)};
    const double low = one[first].bytes, high = end == one.size() ? INFINITY : one[end - 1].bytes;
    for (const MpiPoint& p : several)
      if (p.bytes >= low && p.bytes <= high) out.several.push_back(p);
    return out;
  }
  // The error of the best lines; 0 where a single process's points are too close for a line.
  [[nodiscard]] double error() const {
    if (!makes_a_line(one)) return INFINITY;
    return fit_line(one).error + (makes_a_line(several) ? fit_line(several).error : 0);
  }
};

// The end of each line (index behind its last point).
using Cuts = std::vector<std::size_t>;

double best_cuts(const Curves& curves, std::size_t first, int lines, Cuts& out) {
  const std::size_t n = curves.size();
  if (lines == 1) {
    out = {n};
    return curves.part(first, n).error();
  }
  double best = INFINITY;
  for (std::size_t end = first + least_points; end + least_points <= n; ++end) {
    Cuts rest;
    const double error = curves.part(first, end).error() + best_cuts(curves, end, lines - 1, rest);
    if (error >= best) continue;
    best = error;
    out = {end};
    out.insert(out.end(), rest.begin(), rest.end());
  }
  return best;
}

double worst_error(const Curves& curves, const Cuts& cuts) {
  double worst = 0;
  std::size_t first = 0;
  for (const std::size_t end : cuts) {
    const Curves part = curves.part(first, end);
    for (const auto* points : {&part.one, &part.several}) {
      const Line line = fit_line(*points);
      for (const MpiPoint& p : *points)
        if (makes_a_line(*points)) worst = std::max(worst, error_of(line, {p}));
    }
    first = end;
  }
  return worst;
}

Cuts protocols(const Curves& curves) {
  constexpr int most_lines = 3;
  Cuts out;
  double error = best_cuts(curves, 0, 1, out);
  for (int lines = 2; lines <= most_lines; ++lines) {
    if (worst_error(curves, out) <= small_error) break;
    Cuts more;
    const double less = best_cuts(curves, 0, lines, more);
    if (less > most_left * error) continue;
    out = more;
    error = less;
  }
  return out;
}

double rate_of(double slope) { return slope > 1 / most_rate ? 1 / slope : most_rate; }

// The cost of sharing, from the times of several processes at the sizes of this range. Several processes may
// wait where one alone does not: the cost of each is counted as a part of the latency, which is then not left
// at 0.
void fit_sharing(const std::vector<MpiPoint>& same, NetworkRange& range) {
  constexpr double least_part = 0.01;
  range.node_rate = range.process_rate;
  if (same.empty()) return;
  const int k = same.front().k;
  // Points that are too close determine no line: the last one is taken to have the latency of one process.
  Line together = fit_line(same);
  if (const MpiPoint& last = same.back(); !makes_a_line(same) && last.us > range.latency_us)
    together = {range.latency_us, (last.us - range.latency_us) / last.bytes, 0};
  const double rate = k * rate_of(together.slope);
  range.node_rate = std::clamp(rate, range.process_rate, most_rate);
  range.rate_loss = std::max(0.0, range.node_rate / rate - 1) * k / (k - 1);
  range.latency_us = std::max(range.latency_us, least_part * together.latency);
  if (range.latency_us > 0)
    range.latency_growth = std::max(0.0, together.latency / range.latency_us - 1) / (k - 1);
}
}  // namespace

std::vector<MpiPoint> points_of_reorder(const std::vector<MpiPoint>& reorders, int nodes) {
  std::vector<MpiPoint> out;
  if (nodes < 2) return out;
  for (const MpiPoint& p : of(reorders, true)) out.push_back({1, p.bytes, p.us / (nodes - 1)});
  const std::size_t alone = out.size();
  for (const MpiPoint& p : of(reorders, false))
    for (std::size_t i = 0; i < alone; ++i) {
      if (out[i].bytes != p.bytes) continue;
      // k (N - 1) - 1 times what k take, and k times what one takes, is the sum over all steps.
      const double rest = (p.us - p.k * out[i].us) / (p.k * (nodes - 1) - 1);
      out.push_back({p.k, p.bytes, std::max(rest, out[i].us)});
    }
  return out;
}

Network fit_network(const std::vector<MpiPoint>& points) {
  const Curves all{of(points, true), of(points, false)};
  Network out;
  if (all.size() < least_points) return out;
  std::size_t first = 0;
  for (const std::size_t end : protocols(all)) {
    const bool last = end == all.size();
    const Curves part = all.part(first, end);
    const Line line = fit_line(part.one);
    const std::uint64_t upto = last ? 0 : static_cast<std::uint64_t>(part.one.back().bytes);
    NetworkRange range{upto, line.latency, rate_of(line.slope), 0};
    fit_sharing(part.several, range);
    out.ranges.push_back(range);
    first = end;
  }
  if (out.ranges.back().process_rate >= most_rate) return {};
  out.source = Source::measured;
  return out;
}

}  // namespace nigh
