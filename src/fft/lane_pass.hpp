// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A pass whose panels are as many lines as vectors have lanes (lanes.hpp). Lines that are next to each other
// are copied into slots, since two of them a power of two apart share few places of a cache, and go from the
// registers to where they belong; rows are turned into the slots and out of them.
#pragma once

#include "fft/lanes.hpp"
#include "fft/pass.hpp"

namespace nigh::fft {

// The share of thread `part` of `parts`. Throws bad_alloc.
void run_lanes(const Pass& pass, int part, int parts);

}  // namespace nigh::fft
