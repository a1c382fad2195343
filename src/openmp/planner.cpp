// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Opens libnigh.so.0 beside this library, checks that both speak the same version, and forwards. RTLD_LOCAL:
// its symbols, hwloc's and the C++ library's are no business of the program.
#include "openmp/planner.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nigh/plan.h"

namespace nigh::preload {

static struct {
  bool open;
  int (*abi)(void);
  decltype(&nigh_planner_new) make;
  decltype(&nigh_planner_levels) levels;
  decltype(&nigh_planner_size) size;
  decltype(&nigh_planner_team) team;
  decltype(&nigh_rank_share) share;  // null in an older libnigh.so
} api;

static bool library_path(char* path, size_t size) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&library_path), &info) || !info.dli_fname) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash ? static_cast<int>(slash - info.dli_fname) : 1;
  return snprintf(path, size, "%.*s/libnigh.so.0", folder, slash ? info.dli_fname : ".") <
         static_cast<int>(size);
}

template <class F>
static bool find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

static bool open_library(char* err, size_t errsize) {
  if (api.open) return true;
  char path[4096];
  if (!library_path(path, sizeof path)) {
    snprintf(err, errsize, "the path of libnigh.so.0 is too long");
    return false;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(err, errsize, "the planner could not be opened (%s)", dlerror());
    return false;
  }
  if (!find(library, "nigh_plan_abi", api.abi) || api.abi() != NIGH_PLAN_ABI) {
    snprintf(err, errsize,
             "%s is version %d of the planner, this library needs version %d: install both from one build",
             path, api.abi ? api.abi() : 0, NIGH_PLAN_ABI);
    return false;
  }
  api.open = find(library, "nigh_planner_new", api.make) &&
             find(library, "nigh_planner_levels", api.levels) &&
             find(library, "nigh_planner_size", api.size) && find(library, "nigh_planner_team", api.team);
  find(library, "nigh_rank_share", api.share);
  if (!api.open) snprintf(err, errsize, "%s lacks a function of the planner: install it again", path);
  return api.open;
}

static int list_cpus(const Mask& mask, int* cpus) {
  int count = 0;
  for (int cpu = 0; cpu < kMaskCpus; cpu++)
    if (mask.has(cpu)) cpus[count++] = cpu;
  return count;
}

Mask rank_share(const Mask& mask, int rank, int ranks) {
  char err[256];
  auto* cpus = static_cast<int*>(calloc(size_t{2} * kMaskCpus, sizeof(int)));
  Mask share;
  memset(&share, 0, sizeof share);
  if (cpus && open_library(err, sizeof err) && api.share) {
    const int count = list_cpus(mask, cpus);
    int* out = cpus + kMaskCpus;
    const int got = api.share(cpus, count, nullptr, rank, ranks, out);
    for (int i = 0; i < got; i++) share.add(out[i]);
  }
  free(cpus);
  return share.count() > 0 ? share : mask;
}

nigh_planner* planner_new(const char* spec, const Mask& mask, char* err, size_t errsize) {
  if (!open_library(err, errsize)) return nullptr;
  auto* cpus = static_cast<int*>(calloc(kMaskCpus, sizeof(int)));
  if (!cpus) return nullptr;
  const int count = list_cpus(mask, cpus);
  nigh_planner* planner = api.make(spec, cpus, count, nullptr, err, errsize);
  free(cpus);
  return planner;
}

int planner_levels(const nigh_planner* planner) { return api.levels(planner); }
int planner_size(const nigh_planner* planner, int level) { return api.size(planner, level); }
bool planner_team(const nigh_planner* planner, int root, int depth, const int* index, const int* size, int n,
                  nigh_place* out) {
  return api.team(planner, root, depth, index, size, n, out) == 0;
}

}  // namespace nigh::preload
