// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The programme of a probe: which trials, in which order, how often, and how long each may last so that all
// of them fit the time. It sees the machine only through a Lab and a Layout. Trials of one phase take their
// samples in turn (first sample of every link, second sample of every link, ...): a disturbance then touches
// all links alike.
#pragma once

#include "machine/probe.hpp"
#include "machine/probe_lab.hpp"

namespace nigh::probe {

struct Pace {
  double budget = 600;               // seconds for everything; what does not fit is left out and named
  double least = 0.02, most = 0.08;  // seconds of one sample
  int samples = 5, most_samples = 11;
  double wide = 0.1;              // spread above which more samples are taken
  std::size_t most_pairs = 2016;  // of cores
  int sizes_per_octave = 2;
  bool all_ladders = true;  // threads to the knee on remote links too
};
Pace quick_pace();
Pace full_pace();

// Fills everything but date, kernel, CPU and the cross-check. `started` is lab.now() when the budget began.
// Errors: internal with the word "interrupted" when options.cancel was set.
Result<Probe> measure(Lab& lab, const Layout& layout, const Pace& pace, const ProbeOptions& options,
                      double started);

// Compares with SLIT and HMAT: fills contradictions and adds rank agreements to the notes.
void cross_check(Probe& probe, const Machine& machine);

}  // namespace nigh::probe
