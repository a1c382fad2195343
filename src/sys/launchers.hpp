// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The one list of what launchers of ranks leave in the environment, for all who read it: the space, the MPI
// front, the OpenMP library, shmem, chare. Inline and plain C at heart, since some of them have no C++
// library.
//
// Launchers nest, and the innermost must be believed: `mpirun` may run under srun, or in a rank of `nigh run
// -n`, which for that reason takes the others' variables away from its ranks. So Slurm, which is never
// inside, comes last.
#pragma once

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace nigh::sys {

struct LauncherVariables {
  const char* name;                     // for people
  const char *local_rank, *local_size;  // among the ranks of this node; null: see slurm_local_size
  const char *rank, *size;              // in the job; null: it has none, or another's beside its own
  const char* mpi;                      // "openmpi", "mpich"; "": it serves several
};

inline constexpr LauncherVariables launcher_variables[] = {
    {"Open MPI", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE", "openmpi"},
    {"MPICH", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_RANK", "PMI_SIZE", "mpich"},
    {"PALS", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", nullptr, nullptr, ""},
    {"nigh", "NIGH_RANK", "NIGH_SIZE", nullptr, nullptr, ""},
    {"Slurm", "SLURM_LOCALID", nullptr, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""}};
inline constexpr const LauncherVariables& own_launcher = launcher_variables[3];

// The value of an environment variable, or nullptr.
using Lookup = const char* (*)(const char* name, void* context);
inline const char* lookup_variable(const char* name, void*) { return std::getenv(name); }

// A whole number of the environment; -1: not there, or not one.
inline int launcher_number(Lookup lookup, void* context, const char* name) {
  const char* text = lookup(name, context);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= 1'000'000 ? static_cast<int>(value) : -1;
}

// Entry `index` of Slurm's list of numbers for each node, "4(x2),3" is 4, 4, 3; 0: there is none.
inline int slurm_entry(const char* list, int index) {
  for (const char* at = list; *at != '\0';) {
    char* end = nullptr;
    long value = std::strtol(at, &end, 10), repeat = 1;
    if (end == at || value <= 0 || value > 1'000'000) return 0;
    if (end[0] == '(' && end[1] == 'x') {
      repeat = std::strtol(end + 2, &end, 10);
      if (*end != ')' || repeat <= 0 || repeat > 1'000'000) return 0;
      ++end;
    }
    if (index < repeat) return static_cast<int>(value);
    index -= static_cast<int>(repeat);
    if (*end != ',') return 0;
    at = end + 1;
  }
  return 0;
}

inline int slurm_local_size(Lookup lookup, void* context) {
  for (const char* list : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    const char* text = lookup(list, context);
    const int node = launcher_number(lookup, context, "SLURM_NODEID");
    if (text != nullptr && node >= 0)
      if (const int size = slurm_entry(text, node); size > 0) return size;
  }
  return launcher_number(lookup, context, "SLURM_NTASKS_PER_NODE");
}

struct LocalSeat {
  int rank = -1, size = 0;                      // among the ranks of this node
  const LauncherVariables* launcher = nullptr;  // that says so
};

// False: no launcher that we know, or numbers that make no sense.
inline bool find_local_seat(Lookup lookup, void* context, LocalSeat& seat) {
  for (const LauncherVariables& one : launcher_variables) {
    const int rank = launcher_number(lookup, context, one.local_rank);
    const int size = one.local_size != nullptr ? launcher_number(lookup, context, one.local_size)
                                               : slurm_local_size(lookup, context);
    if (size < 1 || rank < 0 || rank >= size) continue;
    seat = {rank, size, &one};
    return true;
  }
  return false;
}

// True if this process is to speak for the ranks of its node: the first of them, or no rank at all.
inline bool speaks_for_node(Lookup lookup, void* context) {
  for (const LauncherVariables& one : launcher_variables)
    if (const char* value = lookup(one.local_rank, context)) return std::strcmp(value, "0") == 0;
  return true;
}

}  // namespace nigh::sys
