// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The door to libnigh.so. The preloaded library itself knows no topology: it is loaded into every child of
// every program, so it must cost nothing there. The planner (with hwloc and the C++ library behind it) is
// opened at the first parallel region of more than one thread, from the folder this library lies in.
#pragma once

#include <stddef.h>

#include "openmp/core.hpp"

struct nigh_place;

namespace nigh::preload {

// Makes a planner over mask; null with one sentence in err.
nigh_planner* planner_new(const char* spec, const Mask& mask, char* err, size_t errsize);
int planner_levels(const nigh_planner* planner);
int planner_size(const nigh_planner* planner, int level);
bool planner_team(const nigh_planner* planner, int root, int depth, const int* index, const int* size, int n,
                  nigh_place* out);

// The part of mask for rank `rank` of `ranks` processes that all may use it; mask itself where none can be
// had.
Mask rank_share(const Mask& mask, int rank, int ranks);

}  // namespace nigh::preload
