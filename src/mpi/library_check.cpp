// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A half meets libraries that may be older or newer than any that we have seen, and asks: do you have the
// ABI, where do you keep the hidden fields of a status, can you receive by a function that we do not know?
#include "mpi/library_check.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "mpi/status.hpp"

namespace nigh::mpi {
namespace {

// The symbols of a loaded object, by its dynamic section.
struct Symbols {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const char* soname = nullptr;
  std::size_t count = 0;
};

// The number of symbols by the table that finds them (the GNU hash table has no field for it: the last chain
// ends it).
std::size_t count_by_hash(const std::uint32_t* table) {
  const std::uint32_t buckets = table[0], first = table[1], words = table[2];
  const auto* bucket = table + 4 + std::size_t{words} * (sizeof(ElfW(Addr)) / sizeof *table);
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i)
    if (bucket[i] > last) last = bucket[i];
  if (last < first) return first;
  while ((chain[last - first] & 1u) == 0) ++last;
  return std::size_t{last} + 1;
}

Symbols symbols_of(void* library) {
  Symbols found;
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || !map || !map->l_ld) return found;
  std::size_t soname = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < map->l_addr) address += map->l_addr;  // some loaders leave them as they are in the file
    const auto* at = reinterpret_cast<const void*>(address);
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = static_cast<const ElfW(Sym)*>(at); break;
      case DT_STRTAB: found.names = static_cast<const char*>(at); break;
      case DT_SONAME: soname = entry->d_un.d_val; break;
      case DT_GNU_HASH: found.count = count_by_hash(static_cast<const std::uint32_t*>(at)); break;
      case DT_HASH:
        if (found.count == 0) found.count = static_cast<const std::uint32_t*>(at)[1];
        break;
      default: break;
    }
  }
  if (found.names && soname != 0) found.soname = found.names + soname;
  return found;
}

bool is_known(std::string_view name) {
  // Partitioned messages never meet others (MPI 4.0, 4.2).
  if (name == "MPI_Precv_init" || name == "MPI_Precv_init_c") return true;
  for (const char* known : function_names)
    if (name == known) return true;
  return false;
}

bool may_receive(std::string_view name) {
  return name.starts_with("PMPI_") && !name.starts_with("PMPI_T_") &&
         (name.find("recv") != name.npos || name.find("Recv") != name.npos ||
          name.find("probe") != name.npos);
}

// "Open MPI v4.1.4, ...", "MPICH Version: 4.0.2 ...": the number after the mark, or -1.
[[maybe_unused]] int number_after(const char* text, const char* mark) {
  const char* at = std::strstr(text, mark);
  return at ? std::atoi(at + std::strcspn(at, "0123456789")) : -1;
}

// The ABI is what the name of the shared object promises; older libraries of another one have the same names.
[[maybe_unused]] bool is_named(void* library, const char* end) {
  const Symbols symbols = symbols_of(library);
  return symbols.soname && std::string_view(symbols.soname).ends_with(end);
}

}  // namespace

const char* check_abi([[maybe_unused]] void* library) {
  static char said[512];
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  real().Get_library_version(text, &length);
  text[std::strcspn(text, "\n,")] = '\0';
  g_is_intel = std::strstr(text, "Intel(R) MPI") != nullptr;
#if defined(NIGH_ABI_OPENMPI)
  const int major = number_after(text, "Open MPI");
  if (major == 4 || major == 5 || (major > 5 && is_named(library, ".so.40"))) return nullptr;
#elif defined(NIGH_ABI_MPICH)
  const int major = number_after(text, "MPICH Version");
  if (major < 0 || (major >= 3 && major <= 5)) return nullptr;  // Intel MPI, MVAPICH2: of the same ABI
  if (major > 5 && is_named(library, ".so.12")) return nullptr;
#else
  g_is_openmpi = std::strstr(text, "Open MPI") != nullptr;
  return nullptr;  // it was asked for the version of the ABI (front_find.cpp)
#endif
  std::snprintf(said, sizeof said, "libnigh-mpi-" NIGH_MPI_ABI ".so does not fit the ABI of this library: %s",
                text);
  return said;
}

const char* unknown_receiver(void* library) {
  static char said[96];
  const Symbols found = symbols_of(library);
  for (std::size_t i = 0; found.symbols && found.names && i < found.count; ++i) {
    const std::string_view name(found.names + found.symbols[i].st_name);
    if (found.symbols[i].st_shndx == SHN_UNDEF || !may_receive(name) || is_known(name.substr(1))) continue;
    std::snprintf(said, sizeof said, "%.*s", static_cast<int>(name.size()) - 1, name.data() + 1);
    return said;
  }
  return nullptr;
}

bool learn_status() {
  constexpr std::uint64_t bytes = 0x12'3456'789a;
  const auto agrees = [&] {
    MPI_Status status = {};
    if (real().Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes)) != MPI_SUCCESS ||
        real().Status_set_cancelled(&status, 1) != MPI_SUCCESS || status_bytes(status) != bytes ||
        !status_cancelled(status))
      return false;
    return real().Status_set_cancelled(&status, 0) == MPI_SUCCESS && status_bytes(status) == bytes &&
           !status_cancelled(status);
  };
#ifdef NIGH_ABI_STANDARD
  for (const bool first : {false, true}) {
    g_status_has_flag_first = first;
    if (agrees()) return true;
  }
  return false;
#else
  return agrees();
#endif
}

}  // namespace nigh::mpi
