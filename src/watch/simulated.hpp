// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A machine that is not there: applications of known demand on the link model, sighted as a meter would and
// moved as a mover would, second by second. `nigh watch --demo` shows the service on it, and the governor's
// tests run on it. What it shows is a prediction and is called so.
#pragma once

#include <vector>

#include "watch/governor.hpp"

namespace nigh::watch {

class SimulatedWorld {
 public:
  SimulatedWorld(Links links, std::vector<Application> applications);
  // A second (or so) passes: work is done at the predicted speed, pages under way arrive.
  void pass(double seconds);
  [[nodiscard]] Sighting sighting() const;
  void apply(const Action& action);
  // Megabytes a second that lazily moved pages are touched, and that live and frozen moves reach.
  double lazy_rate = 20, move_rate = 3000;
  // True if pages follow their threads as they are touched; false: programs that touch little of their
  // memory.
  bool touched = true;
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  [[nodiscard]] std::vector<Forecast> forecasts() const;
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] double work(std::size_t unit) const { return work_[unit]; }  // units of work done

 private:
  struct Transfer {
    std::size_t unit;
    Application goal;
    double rate;  // MB/s
  };
  Links links_;
  std::vector<Unit> units_;
  std::vector<double> work_;
  std::vector<Transfer> transfers_;
  double time_ = 0;
};

}  // namespace nigh::watch
