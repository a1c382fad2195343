// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI library itself: real().Send(...) is its PMPI_Send, looked up in the library and nowhere else, so
// that no tool and no interposer (we neither) comes between. Functions that this mpi.h has and the loaded
// library has not are nullptr; a program that was linked to it can't have called them. NIGH_MPI_HAS_x tells
// what this mpi.h has.
#pragma once

#include <mpi.h>

#include <mpi_has.h>  // made by CMake: NIGH_MPI_HAS_x for every name of functions.inc that mpi.h declares
#include "mpi/functions.hpp"

namespace nigh::mpi {

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a name
struct Library {
#define NIGH_MPI(part, name) decltype(&PMPI_##name) name = nullptr;
#define NIGH_MPI_USED(name) decltype(&PMPI_##name) name = nullptr;
#include <mpi_functions.inc>  // functions.inc without what this mpi.h lacks
};
// NOLINTEND(bugprone-macro-parentheses)

extern Library g_library;
inline const Library& real() { return g_library; }

// Fills g_library from the library `handle` (of dlopen); the name of a function that every half needs and the
// library lacks, or nullptr.
const char* load_library(void* handle);

}  // namespace nigh::mpi
