// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Code that reaches other nodes by MPI is built once for each MPI's ABI, as a library of its own that is
// opened only when it is needed, and linked to no MPI: the one that the program brought decides, else that of
// the launcher.
#pragma once

#include <cstddef>

namespace nigh::sys {

// libnigh-ROOM-MPI.so, from the folder of the library that `beside` lies in, with an MPI whose symbols it
// finds. `launcher`: "openmpi", "mpich", or "" where it does not say. NIGH_<ROOM>_MPI says it, too, and
// NIGH_<ROOM>_MPI_LIBRARY names MPI's own file. nullptr, and why: there is none.
void* open_by_mpi(const char* room, const char* launcher, const void* beside, char* why, std::size_t bytes);

}  // namespace nigh::sys
