// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The best cut into one, two or three lines is found by trying all. A further line has to halve the error:
// noise would otherwise make protocols.
#include "machine/mpi_fit.hpp"

#include <algorithm>
#include <cmath>

#include "machine/machine.hpp"

namespace nigh {

namespace {
constexpr double most_rate = 1e9;        // MB/s: what is faster was not measured
constexpr double small_error = 0.05;     // relative, rms: good enough
constexpr std::size_t least_points = 2;  // of a line

struct Line {
  double latency = 0, slope = 0;  // us, us a byte
  double error = 0;               // sum of the squares of relative errors
};

double error_of(const Line& line, const std::vector<MpiPoint>& points) {
  double sum = 0;
  for (const MpiPoint& p : points) {
    const double off = (line.latency + line.slope * p.bytes) / p.us - 1;
    sum += off * off;
  }
  return sum;
}

// Least squares of relative errors, neither figure below zero.
Line fit_line(const std::vector<MpiPoint>& points) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const MpiPoint& p : points) {
    const double weight = 1 / (p.us * p.us);
    w += weight;
    wx += weight * p.bytes;
    wxx += weight * p.bytes * p.bytes;
    wy += weight * p.us;
    wxy += weight * p.bytes * p.us;
  }
  const double d = w * wxx - wx * wx;
  Line out;
  out.slope = d > 0 ? (w * wxy - wx * wy) / d : 0;
  out.slope = std::max(out.slope, 0.0);
  out.latency = (wy - out.slope * wx) / w;
  if (out.latency < 0) out = {0, wxx > 0 ? wxy / wxx : 0, 0};
  out.error = error_of(out, points);
  return out;
}

// Where each line ends (index behind its last point).
using Cuts = std::vector<std::size_t>;
std::vector<MpiPoint> part(const std::vector<MpiPoint>& points, std::size_t first, std::size_t end) {
  return {points.begin() + static_cast<std::ptrdiff_t>(first),
          points.begin() + static_cast<std::ptrdiff_t>(end)};
}

double best_cuts(const std::vector<MpiPoint>& points, std::size_t first, int lines, Cuts& out) {
  const std::size_t n = points.size();
  if (lines == 1) {
    out = {n};
    return fit_line(part(points, first, n)).error;
  }
  double best = INFINITY;
  for (std::size_t end = first + least_points; end + least_points <= n; ++end) {
    Cuts rest;
    const double error = fit_line(part(points, first, end)).error + best_cuts(points, end, lines - 1, rest);
    if (error >= best) continue;
    best = error;
    out = {end};
    out.insert(out.end(), rest.begin(), rest.end());
  }
  return best;
}

Cuts protocols(const std::vector<MpiPoint>& points) {
  constexpr int most_lines = 3;
  Cuts out;
  double error = best_cuts(points, 0, 1, out);
  for (int lines = 2; lines <= most_lines; ++lines) {
    if (error <= small_error * small_error * static_cast<double>(points.size())) break;
    Cuts more;
    const double less = best_cuts(points, 0, lines, more);
    if (less > error / 4) continue;
    out = more;
    error = less;
  }
  return out;
}

std::vector<MpiPoint> of(const std::vector<MpiPoint>& points, bool one) {
  std::vector<MpiPoint> out;
  for (const MpiPoint& p : points)
    if ((p.k == 1) == one && p.us > 0 && p.bytes >= 0) out.push_back(p);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return out;
}

double rate_of(double slope) { return slope > 1 / most_rate ? 1 / slope : most_rate; }
}  // namespace

Network fit_network(const std::vector<MpiPoint>& points) {
  const std::vector<MpiPoint> one = of(points, true), several = of(points, false);
  Network out;
  if (one.size() < least_points) return out;
  std::size_t first = 0;
  for (const std::size_t end : protocols(one)) {
    const bool last = end == one.size();
    const Line line = fit_line(part(one, first, end));
    NetworkRange range{last ? 0 : static_cast<std::uint64_t>(one[end - 1].bytes), line.latency,
                       rate_of(line.slope), 0};
    const double low = one[first].bytes, high = last ? INFINITY : one[end - 1].bytes;
    std::vector<MpiPoint> same;
    for (const MpiPoint& p : several)
      if (p.bytes >= low && p.bytes <= high) same.push_back(p);
    range.node_rate = range.process_rate;
    if (same.size() >= least_points) {
      const int k = same.front().k;
      const Line together = fit_line(same);
      const double rate = k * rate_of(together.slope);
      range.node_rate = std::clamp(rate, range.process_rate, most_rate);
      // Who waits for whom shows in what is short, who gets how much in what is long.
      if (last) out.rate_loss = std::max(0.0, range.node_rate / rate - 1) / (k - 1);
      if (first == 0 && line.latency > 0)
        out.latency_growth = std::max(0.0, together.latency / line.latency - 1) / (k - 1);
    }
    out.ranges.push_back(range);
    first = end;
  }
  if (out.ranges.back().process_rate >= most_rate) return {};
  out.source = Source::measured;
  return out;
}

}  // namespace nigh
