// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Which MPI carries, and where it is. The library that the program has already brought decides; else that of
// the launcher, found by the names under which distributions and vendors install it; its symbols become
// global, since the carrier is linked to none.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "shmem/away.hpp"

namespace nigh::shmem {

namespace {

const char* loaded_mpi() {
  if (!dlsym(RTLD_DEFAULT, "MPI_Init_thread")) return "";
  return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
}

bool open_library(const char* mpi, char* why, std::size_t bytes) {
  const bool open = std::strcmp(mpi, "openmpi") == 0;
  const char* wish = std::getenv("NIGH_SHMEM_MPI_LIBRARY");
  const char* first = open ? "libmpi.so.40" : "libmpich.so.12";
  const char* second = open ? "libmpi.so" : "libmpi.so.12";
  for (const char* name : {first, second}) {
    if (wish) name = wish;
    if (void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
      if ((dlsym(library, "ompi_mpi_comm_world") != nullptr) == open) return true;
      dlclose(library);
    }
    if (wish) break;
  }
  std::snprintf(why, bytes,
                "PEs run on several nodes, but no library of %s was found (%s); "
                "NIGH_SHMEM_MPI_LIBRARY names the file",
                open ? "Open MPI" : "MPICH", wish ? wish : first);
  return false;
}

void* open_carrier(const char* mpi, char* why, std::size_t bytes) {
  Dl_info here;
  char path[4096];
  const char* slash = nullptr;
  if (dladdr(reinterpret_cast<void*>(&open_away), &here) && here.dli_fname)
    slash = std::strrchr(here.dli_fname, '/');
  const int folder = slash ? static_cast<int>(slash - here.dli_fname) + 1 : 0;
  std::snprintf(path, sizeof path, "%.*slibnigh-shmem-%s.so", folder, slash ? here.dli_fname : "", mpi);
  void* carrier = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!carrier)
    std::snprintf(why, bytes, "PEs run on several nodes, but the carrier for this MPI can't be loaded (%s)",
                  dlerror());
  return carrier;
}

}  // namespace

Away* open_away(const char* mpi, char* why, std::size_t bytes) {
  const char* wish = std::getenv("NIGH_SHMEM_MPI");
  const char* loaded = loaded_mpi();
  if (*loaded)
    mpi = loaded;
  else if (wish)
    mpi = wish;
  if (std::strcmp(mpi, "openmpi") != 0 && std::strcmp(mpi, "mpich") != 0) {
    std::snprintf(why, bytes,
                  "PEs run on several nodes, and the launcher does not say by which MPI to reach them; "
                  "NIGH_SHMEM_MPI=openmpi or mpich does");
    return nullptr;
  }
  if (!*loaded && !open_library(mpi, why, bytes)) return nullptr;
  void* carrier = open_carrier(mpi, why, bytes);
  if (!carrier) return nullptr;
  auto* make = reinterpret_cast<decltype(&nigh_shmem_away)>(dlsym(carrier, "nigh_shmem_away"));
  Away* away = make ? make(away_version) : nullptr;
  if (!away) std::snprintf(why, bytes, "libnigh-shmem-%s.so is of another version of nigh", mpi);
  return away;
}

}  // namespace nigh::shmem
