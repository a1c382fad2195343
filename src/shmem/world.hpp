// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The whole job, as a PE learns it from an MPI launcher's environment: its number, the number of PEs, and the
// MPI that started it. The space knows only the ranks of this node; a job is larger when these say so.
#pragma once

namespace nigh::shmem {

struct World {
  int rank = -1;
  int size = 0;
  const char* mpi = "";  // "openmpi", "mpich", or "" where the launcher serves both (Slurm)
};

// The value of an environment variable, or nullptr.
using Lookup = const char* (*)(const char* name, void* context);

// False: no MPI launcher, or numbers that make no sense. `nigh run -n` is none: its jobs stay on one node.
bool find_world(Lookup lookup, void* context, World& world);

// For tests (NIGH_MPI_FAKE_NODES=k): PEs 0 .. n/k-1 on the first of k pretended nodes, and so on; 0 without.
int pretended_node(Lookup lookup, void* context, const World& world);

}  // namespace nigh::shmem
