// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/mpi_library.hpp"

#include <dlfcn.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace nigh::sys {

namespace {

// Not by a function that our own interposer (libnigh-mpi.so) has, too: it brings no MPI.
const char* loaded_mpi() {
  if (!dlsym(RTLD_DEFAULT, "MPI_Initialized")) return "";
  return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
}

// NIGH_SHMEM_MPI_LIBRARY for "shmem" and "_MPI_LIBRARY".
struct Variable {
  Variable(const char* room, const char* rest) {
    std::snprintf(name, sizeof name, "NIGH_%s%s", room, rest);
    for (char* c = name; *c; ++c) *c = static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  [[nodiscard]] const char* value() const { return std::getenv(name); }
  char name[64];
};

// Under the names by which distributions and vendors install it; its symbols become global.
bool open_library(const char* room, const char* mpi, char* why, std::size_t bytes) {
  const bool open = std::strcmp(mpi, "openmpi") == 0;
  const Variable variable(room, "_MPI_LIBRARY");
  const char* const wish = variable.value();
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
  std::snprintf(why, bytes, "no library of %s was found (%s); %s names the file", open ? "Open MPI" : "MPICH",
                wish ? wish : first, variable.name);
  return false;
}

}  // namespace

void* open_by_mpi(const char* room, const char* launcher, const void* beside, char* why, std::size_t bytes) {
  const Variable variable(room, "_MPI");
  const char *const wish = variable.value(), *const loaded = loaded_mpi();
  const char* mpi = *loaded ? loaded : wish ? wish : launcher;
  if (std::strcmp(mpi, "openmpi") != 0 && std::strcmp(mpi, "mpich") != 0) {
    if (mpi == wish)
      std::snprintf(why, bytes, "%s is '%s': it may be openmpi or mpich", variable.name, wish);
    else
      std::snprintf(
          why, bytes,
          "no launcher (mpirun, srun) says by which MPI to reach the others; %s=openmpi or mpich does",
          variable.name);
    return nullptr;
  }
  if (!*loaded && !open_library(room, mpi, why, bytes)) return nullptr;
  Dl_info here;
  const char* slash = nullptr;
  if (dladdr(beside, &here) && here.dli_fname) slash = std::strrchr(here.dli_fname, '/');
  const int folder = slash ? static_cast<int>(slash - here.dli_fname) + 1 : 0;
  char path[4096];
  std::snprintf(path, sizeof path, "%.*slibnigh-%s-%s.so", folder, slash ? here.dli_fname : "", room, mpi);
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) std::snprintf(why, bytes, "the transport for this MPI can't be loaded (%s)", dlerror());
  return library;
}

}  // namespace nigh::sys
