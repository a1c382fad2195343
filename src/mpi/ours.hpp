// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that a half may define in place of MPI's: nigh_mpi_Send for MPI_Send, of the same type.
// Defining one is all it takes (half.cpp looks for each weakly); a function that is not defined is the
// library's own and costs a jump. They are called between the end of MPI_Init and the start of MPI_Finalize
// only, on ranks that share a space with at least one other, and those of a part that is switched off are
// never called.
#pragma once

#include "mpi/library.hpp"

extern "C" {
#define NIGH_MPI(part, name, ...) decltype(PMPI_##name) nigh_mpi_##name;
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"
}
