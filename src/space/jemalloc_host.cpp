// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that jemalloc calls in place of libc's (see CMakeLists.txt).
#include <errno.h>
#include <sys/mman.h>

#include "space/heap.hpp"
#include "space/pager.hpp"
#include "space/slot.hpp"
#include "space/trim.hpp"

namespace nigh::space {

constinit thread_local bool t_zeroing __attribute__((tls_model("initial-exec"))) = false;

using Handler = void (*)();
static constinit Handler g_before = nullptr, g_after = nullptr, g_child = nullptr;

void heap_before_fork() {
  if (g_before != nullptr) g_before();
}
void heap_after_fork() {
  if (g_after != nullptr) g_after();
}
void heap_in_child() {
  if (g_child != nullptr) g_child();
}

}  // namespace nigh::space

using namespace nigh::space;  // NOLINT(google-build-using-namespace)
namespace sys = nigh::sys;

extern "C" {

void* nigh_je_mmap(void* hint, size_t bytes, int prot, int flags, int, off_t) {
  const auto at = reinterpret_cast<std::uintptr_t>(hint);
  if ((flags & MAP_FIXED) != 0) {  // commit or decommit; not seen while the kernel overcommits
    const long rc = pager_renew(at, bytes, prot) ? 0 : sys::raw_map(at, bytes, prot, flags, -1, 0);
    return sys::is_error(rc) ? MAP_FAILED : hint;
  }
  const std::uintptr_t lo = pager_heap(at, bytes);
  if (lo != 0) return reinterpret_cast<void*>(lo);
  errno = ENOMEM;
  return MAP_FAILED;
}

int nigh_je_munmap(void* data, size_t bytes) {
  pager_heap_give(reinterpret_cast<std::uintptr_t>(data), bytes);
  return 0;
}

int nigh_je_madvise(void* data, size_t bytes, int advice) {
  const auto lo = reinterpret_cast<std::uintptr_t>(data);
  if (advice == MADV_DONTNEED && t_zeroing) return -1;  // then it writes zeros
  if (in_slot(lo, bytes) && (advice == MADV_DONTNEED || advice == MADV_FREE)) {
    if (bytes >= kLeastIdle) trim_note(-static_cast<std::int64_t>(bytes));
    return pager_empty(lo, bytes) ? 0 : -1;
  }
  return sys::raw_advise(lo, bytes, advice) == 0 ? 0 : -1;
}

int nigh_je_mprotect(void* data, size_t bytes, int prot) {
  return sys::raw_protect(reinterpret_cast<std::uintptr_t>(data), bytes, prot) == 0 ? 0 : -1;
}

// Its handlers run within ours, in the right order (fork.cpp).
int nigh_je_pthread_atfork(void (*before)(), void (*after)(), void (*child)()) {
  g_before = before;
  g_after = after;
  g_child = child;
  return 0;
}

// Its settings are ours: neither MALLOC_CONF nor /etc/malloc.conf, which are meant for programs' own
// jemalloc.
char* nigh_je_secure_getenv(const char*) { return nullptr; }
ssize_t nigh_je_readlink(const char*, char*, size_t) {
  errno = ENOENT;
  return -1;
}
// Only its profiler calculates, which our settings leave off. So no process loads libm for us.
double nigh_je_exp(double) { return 0; }
double nigh_je_log(double) { return 0; }
double nigh_je_round(double) { return 0; }
// No part of it grows the break.
void* nigh_je_sbrk(intptr_t) {
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);
}
}
