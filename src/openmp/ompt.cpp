// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// OMPT: the runtime calls us when a region begins (in the opening thread) and when each thread starts its
// implicit task. The opener's node travels in the region's data word. Three kinds of region are not the
// program's:
//   - libomp's hidden helper team, eight threads for deferred target tasks: its code address lies in the
//   runtime itself;
//   - the serial team libomp puts around the body of a teams construct: it has no code address at all;
//   - a league of one team, which is no level.
// The tool registers whenever the library is loaded: omp_set_nesting_info may bring a plan at any time.
#include "openmp/ompt.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "openmp/account.hpp"
#include "openmp/callsite.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/ompt_abi.hpp"
#include "openmp/pins.hpp"
#include "openmp/say.hpp"
#include "openmp/session.hpp"

namespace nigh::preload {

static constinit std::atomic<bool> g_active{};
static const char* g_declined;
static ompt::GetNumPlaces g_places;
static constinit Node g_transparent{};  // in a region's data: this region is no level

// The code of the runtime that took us.
static uintptr_t g_runtime_from, g_runtime_to;

static bool in_runtime(const void* code) {
  const auto address = reinterpret_cast<uintptr_t>(code);
  return address >= g_runtime_from && address < g_runtime_to;
}

static int note_runtime(dl_phdr_info* info, size_t, void* code) {
  const auto address = reinterpret_cast<uintptr_t>(code);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& part = info->dlpi_phdr[i];
    const uintptr_t from = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || address < from || address >= from + part.p_memsz) continue;
    g_runtime_from = from;
    g_runtime_to = from + part.p_memsz;
    return 1;
  }
  return 0;
}

// libomp binds by its own system calls, which nobody can leave out. Without places of its own it counts one.
bool ompt_has_places() { return ompt_active() && g_places && g_places() > 1; }
bool ompt_active() { return g_active.load(std::memory_order_acquire); }
const char* ompt_declined() { return g_declined; }

static void* region_node(int flags, const void* code) {
  if (!code) return &g_transparent;
  if (flags & ompt::parallel_league && !cured(Cure::kLeague)) return &g_transparent;
  // Only an outermost region can be the helpers': their first thread is in no team.
  if (!t.node && in_runtime(code) && cured(Cure::kHelpers)) {
    used(Cure::kHelpers);
    return &g.helper;
  }
  return opener();
}

static void on_parallel_begin(ompt::Data*, const ompt::Frame*, ompt::Data* region, unsigned, int flags,
                              const void* code) {
  region->ptr = region_node(flags, code);
}

static void on_implicit_task(ompt::Endpoint endpoint, ompt::Data* region, ompt::Data* task, unsigned size,
                             unsigned index, int flags) {
  if (endpoint != ompt::scope_begin) {
    t.node = static_cast<Node*>(task->ptr);
    return;
  }
  task->ptr = t.node;
  if (flags & ompt::task_initial && size <= 1) return;  // a thread's first task, or a league of one team
  auto* parent = region ? static_cast<Node*>(region->ptr) : nullptr;
  if (!parent || parent == &g_transparent) return;
  if (flags & ompt::task_initial) used(Cure::kLeague);
  enter(parent, index, size);
}

static int initialize(ompt::Lookup lookup, int, ompt::Data*) {
  dl_iterate_phdr(note_runtime, reinterpret_cast<void*>(lookup));
  auto set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  if (!set) return 0;
  set(ompt::callback_parallel_begin, reinterpret_cast<ompt::Function>(on_parallel_begin));
  set(ompt::callback_implicit_task, reinterpret_cast<ompt::Function>(on_implicit_task));
  g_places = reinterpret_cast<ompt::GetNumPlaces>(lookup("ompt_get_num_places"));
  g_active.store(true, std::memory_order_release);
  return 1;
}

static void finalize(ompt::Data*) { g_active.store(false, std::memory_order_release); }

// Runs before the runtime reads its own variables: nested regions must be allowed to be real.
static void allow_levels() {
  const char* spec = wished_spec();
  const int levels = spec ? count_levels(spec) : 0;
  if (levels < 1) return;
  char text[16];
  snprintf(text, sizeof text, "%d", levels);
  if (!getenv("OMP_NESTED")) setenv("OMP_MAX_ACTIVE_LEVELS", text, 0);
  if (levels > 1) setenv("KMP_HOT_TEAMS_MAX_LEVEL", text, 0);
}

}  // namespace nigh::preload

NIGH_EXPORT nigh::preload::ompt::StartToolResult* ompt_start_tool(unsigned, const char* runtime) {
  using namespace nigh::preload;
  const char* spec = wished_spec();
  const char* others = getenv("OMP_TOOL_LIBRARIES");
  Dl_info info{};
  dladdr(__builtin_return_address(0), &info);
  account_runtime("libomp", info.dli_fname ? info.dli_fname : "", runtime);
  if (others && *others) {
    g_declined = "OMP_TOOL_LIBRARIES asks for another OMPT tool, and a runtime takes only one";
    if (spec) say("%s: threads run unbound; unset OMP_TOOL_LIBRARIES to bind them", g_declined);
    return nullptr;
  }
  allow_levels();
  runtime_arrives();
  static ompt::StartToolResult tool = {initialize, finalize, {0}};
  return &tool;
}
