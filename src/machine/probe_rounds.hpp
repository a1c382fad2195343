// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Taking samples: rounds over a set of trials within a time budget, with progress, cancellation and an
// account of what was discarded. Kept apart from the programme, which only says what the trials are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "machine/probe_run.hpp"

namespace nigh::probe {

// One thing measured several times; one sample may give several values (a rate per link).
struct Trial {
  std::function<Result<std::vector<double>>(double seconds)> take;
  std::vector<std::vector<double>> series;  // by value, then by sample
  int discarded = 0;
  [[nodiscard]] Figure figure(std::size_t value = 0) const;
};

class Rounds {
 public:
  Rounds(Lab& lab, const Pace& pace, const ProbeOptions& options, double started)
      : lab_(lab), pace_(pace), options_(options), started_(started) {}
  void plan(std::size_t samples) { ahead_ += samples; }
  // Begins a phase; false when the budget is spent (the phase is then named in the notes). `planned` samples
  // leave the plan with it.
  bool begin(const std::string& name, std::size_t planned);
  // Takes samples of all trials in turn, or (in_turn = false) of one after the other. Trials that get no full
  // set in time or fail again and again are left without figures.
  Result<void> take(std::vector<Trial>& trials, bool in_turn = true);
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] double elapsed() { return lab_.now() - started_; }

 private:
  Result<void> sample(Trial& trial);
  void report();
  [[nodiscard]] bool overrun() { return elapsed() > 1.5 * pace_.budget; }

  Lab& lab_;
  const Pace& pace_;
  const ProbeOptions& options_;
  double started_;
  std::string phase_;
  std::size_t ahead_ = 0;  // samples of this phase and those to come
  std::size_t phase_left_ = 0, taken_ = 0;
  double box_total_ = 0, sample_total_ = 0;
  std::vector<std::string> skipped_;
  std::map<std::string, int> discarded_;  // reason, how often
  int dropped_ = 0, figures_ = 0, wide_ = 0;
};

}  // namespace nigh::probe
