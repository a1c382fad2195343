// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A plan in the words of others, for where nigh can't be: OpenMP's own variables, libgomp's, likwid-pin,
// srun.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/nested.hpp"
#include "plan/spec.hpp"

namespace nigh {

// "omp": OMP_PLACES and what belongs to it; "gomp": GOMP_CPU_AFFINITY; "likwid": likwid-pin -c; "slurm": srun
// with a mask for each task, which are the threads of the outermost level.
inline constexpr const char* plan_forms[] = {"omp", "gomp", "likwid", "slurm"};

// Lines for a shell. `threads`: all of the innermost level, in order of their paths. Errors: invalid: the
// form can't say this plan (several threads on a PU; inner levels where it has one).
Result<std::string> write_as(std::string_view form, const TeamSpec& spec,
                             const std::vector<PlannedThread>& threads);

}  // namespace nigh
