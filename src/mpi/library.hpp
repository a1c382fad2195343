// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI library itself: real().Send(...) is its PMPI_Send, looked up in the library and nowhere else, so
// that no tool and no interposer (we neither) comes between. Functions that the library lacks are nullptr and
// never covered: the program can't have called them.
#pragma once

#include <mpi.h>  // of abi/: no MPI library has to be installed where nigh is built

#include "mpi/functions.hpp"

namespace nigh::mpi {

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a name
struct Library {
#define NIGH_MPI(part, name, ...) decltype(&PMPI_##name) name = nullptr;
#define NIGH_MPI_USED(name, ...) decltype(&PMPI_##name) name = nullptr;
#include "mpi/functions.inc"
};
// NOLINTEND(bugprone-macro-parentheses)

extern Library g_library;
inline const Library& real() { return g_library; }

// The two families, where they behave differently.
#if defined(NIGH_ABI_STANDARD)
inline bool g_is_openmpi = false;  // check_abi()
inline bool is_openmpi() { return g_is_openmpi; }
#elif defined(NIGH_ABI_OPENMPI)
constexpr bool is_openmpi() { return true; }
#else
constexpr bool is_openmpi() { return false; }
#endif
inline bool g_is_intel = false;  // check_abi()
inline bool is_intel() { return g_is_intel; }

// Fills g_library from the library `handle` (of dlopen) and what the front found there (Front::own); the name
// of a function that every half needs and the library lacks, or nullptr.
const char* load_library(void* handle, const Entry* own);

}  // namespace nigh::mpi
