// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of moving on this machine, measured at start-up with a few MiB of our own: the figure that a
// decision weighs against its gain (AsymSched took a constant, 0.3 s/GB).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::watch {

struct MoveCost {
  int from = -1, to = -1;  // the pair that was measured
  double base_gb_s = 0;    // pages of 4 KiB, in one thread, the owner not running
  double huge_gb_s = 0;    // pages of 2 MiB; 0: there were none to be had
  double spread = 0;       // (slowest - fastest) / median of the samples of base pages
  [[nodiscard]] double seconds_for(std::uint64_t bytes, bool huge) const;
  [[nodiscard]] std::string sentence() const;
};

// Moves `bytes` to and fro between two nodes that we may use, five times; about 10 ms on today's machines.
// Errors: unsupported (one node: nothing to measure), io (no room), permission.
Result<MoveCost> calibrate(const sys::Os& os, std::uint64_t bytes = std::uint64_t{8} << 20);

}  // namespace nigh::watch
