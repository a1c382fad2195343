// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The variables that make an OpenMP runtime bind threads by itself. libgomp reads them when it is loaded,
// libomp when it is first used, so a program may also set them itself, as Python does in front of an import:
// where a plan is wanted they are taken away again, or what the runtime does because of them is.
#pragma once

#include <array>

namespace nigh::openmp {

inline constexpr std::array pins = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};

}  // namespace nigh::openmp

namespace nigh::preload {

// For a runtime that is about to read the environment: takes the variables away if a plan is wanted and the
// user did not ask to keep them; what the calling thread may use is noted if they stay.
void runtime_arrives();

// A runtime binds the calling thread by itself: whether the call is to be left out, since the plan binds.
// What the thread may use is noted if it is not.
bool leave_out_pin();

}  // namespace nigh::preload
