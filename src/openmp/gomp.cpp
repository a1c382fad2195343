// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libgomp has no tool interface, so we stand in front of each entry point that opens a parallel region and
// hand it our own body, which enters the node and then runs the program's. The node is left by the opener,
// after the region's closing barrier: tasks run there still belong to the region.
//
// The choice of a libgomp: the one that the caller would have reached without us. It is the first in the
// global scope; else (a plugin opened RTLD_LOCAL, a Python wheel with a libgomp of its own) the one in the
// caller's own list of libraries.
#include "openmp/gomp.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "openmp/account.hpp"
#include "openmp/callsite.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/libc.hpp"
#include "openmp/ompt.hpp"
#include "openmp/say.hpp"

namespace nigh::preload {

using Fn = void (*)(void*);

// GOMP_parallel_reductions reads the first word of its data itself.
static_assert(offsetof(Body, first_word) == 0, "libgomp reads the first word of the reductions' data");

struct OldRegion {
  Body body;
  Node* before;
  struct Gomp* gomp;
  OldRegion* below;
};

// One loaded libgomp (or libomp under that name) and its functions.
struct Gomp {
  void* identity;
  int (*thread_num)(void);
  int (*num_threads)(void);
  int (*max_threads)(void);
  int (*get_levels)(void);
  void (*set_levels)(int);
  bool llvm;
  Gomp* next;
// NOLINTBEGIN(bugprone-macro-parentheses): declarators, not expressions
#define REGION(ret, name, params, args, threads) ret(*name) params;
#define OLD_REGION(name, params, args, threads) void(*name) params;
// NOLINTEND(bugprone-macro-parentheses)
#include "openmp/gomp_entries.inc"
  void (*GOMP_parallel_end)(void);
};

static Gomp* g_all;                               // under the lock
static constinit std::atomic<Gomp*> g_only{};     // everybody's, when it is in the global scope
static constinit CallSites<Gomp*> g_by_caller{};  // else each caller's

// ---- finding libgomp ----------------------------------------------------------------------------
static void fill(Gomp* gomp, void* library) {
  auto get = [library](const char* name, auto& out) {
    out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(dlsym(library, name));
  };
  get("omp_get_thread_num", gomp->thread_num);
  get("omp_get_num_threads", gomp->num_threads);
  get("omp_get_max_threads", gomp->max_threads);
  get("omp_get_max_active_levels", gomp->get_levels);
  get("omp_set_max_active_levels", gomp->set_levels);
  get("GOMP_parallel_end", gomp->GOMP_parallel_end);
#define REGION(ret, name, params, args, threads) get(#name, gomp->name);
#define OLD_REGION(name, params, args, threads) get(#name, gomp->name);
#include "openmp/gomp_entries.inc"
}

static Gomp* known(void* identity) {
  lock();
  Gomp* gomp = g_all;
  while (gomp && gomp->identity != identity) gomp = gomp->next;
  unlock();
  return gomp;
}

// The runtime that defines this symbol. Its reference is kept: it must outlive every caller we remember.
static Gomp* gomp_at(void* symbol) {
  if (Gomp* gomp = known(symbol)) return gomp;
  Dl_info info;
  void* library = dladdr(symbol, &info) ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
  auto* gomp = static_cast<Gomp*>(library ? calloc(1, sizeof(Gomp)) : nullptr);
  if (!gomp) return nullptr;
  fill(gomp, library);
  gomp->identity = symbol;
  gomp->llvm = dlsym(library, "__kmpc_fork_call") != nullptr;
  if (gomp->llvm) gomp->max_threads();  // let it start, so that it has asked for its tool
  if (!gomp->llvm)
    account_runtime("libgomp", info.dli_fname,
                    dlsym(library, "GOMP_teams4")                ? "gcc 12 or later"
                    : dlsym(library, "GOMP_parallel_reductions") ? "gcc 9 to 11"
                                                                 : "older than gcc 9");
  lock();
  gomp->next = g_all;
  g_all = gomp;
  unlock();
  return gomp;
}

static void* any_local_libgomp() {
  void* found = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        const char* slash = strrchr(info->dlpi_name, '/');
        if (!slash || strncmp(slash + 1, "libgomp", 7) != 0) return 0;
        *static_cast<void**>(out) = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
        return 1;
      },
      static_cast<void*>(&found));
  return found ? dlsym(found, "GOMP_parallel_start") : nullptr;
}

// The definitions of the caller's own libraries: its scope holds itself and the libraries it was linked with.
static void* callers_libgomp(void* caller) {
  Dl_info info;
  link_map* map = nullptr;
  if (!is_glibc() || !dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map)
    return nullptr;
  void* library = dlopen(map->l_name, RTLD_NOLOAD | RTLD_LAZY);
  return library ? dlsym(library, "GOMP_parallel_start") : nullptr;
}

static Gomp* resolve(void* caller) {
  void* symbol = dlsym(RTLD_NEXT, "GOMP_parallel_start");
  const bool global = symbol != nullptr;
  if (!symbol && cured(Cure::kLocal)) {
    if (cured(Cure::kCaller)) symbol = callers_libgomp(caller);
    if (!symbol) symbol = any_local_libgomp();
    if (symbol) used(Cure::kLocal);
  }
  Gomp* gomp = symbol ? gomp_at(symbol) : nullptr;
  if (!gomp) {
    say("a library opened a parallel region, but its libgomp is nowhere to be found: the program cannot go "
        "on");
    abort();
  }
  lock();
  const bool alone = global && (!g_all || !g_all->next);
  unlock();
  if (alone)
    g_only.store(gomp, std::memory_order_release);
  else
    g_by_caller.keep(caller, gomp);
  return gomp;
}

static inline Gomp& gomp_of(void* caller) {
  if (Gomp* gomp = g_only.load(std::memory_order_acquire)) return *gomp;
  Gomp* gomp = nullptr;
  return g_by_caller.find(caller, gomp) ? *gomp : *resolve(caller);
}

// ---- regions ------------------------------------------------------------------------------------
static void raise_levels(Gomp& gomp, const Plan* plan) {
  if (g.user_levels || !gomp.get_levels || !gomp.set_levels) return;
  if (gomp.get_levels() < plan->levels) gomp.set_levels(plan->levels);
}

static inline Node* opener_in(Gomp& gomp) {
  if (gomp.llvm && ompt_active() && cured(Cure::kAlias)) return nullptr;
  Plan* before = t.plan;
  Node* node = opener();
  if (node && t.plan != before) raise_levels(gomp, t.plan);
  return node;
}

static void run_body(void* data) {
  Body& body = *static_cast<Body*>(data);
  Node* before = t.node;
  enter(body.parent, static_cast<unsigned>(body.thread_num()), static_cast<unsigned>(body.num_threads()));
  body.fn(body.data);
  if (!cured(Cure::kBarrier)) t.node = before;
}

static inline Body* body_slot(Fn fn) {
  const auto address = reinterpret_cast<uintptr_t>(fn);
  return t.open < kBodyNesting ? &t.body[t.open][(address >> 4 ^ address >> 8) % kBodySlots] : nullptr;
}

// One open region: puts our body in place of the program's, and keeps the opener's node until the closing
// barrier is passed. Nobody reads a slot of this nesting any more once the region has ended.
struct Region {
  Node* before = t.node;
  Body spare;  // for regions nested deeper than there are slots

  Region(Gomp& gomp, Node* parent, Fn& fn, void*& data, bool reductions, unsigned asked) {
    void* first = reductions && cured(Cure::kReductions) ? *static_cast<void**>(data) : nullptr;
    Body* body = body_slot(fn);
    if (!body) body = &spare;
    if (body == &spare || body->fn != fn || body->data != data || body->parent != parent ||
        body->first_word != first || body->thread_num != gomp.thread_num || body->asked != asked)
      *body = {first, fn, data, parent, gomp.thread_num, gomp.num_threads, asked};
    if (reductions) used(Cure::kReductions);
    t.open++;
    t.opening = body;
    t.born = 0;
    fn = run_body;
    data = body;
  }
  ~Region() {
    t.open--;
    t.opening = nullptr;
    t.node = before;
  }
};

static constexpr bool has_reductions(const char* name) {
  return !__builtin_strcmp(name, "GOMP_parallel_reductions");
}

#define REGION(ret, name, params, args, threads)                           \
  NIGH_EXPORT ret name params {                                            \
    Gomp& gomp = gomp_of(__builtin_return_address(0));                     \
    Node* parent = opener_in(gomp);                                        \
    if (!parent) return gomp.name args;                                    \
    Region region(gomp, parent, fn, data, has_reductions(#name), threads); \
    return gomp.name args;                                                 \
  }

// The two-call interface of gcc before 4.9: our body must outlive the call, and the master runs the program's
// body itself between the calls. A record is pushed even when we stand aside, since a plan may appear before
// the matching end.
static OldRegion* push_old(Gomp& gomp, Node* parent, Fn& fn, void*& data, unsigned asked) {
  auto* region = static_cast<OldRegion*>(calloc(1, sizeof(OldRegion)));
  if (!region) return nullptr;
  *region = {{nullptr, fn, data, parent, gomp.thread_num, gomp.num_threads, asked}, t.node, &gomp, t.old};
  t.old = region;
  if (parent) {
    t.opening = &region->body;
    t.born = 0;
    fn = run_body;
    data = &region->body;
  }
  return region;
}

#define OLD_REGION(name, params, args, threads)                    \
  NIGH_EXPORT void name params {                                   \
    Gomp& gomp = gomp_of(__builtin_return_address(0));             \
    Node* parent = opener_in(gomp);                                \
    OldRegion* region = push_old(gomp, parent, fn, data, threads); \
    gomp.name args;                                                \
    t.opening = nullptr;                                           \
    if (region && parent && cured(Cure::kOldAbi))                  \
      enter(parent, 0, static_cast<unsigned>(gomp.num_threads())); \
  }

#include "openmp/gomp_entries.inc"

NIGH_EXPORT void GOMP_parallel_end(void) {
  OldRegion* region = t.old;
  Gomp& gomp = region ? *region->gomp : gomp_of(__builtin_return_address(0));
  gomp.GOMP_parallel_end();
  if (!region) return;
  t.old = region->below;
  t.node = region->before;
  free(region);
}

}  // namespace nigh::preload
