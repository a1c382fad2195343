// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The length of a sample follows from the time that is left, the samples that are left and what a sample has
// cost besides its length so far. On an emulated machine that cost dominates, on a real one it is nothing.
#include "machine/probe_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nigh::probe {

namespace {
constexpr int most_failures = 5;  // in a trial, before it is given up
constexpr double noisy = 0.3;
}  // namespace

Figure Trial::figure(std::size_t value) const {
  return value < series.size() ? summarize(series[value], discarded) : summarize({}, discarded);
}

bool Rounds::begin(const std::string& name, std::size_t planned) {
  ahead_ -= std::min(ahead_, phase_left_);
  phase_left_ = planned;
  phase_ = name;
  if (planned > 0 && elapsed() > pace_.budget) {
    skipped_.push_back(name);
    return false;
  }
  report();
  return planned > 0;
}

void Rounds::report() {
  if (!options_.progress) return;
  double each = taken_ > 0 ? sample_total_ / static_cast<double>(taken_) : pace_.most;
  double left = each * static_cast<double>(ahead_);
  double done = static_cast<double>(taken_) / static_cast<double>(std::max<std::size_t>(taken_ + ahead_, 1));
  options_.progress(phase_, done, left);
}

Result<void> Rounds::sample(Trial& trial) {
  if (options_.cancel != nullptr && options_.cancel->load())
    return fail(Errc::internal, "interrupted, nothing was stored");
  double begin = lab_.now();
  double overhead = taken_ > 0 ? (sample_total_ - box_total_) / static_cast<double>(taken_) : 0;
  double box =
      sample_seconds(started_ + 0.95 * pace_.budget - begin, ahead_, overhead, pace_.least, pace_.most);
  auto values = trial.take(box);
  box_total_ += box;
  sample_total_ += lab_.now() - begin;
  ++taken_;
  if (phase_left_ > 0) --phase_left_, --ahead_;
  if (values) {
    trial.series.resize(std::max(trial.series.size(), values->size()));
    for (std::size_t i = 0; i < values->size(); ++i) trial.series[i].push_back((*values)[i]);
  } else {
    ++trial.discarded;
    ++discarded_[values.error().message];
  }
  report();
  return {};
}

Result<void> Rounds::take(std::vector<Trial>& trials, bool in_turn) {
  auto size = [](const Trial& t) { return t.series.empty() ? 0 : static_cast<int>(t.series[0].size()); };
  auto wants = [&](const Trial& t) {
    if (t.discarded >= most_failures) return false;
    return size(t) < pace_.samples || (size(t) < pace_.most_samples && spread(t.figure()) > pace_.wide);
  };
  std::size_t step = in_turn ? trials.size() : 1;
  for (std::size_t first = 0; first < trials.size(); first += step)
    for (bool again = true; again && !overrun();) {
      again = false;
      for (std::size_t i = first; i < first + step && !overrun(); ++i) {
        // Extra samples are a luxury of those who have the time.
        if (!wants(trials[i]) || (size(trials[i]) >= pace_.samples && elapsed() > pace_.budget)) continue;
        if (auto done = sample(trials[i]); !done) return done;
        again = true;
      }
    }
  for (Trial& trial : trials) {
    if (size(trial) < pace_.samples) {
      ++dropped_;
      trial.series.clear();
      continue;
    }
    ++figures_;
    if (spread(trial.figure()) > noisy) ++wide_;
  }
  return {};
}

std::vector<std::string> Rounds::notes() const {
  std::vector<std::string> out;
  for (const auto& [reason, times] : discarded_)
    out.push_back(fmt::format("{} samples discarded: {}", times, reason));
  if (dropped_ > 0)
    out.push_back(fmt::format("{} figures are missing: fewer than {} good samples in the time there was",
                              dropped_, pace_.samples));
  if (!skipped_.empty())
    out.push_back(fmt::format("the {:.0f} s there were did not suffice for: {}", pace_.budget,
                              fmt::join(skipped_, ", ")));
  if (wide_ > 0)
    out.push_back(
        fmt::format("{} of {} figures vary by more than {:.0f} % between samples: the machine was not quiet",
                    wide_, figures_, noisy * 100));
  return out;
}

}  // namespace nigh::probe
