// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See libc_heap.hpp.
#include "space/libc_heap.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "space/heap.hpp"
#include "sys/loaded_file.hpp"
#include "sys/raw_file.hpp"

namespace nigh::space {

constinit thread_local bool t_in_libc __attribute__((tls_model("initial-exec"))) = false;

static constinit bool g_ready = false;  // the code of libc's mmap is known
static constinit const unsigned char* g_mmap = nullptr;
static constinit unsigned char g_mmap_was[16] = {};
static constinit std::atomic<bool> g_jumped_over{false};

// The function in the file: UCX's constructor may have run before ours.
static void remember_mmap() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* code = libc != nullptr ? dlsym(libc, "mmap") : nullptr;
  const char* path = code != nullptr ? sys::loaded_file(code).path : nullptr;
  if (path == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  sys::RawLines lines("/proc/self/maps");
  sys::RawMapping map;
  while (const char* line = lines.next())
    if (sys::parse_mapping(line, map) && map.lo <= address && address < map.hi) break;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const auto offset = static_cast<off_t>(map.offset + (address - map.lo));
  const bool whole = map.lo <= address && address < map.hi &&
                     pread(file, g_mmap_was, sizeof g_mmap_was, offset) == sizeof g_mmap_was;
  close(file);
  if (whole) g_mmap = static_cast<const unsigned char*>(code);
}

void libc_heap_ready() {
  remember_mmap();
  g_ready = true;
}

// The first mapping after the jump was written may be anybody's, and counts as libc's.
static bool is_allocators() {
  if (g_jumped_over.load(std::memory_order_relaxed)) return t_in_libc;
  if (!g_ready) return true;
  if (g_mmap == nullptr || memcmp(g_mmap, g_mmap_was, sizeof g_mmap_was) == 0) return false;
  heap_watch_libc();
  g_jumped_over.store(true, std::memory_order_relaxed);
  return true;
}

bool is_libcs_mapping(int flags) {
  return is_allocators() || (g_jumped_over.load(std::memory_order_relaxed) && (flags & MAP_STACK) != 0);
}

}  // namespace nigh::space
