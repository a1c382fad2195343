// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Which MPI library the program uses. Linked the usual way it is the next in the search order; loaded late
// and privately (python's mpi4py, plug-ins) only a walk through all loaded objects finds it. It is known by
// the symbols that it defines, since its file may be called anything.
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <initializer_list>

#include "mpi/front.hpp"

namespace nigh::mpi {
namespace {

// Its symbols become global, as when the program is linked to it: those of a half are resolved there.
void* promote(const char* path) {
  return path ? dlopen(path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY) : nullptr;
}

const char* path_of(void* symbol) {
  Dl_info info;
  return symbol && dladdr(symbol, &info) ? info.dli_fname : nullptr;
}

// The path of loaded object number `left`; copied out, since a library must not be opened while the loader's
// list is locked.
struct Step {
  int left;
  char path[4096];
};

int step(dl_phdr_info* object, size_t, void* data) {
  auto& at = *static_cast<Step*>(data);
  if (at.left-- > 0) return 0;
  at.path[0] = '\0';
  if (object->dlpi_name && strlen(object->dlpi_name) < sizeof at.path) strcpy(at.path, object->dlpi_name);
  return 1;
}

// The handle of the object when it defines PMPI_Init itself (dlsym also looks into what it needs), and is not
// us.
void* defines_mpi(const char* path) {
  void* handle = *path ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
  if (!handle) return nullptr;
  Dl_info info;
  Dl_info self;
  void* init = dlsym(handle, "PMPI_Init");
  if (init && dladdr(init, &info) && strcmp(info.dli_fname, path) == 0 &&
      dladdr(reinterpret_cast<void*>(&defines_mpi), &self) && self.dli_fbase != info.dli_fbase)
    return handle;
  dlclose(handle);
  return nullptr;
}

Found walk() {
  static Step at;  // once a process
  for (int i = 0;; ++i) {
    at.left = i;
    if (dl_iterate_phdr(step, &at) == 0) return {};
    if (void* handle = defines_mpi(at.path)) {
      promote(at.path);
      return {handle, at.path, nullptr};
    }
  }
}

const char* kind_of(void* library) {
  if (dlsym(library, "ompi_mpi_comm_world")) return "openmpi";
  using Version = int (*)(char*, int*);
  auto version = reinterpret_cast<Version>(dlsym(library, "PMPI_Get_library_version"));
  if (!version) return nullptr;
  char text[8192] = {};  // MPI_MAX_LIBRARY_VERSION_STRING of MPICH
  int length = 0;
  version(text, &length);  // the standard allows it before MPI_Init
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI"})
    if (strstr(text, name)) return "mpich";  // one ABI, by agreement
  return nullptr;
}

}  // namespace

Found find_library() {
  Found found;
  found.path = path_of(dlsym(RTLD_NEXT, "PMPI_Init"));
  found.handle = promote(found.path);
  if (!found.handle) found = walk();
  if (found.handle) found.half = kind_of(found.handle);
  return found;
}

}  // namespace nigh::mpi
