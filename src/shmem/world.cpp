// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/world.hpp"

#include "sys/launchers.hpp"
#include "sys/variables.hpp"

namespace nigh::shmem {

bool find_world(Lookup lookup, void* context, World& world) {
  if (lookup("NIGH_RANK", context)) return false;
  // A script of a Slurm job that is no step has numbers of its own, which count nothing that was started.
  for (const sys::LauncherVariables& one : sys::launcher_variables) {
    if (!one.rank) continue;
    const int rank = sys::launcher_number(lookup, context, one.rank),
              size = sys::launcher_number(lookup, context, one.size);
    if (rank < 0 || size < 1 || rank >= size) continue;
    world = {rank, size, one.mpi};
    return true;
  }
  return false;
}

int pretended_node(Lookup lookup, void* context, const World& world) {
  const long nodes = sys::pretended_nodes(lookup, context);
  return nodes > 1 && world.size > 0 ? static_cast<int>(world.rank * nodes / world.size) : 0;
}

}  // namespace nigh::shmem
