// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The file of a loaded object: what dladdr(3) says of an address, without its search through all symbols of
// the object (30 us in libc).
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace nigh::sys {

struct LoadedFile {
  const char* path = nullptr;  // the loader's own, as long as the object is loaded; "" of the program itself
  std::uintptr_t base = 0;
};

// path nullptr: no object holds the address.
inline LoadedFile loaded_file(const void* address) {
  struct Search {
    std::uintptr_t address;
    LoadedFile found;
  } search = {reinterpret_cast<std::uintptr_t>(address), {}};
  const auto look = [](dl_phdr_info* object, std::size_t, void* data) {
    auto& at = *static_cast<Search*>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& part = object->dlpi_phdr[i];
      const std::uintptr_t lo = object->dlpi_addr + part.p_vaddr;
      if (part.p_type != PT_LOAD || at.address < lo || at.address - lo >= part.p_memsz) continue;
      at.found = {object->dlpi_name != nullptr ? object->dlpi_name : "", object->dlpi_addr};
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

}  // namespace nigh::sys
