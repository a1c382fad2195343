// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Conclusions from samples, as pure functions: the median and its spread, the number of threads beyond which
// more bring nothing, the memory to take, the duration of a sample, and contradictions between a measured
// matrix and the firmware. No clock and no machine here, so all of it is tested with made-up data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nigh::probe {

struct Figure {
  double median = 0, low = 0, high = 0;
  int samples = 0;    // 0: not measured
  int discarded = 0;  // taken, but not believed (pages elsewhere)
  [[nodiscard]] bool known() const { return samples > 0; }
};
Figure summarize(std::vector<double> samples, int discarded = 0);
// (high - low) / median.
double spread(const Figure& figure);

// Thread counts to try for n PUs: 1 2 3 4 6 8 12 16 24 ... n. Steps grow, as one more of a hundred can't gain
// 3 %.
std::vector<int> thread_ladder(int n);
// Follows bandwidths as threads are added; done() after two steps in a row that gained less than 3 % over the
// best so far. at() is the number of threads of the last step that did gain.
class Knee {
 public:
  void add(int threads, double bandwidth);
  [[nodiscard]] bool done() const { return flat_ >= 2; }
  [[nodiscard]] int at() const { return at_; }

 private:
  double best_ = 0;
  int at_ = 0, flat_ = 0;
};

// The use of one node's memory: a region for the chase and one slice for each thread that streams from it.
struct Sizes {
  std::uint64_t slice = 0, chase = 0;  // multiples of 64 KiB
  bool reduced = false;                // below 4 x llc
  [[nodiscard]] std::uint64_t total(int threads) const {
    return chase + slice * static_cast<std::uint64_t>(threads);
  }
};
// 4 x llc for each, less when `available` is short; slices and chase 0 when not even 64 KiB each are there.
Sizes fit_sizes(std::uint64_t llc, int threads, std::uint64_t available);

// Working-set sizes from 4 KiB to `largest` in `steps_per_octave` steps, each level's own size taken at half
// of it.
struct WorkingSet {
  std::uint64_t bytes = 0;
  std::string level;
};
std::vector<WorkingSet> working_sets(const std::vector<std::pair<std::string, std::uint64_t>>& caches,
                                     std::uint64_t largest, int steps_per_octave);

// Pairs of 0..n-1: all of them when at most `most`, else a sample spread evenly over all (same answer every
// time).
std::vector<std::pair<int, int>> pick_pairs(int n, std::size_t most);

// The longest duration of one sample when `samples` of them must fit in `seconds`, each costing `overhead`
// besides.
double sample_seconds(double seconds, std::size_t samples, double overhead, double least, double most);

// A measured matrix against what was known before. `better_high`: bandwidth (or a HMAT bandwidth), else
// latencies and SLIT distances. Entries without samples, or 0 in the reference, are not compared.
struct CrossCheck {
  const std::vector<int>& nodes;        // OS numbers, in the order of rows and columns
  const std::vector<Figure>& measured;  // row major
  bool measured_better_high = true;
  const std::vector<double>& reference;
  bool reference_better_high = false;
  std::string what;  // "SLIT", "HMAT bandwidth"
};
// One sentence each, worst first: the reference says nearer but it is measurably (ranges apart, more than 5
// %) slower; the reference says equal but they differ by more than 20 %.
std::vector<std::string> contradictions(const CrossCheck& check, std::size_t most = 12);
// Spearman's rank correlation of the two over the remote entries, from -1 (opposite) to 1 (same order), where
// nearer ranks first in both. Not a number with fewer than three entries or all equal.
double rank_agreement(const CrossCheck& check);

}  // namespace nigh::probe
