// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See library.hpp.
#include "mpi/library.hpp"

#include <dlfcn.h>

namespace nigh::mpi {

Library g_library;

const char* load_library(void* handle, const Entry* own) {
#define NIGH_MPI(part, name, ...) \
  g_library.name = reinterpret_cast<decltype(&PMPI_##name)>(own[static_cast<int>(Function::name)]);
#define NIGH_MPI_USED(name, ...) \
  g_library.name = reinterpret_cast<decltype(&PMPI_##name)>(dlsym(handle, "PMPI_" #name));
#include "mpi/functions.inc"
  // All libraries have the functions of MPI 3.1; later functions may be missing in an older library of the
  // same ABI.
  struct Needed {
    const char* name;
    bool there;
  };
  const Needed needed[] = {{"PMPI_Init_thread", g_library.Init_thread != nullptr},
                           {"PMPI_Finalize", g_library.Finalize != nullptr},
                           {"PMPI_Comm_create_keyval", g_library.Comm_create_keyval != nullptr},
                           {"PMPI_Improbe", g_library.Improbe != nullptr},
                           {"PMPI_Iallreduce", g_library.Iallreduce != nullptr},
                           {"PMPI_Type_get_extent_x", g_library.Type_get_extent_x != nullptr}};
  for (const Needed& one : needed)
    if (!one.there) return one.name;
  return nullptr;
}

}  // namespace nigh::mpi
