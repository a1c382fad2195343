// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Static data on request: the writable segments of the program and its libraries are copied into the slot and
// mapped from there at their old addresses, so that the program notices nothing and peers reach each variable
// through an alias (slot + offset). Read-only-after-relocation pages stay as they are.
//
// Not moved: the loader and libc, which write to theirs in the child of a fork before anybody's handler runs;
// this library, whose state tells what is shared; the libraries of threads and of sanitizers; and the vdso.
// Only while there is one thread: another one could write between the copy and the mapping.
#include <link.h>
#include <string.h>

#include "space/pager.hpp"
#include "space/slot.hpp"
#include "sys/raw_file.hpp"

namespace nigh::space {

static std::uint64_t hash(std::uint64_t sum, const void* data, std::size_t bytes) {
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) sum = (sum ^ byte[i]) * 0x100000001b3ULL;
  return sum;
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

static bool is_private(const dl_phdr_info& info) {
  const char* name = base_name(info.dlpi_name);
  for (const char* kept : {"ld-linux", "libc.so", "libc-2", "libpthread", "linux-vdso", "libasan", "libtsan",
                           "libubsan", "liblsan", "libnigh"})
    if (strncmp(name, kept, strlen(kept)) == 0) return true;
  const auto own = reinterpret_cast<std::uintptr_t>(&g_slot);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && own - info.dlpi_addr - segment.p_vaddr < segment.p_memsz) return true;
  }
  return false;
}

// The same in all ranks that run the same file, whatever its addresses.
static std::uint64_t identity(const dl_phdr_info& info) {
  std::uint64_t sum =
      hash(0xcbf29ce484222325ULL, base_name(info.dlpi_name), strlen(base_name(info.dlpi_name)));
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    sum = hash(sum, &segment.p_type, sizeof segment.p_type);
    sum = hash(sum, &segment.p_vaddr, sizeof segment.p_vaddr);
    sum = hash(sum, &segment.p_memsz, sizeof segment.p_memsz);
    if (segment.p_type == PT_NOTE && segment.p_memsz <= 4096)  // holds the build id
      sum = hash(sum, reinterpret_cast<const void*>(info.dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return sum;
}

struct Sharing {
  int segments = 0;
  const char* problem = nullptr;
};

static bool share_range(std::uintptr_t lo, std::uintptr_t hi, std::uint64_t module, Sharing& sharing) {
  SlotHeader* header = own_header();
  const std::size_t bytes = hi - lo;
  if (header->alias_count >= kMaxAliases) return false;
  const std::uintptr_t to = pager_take(bytes, kPage, PROT_READ | PROT_WRITE);
  if (to == 0) return false;
  const std::uint64_t offset = to - g_slot.state.slot;
  memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(lo), bytes);
  const long at = sys::raw_map(lo, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, g_slot.state.fd,
                               static_cast<long>(offset));
  if (at != static_cast<long>(lo)) {
    pager_give(to, bytes);
    return false;
  }
  header->aliases[header->alias_count] = {.lo = lo, .hi = hi, .offset = offset, .module = module};
  ++header->alias_count;
  ++sharing.segments;
  return true;
}

static int share_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& sharing = *static_cast<Sharing*>(data);
  if (is_private(*info)) return 0;
  std::uintptr_t fixed_hi = 0;  // relocated read-only: private
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_RELRO) fixed_hi = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
  }
  const std::uint64_t module = identity(*info);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    std::uintptr_t lo = (info->dlpi_addr + segment.p_vaddr) & ~(kPage - 1);
    const std::uintptr_t hi =
        (info->dlpi_addr + segment.p_vaddr + segment.p_memsz + kPage - 1) & ~(kPage - 1);
    const std::uintptr_t after = fixed_hi & ~(kPage - 1);
    if (after > lo && after <= hi) lo = after;
    if (lo < hi && !share_range(lo, hi, module + static_cast<std::uint64_t>(i), sharing))
      sharing.problem = "there was no room in the slot for all of it";
  }
  return 0;
}

bool share_static_data(const char** why) {
  static constinit bool shared = false;
  *why = "";
  if (shared) return true;
  if (!g_slot.state.on)
    *why = g_slot.state.why;
  else if (!fd_is_ours())
    *why = "the program has closed the slot's descriptor";
  else if (sys::raw_thread_count() != 1)
    *why = "the process has several threads already; NIGH_SHARE=data shares it from the start";
  if (**why != '\0') return false;
  Sharing sharing;
  dl_iterate_phdr(share_module, &sharing);
  shared = sharing.segments > 0;
  if (sharing.problem != nullptr) *why = sharing.problem;
  return sharing.problem == nullptr;
}

}  // namespace nigh::space
