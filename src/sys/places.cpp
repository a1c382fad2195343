// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/places.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <string>

#include "nigh/plan.h"
#include "sys/os.hpp"

namespace nigh::sys {

namespace {

// Its symbols, those of hwloc among them, are no business of the program.
void* open_planner(const char* library) {
  if (library) return dlopen(library, RTLD_NOW | RTLD_LOCAL);
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&plan_places), &self) || !self.dli_fname) return nullptr;
  const std::string here = self.dli_fname;
  return dlopen((here.substr(0, here.rfind('/') + 1) + "libnigh.so.0").c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::vector<int> ask_planner(const std::vector<int>& cpus, int threads, const char* strategy,
                             const char* machine, const char* path) {
  void* const library = open_planner(path);
  if (!library) return {};
  auto find = [&]<class F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(library, name));
    return function != nullptr;
  };
  decltype(&nigh_plan_abi) abi = nullptr;
  decltype(&nigh_planner_new) make = nullptr;
  decltype(&nigh_planner_team) team = nullptr;
  decltype(&nigh_planner_free) free = nullptr;
  const bool fits = find(abi, "nigh_plan_abi") && abi() == NIGH_PLAN_ABI && find(make, "nigh_planner_new") &&
                    find(team, "nigh_planner_team") && find(free, "nigh_planner_free");
  if (!fits) return {};
  const std::string spec = std::to_string(threads) + "," + strategy;
  char why[256];
  nigh_planner* const planner =
      make(spec.c_str(), cpus.data(), static_cast<int>(cpus.size()), machine, why, sizeof why);
  if (!planner) return {};
  std::vector<nigh_place> places(static_cast<std::size_t>(threads));
  std::vector<int> out;
  if (team(planner, 0, 0, nullptr, nullptr, threads, places.data()) == 0)
    for (const nigh_place& place : places) out.push_back(place.pu);
  free(planner);
  return out;
}

}  // namespace

CpuSet usable_cpus() {
  const auto allowed = affinity();
  return allowed ? *allowed : CpuSet{0};
}

Places plan_places(const CpuSet& usable, int first, int all, Bind bind, const char* machine,
                   const char* library) {
  Places out{usable, first, all};
  const std::vector<int> cpus = usable.members();
  if (bind == Bind::none || all > static_cast<int>(cpus.size())) return out;
  if (cpus.size() > 1)
    out.cpus = ask_planner(cpus, all, bind == Bind::compact ? "compact" : "scatter", machine, library);
  if (out.cpus.empty()) out.cpus.assign(cpus.begin(), cpus.begin() + all);
  return out;
}

}  // namespace nigh::sys
