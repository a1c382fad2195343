// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The numbers of the intercepted functions, the same in the front and in all halves: slots, switches and
// counters are indexed by them.
#pragma once

namespace nigh::mpi {

using Entry = void (*)();  // a function of any type

enum class Part : int { frame, coll, p2p, hook, away, rma, count };

enum class Function : int {
#define NIGH_MPI(part, name, ...) name,
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"
  count
};
inline constexpr int function_count = static_cast<int>(Function::count);

inline constexpr const char* function_names[function_count] = {
#define NIGH_MPI(part, name, ...) "MPI_" #name,
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"
};

inline constexpr Part function_parts[function_count] = {
#define NIGH_MPI(part, name, ...) Part::part,
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"
};

}  // namespace nigh::mpi
