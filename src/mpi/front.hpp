// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The interface between the front (libnigh-mpi.so, preloaded, knows no mpi.h) and a half
// (libnigh-mpi-openmpi.so, -mpich.so or -standard.so, loaded by it when it has seen which library the program
// uses). Both come from one build; the version catches an installation that is not of one piece.
#pragma once

#include <cstdint>

#include "mpi/functions.hpp"
#include "space/process_space.hpp"

namespace nigh::mpi {

inline constexpr std::uint32_t front_version = 2;

struct Front {
  std::uint32_t version = front_version;
  std::uint32_t functions = function_count;
  void* library = nullptr;  // dlopen's handle of the MPI library, its symbols now global
  const char* library_path = nullptr;
  const Entry* own = nullptr;  // its PMPI functions, in the order of functions.inc; nullptr: it lacks it
  const char* half = nullptr;  // which one was meant
  // From now on calls of `function` go to `ours`, or to the library's own when that is nullptr.
  void (*cover)(Function function, Entry ours) = nullptr;
  // nullptr: there is no space in this process.
  space::ProcessSpace* (*space)(std::uint32_t version) = nullptr;
};

// The one function that a half exports. nullptr: it works; else one sentence that says why it does not.
using HalfEntry = const char* (*)(const Front* front);
inline constexpr const char* half_entry_name = "nigh_mpi_half";

// --- within the front ---
struct Found {
  void* handle = nullptr;  // nullptr: no MPI library is loaded
  const char* path = nullptr;
  const char* half = nullptr;  // "openmpi", "mpich", "standard", or nullptr: a library of another ABI
};
// The MPI library of this process, whatever its file is called and however it was loaded; promotes its
// symbols to global ones, which a half needs.
Found find_library();
// Makes weak references null that are bound to us and would be to nobody without us, in all objects that are
// loaded. `library`: dlopen's handle of the MPI library; nullptr: there is none yet.
void clear_weak_references(void* library);
// True if the shared object is there and not cut short.
bool is_whole(const char* path);

}  // namespace nigh::mpi
