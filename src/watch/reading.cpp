// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/reading.hpp"

namespace nigh::watch {

const char* level_name(Level level) {
  switch (level) {
    case Level::pmu: return "pmu";
    case Level::faults: return "faults";
    case Level::proc: return "proc";
    case Level::none: return "none";
  }
  return "none";
}

double confidence_of(double most, double samples, double lost, double unplaced) {
  constexpr double half = 200;
  return samples > 0
             ? most * samples / (samples + half) * samples / (samples + lost) * (samples - unplaced) / samples
             : 0;
}

}  // namespace nigh::watch
