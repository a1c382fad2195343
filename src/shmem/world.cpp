// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/world.hpp"

#include <cstdlib>

#include "sys/launchers.hpp"

namespace nigh::shmem {

namespace {

// A whole number; -1: not there, or not one.
long number(Lookup lookup, void* context, const char* name) {
  const char* text = lookup(name, context);
  if (!text || !*text) return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return !*end && value >= 0 && value <= 100'000'000 ? value : -1;
}

}  // namespace

bool find_world(Lookup lookup, void* context, World& world) {
  if (lookup("NIGH_RANK", context)) return false;
  // A script of a Slurm job that is no step has numbers of its own, which count nothing that was started.
  for (const sys::LauncherVariables& one : sys::launcher_variables) {
    if (!one.rank) continue;
    const long rank = number(lookup, context, one.rank), size = number(lookup, context, one.size);
    if (rank < 0 || size < 1 || rank >= size) continue;
    world = {static_cast<int>(rank), static_cast<int>(size), one.mpi};
    return true;
  }
  return false;
}

int pretended_node(Lookup lookup, void* context, const World& world) {
  const long nodes = number(lookup, context, "NIGH_MPI_FAKE_NODES");
  return nodes > 1 && world.size > 0 ? static_cast<int>(world.rank * nodes / world.size) : 0;
}

}  // namespace nigh::shmem
