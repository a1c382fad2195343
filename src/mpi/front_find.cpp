// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The search for the program's MPI library. Linked the usual way it is the next in the search order; loaded
// late and privately (python's mpi4py, plug-ins) only a walk through all loaded objects finds it. It is known
// by the symbols that it defines, since its file may be called anything.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>

#include "mpi/front.hpp"
#include "sys/loaded_file.hpp"

namespace nigh::mpi {
namespace {

// Its symbols become global, as when the program is linked to it: those of a half are resolved there.
void* promote(const char* path) {
  return path ? dlopen(path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY) : nullptr;
}

const char* path_of(void* symbol) { return symbol ? sys::loaded_file(symbol).path : nullptr; }

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
  const size_t bytes = object->dlpi_name ? strlen(object->dlpi_name) + 1 : 0;
  if (bytes > 0 && bytes <= sizeof at.path) memcpy(at.path, object->dlpi_name, bytes);
  return 1;
}

// The handle of the object when it defines PMPI_Init itself (dlsym also looks into what it needs), and is not
// us.
void* defines_mpi(const char* path) {
  void* handle = *path ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
  if (!handle) return nullptr;
  void* init = dlsym(handle, "PMPI_Init");
  const sys::LoadedFile its = sys::loaded_file(init);
  const sys::LoadedFile ours = sys::loaded_file(reinterpret_cast<void*>(&defines_mpi));
  if (init && its.path && strcmp(its.path, path) == 0 && its.base != ours.base) return handle;
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

// MPI 5.0, 20.2: 1.x where the library has the standard ABI, -1 where it has its own; callable at any time.
bool has_standard_abi(void* library) {
  using AbiVersion = int (*)(int*, int*);
  auto ask = reinterpret_cast<AbiVersion>(dlsym(library, "PMPI_Abi_get_version"));
  int major = -1;
  int minor = -1;
  return ask && ask(&major, &minor) == 0 && major == 1;
}

const char* kind_of(void* library) {
  if (has_standard_abi(library)) return "standard";
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

// The loader maps what the headers promise and touches it: a file cut short ends the process by a signal.
bool is_whole(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat file{};
  ElfW(Ehdr) header;
  ElfW(Phdr) parts[32];
  bool whole = fstat(fd, &file) == 0 && pread(fd, &header, sizeof header, 0) == sizeof header &&
               memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof parts[0] &&
               header.e_phnum <= 32;
  const auto bytes = whole ? static_cast<ssize_t>(header.e_phnum * sizeof parts[0]) : 0;
  whole = whole && pread(fd, parts, static_cast<size_t>(bytes), static_cast<off_t>(header.e_phoff)) == bytes;
  for (int i = 0; whole && i < header.e_phnum; ++i)
    whole = parts[i].p_offset + parts[i].p_filesz <= static_cast<size_t>(file.st_size);
  close(fd);
  return whole;
}

Found find_library() {
  Found found;
  found.path = path_of(dlsym(RTLD_NEXT, "PMPI_Init"));
  found.handle = promote(found.path);
  if (!found.handle) found = walk();
  if (found.handle) found.half = kind_of(found.handle);
  return found;
}

}  // namespace nigh::mpi
