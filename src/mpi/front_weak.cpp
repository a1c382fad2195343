// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Weak references to functions that nobody has but us. Code that runs with several MPI libraries asks for
// what one of them may lack by a weak reference, `if (MPI_Send_c != NULL)` (mpi4py), or for MPI itself. The
// loader binds it to our stub, which has nowhere to lead. So it becomes null, as it would be without us: at
// the start, and at the first call of MPI. Objects that are opened later keep theirs (docs/mpi.md).
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/front.hpp"
#include "sys/raw_memory.hpp"

extern "C" {
extern void* nigh_mpi_slots[];
}

namespace nigh::mpi {
namespace {

#if defined(__x86_64__)
constexpr unsigned to_table = R_X86_64_GLOB_DAT, to_word = R_X86_64_64;
#else
constexpr unsigned to_table = R_AARCH64_GLOB_DAT, to_word = R_AARCH64_ABS64;
#endif

struct Addresses {
  std::uintptr_t lo = 0, hi = 0;
  [[nodiscard]] bool has(std::uintptr_t at) const { return lo <= at && at < hi; }
};

// Neither MPI_X nor PMPI_X is defined behind us: {MPI_X, PMPI_X} of each function.
struct Absent {
  bool known = false;
  bool names[function_count][2];
  void ask(void* library);
  [[nodiscard]] bool has(const char* name) const;
};

struct Sweep {
  Addresses ours;
  Absent absent;
  bool met = false;  // a weak reference that is bound to us
};
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Sweep g_sweep;  // under it

void Absent::ask(void* library) {
  for (int i = 0; i < function_count; ++i) {
    char name[96] = "P";
    strncat(name, function_names[i], sizeof name - 2);
    for (const int tool : {0, 1}) {
      const char* its = name + 1 - tool;
      names[i][tool] =
          dlsym(RTLD_NEXT, its) == nullptr && (library == nullptr || dlsym(library, its) == nullptr);
    }
  }
  known = true;
}

bool Absent::has(const char* name) const {
  const int tool = *name == 'P' ? 1 : 0;
  for (int i = 0; i < function_count; ++i)
    if (strcmp(function_names[i], name + tool) == 0) return names[i][tool];
  return false;
}

Addresses range_of(const dl_phdr_info& object, unsigned type) {
  Addresses range{~std::uintptr_t{0}, 0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type != type) continue;
    const std::uintptr_t lo = object.dlpi_addr + part.p_vaddr, hi = lo + part.p_memsz;
    range.lo = lo < range.lo ? lo : range.lo;
    range.hi = hi > range.hi ? hi : range.hi;
  }
  return range;
}

// The relocations of a loaded object by symbols; those by its base alone come first, and are counted.
struct Relocations {
  const ElfW(Rela) * first = nullptr;
  std::size_t count = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH: its second word is the first symbol in it

  explicit Relocations(const dl_phdr_info& object) {
    const Addresses dynamic = range_of(object, PT_DYNAMIC);
    std::size_t relative = 0, bytes = 0;
    // glibc writes addresses into the table, which the kernel's own object has as offsets.
    const auto address = [&](const ElfW(Dyn) & entry) {
      return entry.d_un.d_ptr < object.dlpi_addr ? entry.d_un.d_ptr + object.dlpi_addr : entry.d_un.d_ptr;
    };
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(dynamic.lo);
         dynamic.hi != 0 && entry->d_tag != DT_NULL; ++entry)
      switch (entry->d_tag) {
        case DT_RELA: first = reinterpret_cast<const ElfW(Rela)*>(address(*entry)); break;
        case DT_RELASZ: bytes = entry->d_un.d_val; break;
        case DT_RELACOUNT: relative = entry->d_un.d_val; break;
        case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(address(*entry)); break;
        case DT_GNU_HASH: hash = reinterpret_cast<const std::uint32_t*>(address(*entry)); break;
        case DT_STRTAB: names = reinterpret_cast<const char*>(address(*entry)); break;
        default: break;
      }
    const std::size_t all = bytes / sizeof *first;
    if (first == nullptr || symbols == nullptr || names == nullptr || all < relative) return;
    first += relative;
    count = all - relative;
  }
};

// nullptr: not a weak reference to a function of MPI.
const char* weak_mpi_name(const Relocations& all, std::size_t number) {
  const ElfW(Sym)& symbol = all.symbols[number];
  if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) return nullptr;
  const char* name = all.names + symbol.st_name;
  return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 ? name : nullptr;
}

// The symbols that an object takes from others come before its own, which alone are in its hash table.
bool takes_any(const Relocations& all) {
  if (all.count == 0) return false;
  const std::uint32_t taken = all.hash != nullptr ? all.hash[1] : 0;
  for (std::size_t i = 1; i < taken; ++i)
    if (weak_mpi_name(all, i) != nullptr) return true;
  return taken <= 1;  // it has nothing, or another table: not known
}

// Tables that the loader has made read-only stay so: whole pages.
void clear(const dl_phdr_info& object, std::uintptr_t* place) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(place) & ~(page - 1);
  const Addresses fixed = range_of(object, PT_GNU_RELRO);
  const bool read_only =
      fixed.hi != 0 && (fixed.lo & ~(page - 1)) <= first && first < (fixed.hi & ~(page - 1));
  if (read_only && sys::raw_protect(first, page, PROT_READ | PROT_WRITE) != 0) return;
  *place = 0;
  if (read_only) sys::raw_protect(first, page, PROT_READ);
}

int look(dl_phdr_info* object, std::size_t, void*) {
  const Relocations all(*object);
  const bool takes = takes_any(all);
  for (std::size_t i = 0; takes && i < all.count; ++i) {
    const auto type = static_cast<unsigned>(ELF64_R_TYPE(all.first[i].r_info));
    if (type != to_table && type != to_word) continue;
    const char* name = weak_mpi_name(all, ELF64_R_SYM(all.first[i].r_info));
    if (name == nullptr) continue;
    auto* place = reinterpret_cast<std::uintptr_t*>(object->dlpi_addr + all.first[i].r_offset);
    if (!g_sweep.ours.has(*place)) continue;
    g_sweep.met = true;
    if (g_sweep.absent.known && g_sweep.absent.has(name)) clear(*object, place);
  }
  return 0;
}

int find_ours(dl_phdr_info* object, std::size_t, void*) {
  const Addresses range = range_of(*object, PT_LOAD);
  if (!range.has(reinterpret_cast<std::uintptr_t>(&nigh_mpi_slots))) return 0;
  g_sweep.ours = range;
  return 1;
}

}  // namespace

// Symbols are looked up between two walks, since the loader's list is locked in a walk; and only if the first
// one meets any reference.
void clear_weak_references(void* library) {
  pthread_mutex_lock(&g_lock);
  if (g_sweep.ours.hi == 0) dl_iterate_phdr(find_ours, nullptr);
  g_sweep.met = g_sweep.absent.known = false;
  dl_iterate_phdr(look, nullptr);
  if (g_sweep.met) {
    g_sweep.absent.ask(library);
    dl_iterate_phdr(look, nullptr);
  }
  pthread_mutex_unlock(&g_lock);
}

// Objects that came with the program get no other library later.
__attribute__((constructor)) static void at_start() { clear_weak_references(nullptr); }

}  // namespace nigh::mpi
