// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// "Slower" is only said when the ranges of the samples lie apart: on a noisy machine medians alone would
// invent contradictions.
#include "machine/probe_stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nigh::probe {

namespace {
constexpr double least_gain = 0.03;
constexpr std::uint64_t unit = std::uint64_t{64} << 10;

std::uint64_t round_down(std::uint64_t bytes) { return bytes / unit * unit; }
std::uint64_t round_up(std::uint64_t bytes) { return (bytes + unit - 1) / unit * unit; }
}  // namespace

Figure summarize(std::vector<double> samples, int discarded) {
  Figure figure;
  figure.discarded = discarded;
  if (samples.empty()) return figure;
  std::sort(samples.begin(), samples.end());
  std::size_t n = samples.size(), half = n / 2;
  figure.median = n % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  figure.low = samples.front();
  figure.high = samples.back();
  figure.samples = static_cast<int>(n);
  return figure;
}

double spread(const Figure& figure) {
  return figure.median > 0 ? (figure.high - figure.low) / figure.median : 0;
}

std::vector<int> thread_ladder(int n) {
  std::vector<int> counts;
  for (int base = 1; base <= n; base *= 2) {
    counts.push_back(base);
    if (base >= 2 && base + base / 2 <= n) counts.push_back(base + base / 2);
  }
  if (!counts.empty() && counts.back() != n) counts.push_back(n);
  return counts;
}

void Knee::add(int threads, double bandwidth) {
  bool gained = at_ == 0 || bandwidth >= best_ * (1 + least_gain);
  flat_ = gained ? 0 : flat_ + 1;
  if (gained) at_ = threads;
  best_ = std::max(best_, bandwidth);
}

Sizes fit_sizes(std::uint64_t llc, int threads, std::uint64_t available) {
  std::uint64_t wish = round_up(4 * llc);
  std::uint64_t shares = static_cast<std::uint64_t>(threads) + 1;
  std::uint64_t share = std::min(wish, round_down(available / shares));
  return {share, share, share < wish};
}

std::vector<WorkingSet> working_sets(const std::vector<std::pair<std::string, std::uint64_t>>& caches,
                                     std::uint64_t largest, int steps_per_octave) {
  std::vector<WorkingSet> sets;
  for (int step = 0;; ++step) {
    const double size = 4096 * std::exp2(static_cast<double>(step) / steps_per_octave);
    if (size >= static_cast<double>(largest) * 0.99) break;
    sets.push_back({static_cast<std::uint64_t>(size) / 1024 * 1024, ""});
  }
  for (const auto& [level, bytes] : caches)
    if (bytes / 2 >= 4096 && bytes / 2 < largest) sets.push_back({bytes / 2 / 1024 * 1024, level});
  std::uint64_t biggest_cache = 0;
  for (const auto& [level, bytes] : caches) biggest_cache = std::max(biggest_cache, bytes);
  // Only what is well beyond every cache may be called memory.
  sets.push_back({largest / 1024 * 1024, largest >= 2 * biggest_cache ? "memory" : ""});
  std::sort(sets.begin(), sets.end(), [](const WorkingSet& a, const WorkingSet& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.level.size() > b.level.size();
  });
  auto same = [](const WorkingSet& a, const WorkingSet& b) { return a.bytes == b.bytes; };
  sets.erase(std::unique(sets.begin(), sets.end(), same), sets.end());
  return sets;
}

std::vector<std::pair<int, int>> pick_pairs(int n, std::size_t most) {
  std::vector<std::pair<int, int>> all;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) all.emplace_back(a, b);
  if (all.size() <= most) return all;
  std::vector<std::pair<int, int>> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(all[k * all.size() / most]);
  return some;
}

double sample_seconds(double seconds, std::size_t samples, double overhead, double least, double most) {
  if (samples == 0) return most;
  return std::clamp(seconds / static_cast<double>(samples) - overhead, least, most);
}

}  // namespace nigh::probe
