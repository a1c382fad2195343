// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The two questions to the loader, with their answers kept.
#include "openmp/callsite.hpp"

#include <dlfcn.h>
#include <string.h>

namespace nigh::preload {

static constinit CallSites<bool> g_sites{};

bool from_runtime(void* caller) {
  bool runtime = false;
  if (g_sites.find(caller, runtime)) return runtime;
  Dl_info info;
  if (dladdr(caller, &info) && info.dli_fname) {
    const char* slash = strrchr(info.dli_fname, '/');
    const char* name = slash ? slash + 1 : info.dli_fname;
    runtime = !strncmp(name, "libgomp", 7) || !strncmp(name, "libomp", 6) || !strncmp(name, "libiomp", 7);
  }
  g_sites.keep(caller, runtime);
  return runtime;
}

void* next_symbol(const char* name, std::atomic<void*>& cache) {
  void* symbol = cache.load(std::memory_order_acquire);
  if (!symbol) {
    symbol = dlsym(RTLD_NEXT, name);
    cache.store(symbol, std::memory_order_release);
  }
  return symbol;
}

}  // namespace nigh::preload
