// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The table behind the stubs. The first MPI call of a process, whichever it is, finds the library that the
// program brought, fills the slots with the library's own PMPI functions, and loads the half that fits; the
// half then covers what it wants (cover()). Whatever goes wrong on the way leaves the library's own functions
// in the slots.
//
// Both names are exported. PMPI_X too, because Open MPI's Fortran bindings, MPICH's f08 bindings and every
// PMPI tool end there. Where the program brought a tool that defines MPI_X itself, MPI_X is the tool's and
// PMPI_X is ours, so that the tool sees all calls, and we see what it makes of them.
#include "mpi/front.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "sys/launchers.hpp"
#include "sys/loaded_file.hpp"
#include "sys/raw.h"
#include "sys/variables.hpp"

extern "C" {
extern void* nigh_mpi_slots[];  // stubs.S: {MPI_X, PMPI_X} for each function
__attribute__((visibility("hidden"))) void* nigh_mpi_resolve(void** slot);
// Also where this library was built without a space.
__attribute__((weak)) nigh::space::ProcessSpace* nigh_space_object(std::uint32_t version);
}

namespace nigh::mpi {
namespace {

Entry g_own[function_count];   // the library's PMPI functions
Entry g_tool[function_count];  // MPI functions that the program's tool owns
Front g_front;
pthread_once_t g_once = PTHREAD_ONCE_INIT;
Found g_found;

void put(void** slot, Entry entry) {
  __atomic_store_n(slot, reinterpret_cast<void*>(entry), __ATOMIC_RELEASE);
}

void cover(Function function, Entry ours) {
  const auto i = static_cast<size_t>(function);
  if (!g_own[i]) return;  // stays with the resolver, which says what is missing
  Entry entry = ours ? ours : g_own[i];
  put(&nigh_mpi_slots[2 * i + 1], entry);
  put(&nigh_mpi_slots[2 * i], g_tool[i] ? g_tool[i] : entry);
}

space::ProcessSpace* space_object(std::uint32_t version) {
  return nigh_space_object ? nigh_space_object(version) : nullptr;
}

// The first rank of a node speaks for all: they all have the same installation.
bool speaks() { return sys::speaks_for_node(sys::lookup_variable, nullptr); }

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  char line[4400];
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (length > 0)
    nigh_raw_say(2, line,
                 static_cast<size_t>(length) < sizeof line ? static_cast<size_t>(length) : sizeof line - 1);
}

// A library may keep MPI_X and PMPI_X in two files, libmpi.so and libpmpi.so of one folder.
bool is_beside(void* symbol, const char* library_path) {
  const char* path = sys::loaded_file(symbol).path;
  if (!path) return false;
  const char* file = strrchr(path, '/');
  const char* end = strrchr(library_path, '/');
  return file && end && file - path == end - library_path &&
         strncmp(path, library_path, static_cast<size_t>(end - library_path)) == 0 &&
         (strncmp(file, "/libmpi.", 8) == 0 || strncmp(file, "/libmpi_abi.", 12) == 0);
}

// A definition of MPI_X behind us that is not the library's is a tool's: it was linked to the program or
// preloaded after us. In most libraries MPI_X is another name of PMPI_X, `own`.
Entry tool_of(const char* name, Entry own, void* library, const char* library_path) {
  void* next = dlsym(RTLD_NEXT, name);
  const bool is_librarys = !next || next == reinterpret_cast<void*>(own) || next == dlsym(library, name);
  return is_librarys || is_beside(next, library_path) ? nullptr : reinterpret_cast<Entry>(next);
}

Entry own_of(void* library, int function) {
  char name[96];
  snprintf(name, sizeof name, "P%s", function_names[function]);
  return reinterpret_cast<Entry>(dlsym(library, name));
}

// A search in vain goes through all that the library needs, and most libraries have no function of large
// counts: where one is missing, the others are looked up when they are called (nigh_mpi_resolve).
void fill(void* library, const char* library_path) {
  const bool counts = own_of(library, static_cast<int>(Function::Send_c)) != nullptr;
  for (int i = 0; i < function_count; ++i) {
    const size_t length = strlen(function_names[i]);
    if (!counts && strcmp(function_names[i] + length - 2, "_c") == 0) continue;
    g_own[i] = own_of(library, i);
    if (g_own[i]) g_tool[i] = tool_of(function_names[i], g_own[i], library, library_path);
    cover(static_cast<Function>(i), nullptr);
  }
}

// The half lies beside us.
bool half_path(const char* half, char* path, size_t bytes) {
  const char* ours = sys::loaded_file(reinterpret_cast<void*>(&half_path)).path;
  if (!ours) return false;
  const char* slash = strrchr(ours, '/');
  const int folder = slash ? static_cast<int>(slash - ours) : 1;
  const int length = snprintf(path, bytes, "%.*s/libnigh-mpi-%s.so", folder, slash ? ours : ".", half);
  return length > 0 && static_cast<size_t>(length) < bytes;
}

const char* load_half(const char* half) {
  char path[4096];
  if (!half_path(half, path, sizeof path)) return "its own folder can't be found";
  static char said[4200];
  if (!is_whole(path)) {
    snprintf(said, sizeof said, "%s is missing or damaged", path);
    return said;
  }
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return dlerror();
  auto entry = reinterpret_cast<HalfEntry>(dlsym(handle, half_entry_name));
  return entry ? entry(&g_front) : dlerror();
}

void resolve_all() {
  const Found found = g_found = find_library();
  if (!found.handle) return;
  fill(found.handle, found.path);
  clear_weak_references(found.handle);
  if (sys::is_off("NIGH_MPI") || !found.half) return;
  g_front.library = found.handle;
  g_front.library_path = found.path;
  g_front.own = g_own;
  g_front.half = found.half;
  g_front.cover = cover;
  g_front.space = space_object;
  const char* wrong = load_half(found.half);
  if (!wrong) return;
  if (speaks()) say("nigh: MPI runs as without nigh: %s\n", wrong);
  for (int i = 0; i < function_count; ++i) cover(static_cast<Function>(i), nullptr);
}

}  // namespace
}  // namespace nigh::mpi

// Called by the stub of an unresolved slot; returns the address to jump to.
void* nigh_mpi_resolve(void** slot) {
  using namespace nigh::mpi;
  pthread_once(&g_once, resolve_all);
  const auto number = (slot - nigh_mpi_slots) / 2;
  if (g_own[number]) return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  const bool tools = (slot - nigh_mpi_slots) % 2 == 0;  // MPI_X may be a tool's
  if (const Entry late = g_found.handle ? own_of(g_found.handle, static_cast<int>(number)) : nullptr) {
    const Entry tool = tools ? tool_of(function_names[number], late, g_found.handle, g_found.path) : nullptr;
    return reinterpret_cast<void*>(tool ? tool : late);
  }
  // The same end as without us: the loader would have found no such symbol.
  say("nigh: %s was called, but %s\n", function_names[number],
      g_found.handle ? "the MPI library of this program does not have it"
                     : "no MPI library is loaded in this process");
  abort();
}
