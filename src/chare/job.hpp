// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ways a job begins.
#pragma once

#include "chare/cluster.hpp"
#include "nigh/chare/core.hpp"
#include "space/common_range.hpp"
#include "sys/places.hpp"

namespace nigh::chare {

inline constexpr int most_pes = 4096;
enum class Mode { automatic, threads, processes, shm, mpi };  // as chare.hpp has it

// The status of the job.
int run_threads(core::Settings settings, const sys::Places& places, space::CommonRange& range,
                Cluster* cluster, void (*main)(void*), void* argument);
// Forks, a PE each; returns in the first.
int run_forked(const core::Settings& settings, void (*main)(void*), void* argument);
int run_by_mpi(const core::Settings& settings, void (*main)(void*), void* argument);
// The number of processes that mpirun or srun has started, by the environment; 0: it was neither.
int started_by_mpi();
// More than those of this node, which are so many; or that is pretended (NIGH_MPI_FAKE_NODES).
bool spans_nodes(int here);

}  // namespace nigh::chare
