// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The slow half of the core: making nodes from the planner's answers, giving root numbers to threads, and the
// one place where this library changes a thread's affinity. Everything here runs once per new path or per
// real change.
#include "openmp/core.hpp"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nigh/plan.h"
#include "openmp/account.hpp"
#include "openmp/automatic.hpp"
#include "openmp/capacity.hpp"
#include "openmp/cures.hpp"
#include "openmp/outside.hpp"
#include "openmp/planner.hpp"
#include "openmp/say.hpp"
#include "sys/cpu_list.h"

namespace nigh::preload {

constinit Globals g{};
__attribute__((tls_model("initial-exec"))) __thread Thread t;

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
void lock() { pthread_mutex_lock(&g_lock); }
void unlock() { pthread_mutex_unlock(&g_lock); }

int Mask::count() const {
  int n = 0;
  for (unsigned long w : word) n += __builtin_popcountl(w);
  return n;
}

void Mask::list(char* text, size_t size) const {
  size_t n = 0;
  *text = '\0';
  for (int cpu = 0; cpu < kMaskCpus && n < size; cpu++) {
    if (!has(cpu)) continue;
    const int first = cpu;
    while (cpu + 1 < kMaskCpus && has(cpu + 1)) cpu++;
    n += static_cast<size_t>(
        snprintf(text + n, size - n, cpu > first ? "%s%d-%d" : "%s%d", n ? "," : "", first, cpu));
  }
}

bool read_cpus(const char* list, Mask& mask) {
  memset(&mask, 0, sizeof mask);
  for (long first = 0, last = 0; nigh_next_cpus(&list, kMaskCpus - 1, &first, &last);) {
    for (long cpu = first; cpu <= last; cpu++) mask.add(static_cast<int>(cpu));
    if (!*list) return true;
  }
  return false;
}

bool Mask::load(int tid) {
  memset(this, 0, sizeof *this);
  return nigh_raw_getaffinity(tid, word, sizeof word) > 0;
}

long Mask::store(int tid) const { return nigh_raw_setaffinity(tid, word, sizeof word); }

// ---- nodes --------------------------------------------------------------------------------------
int root_number(const Node* root) {
  const char* at = reinterpret_cast<const char*>(root) - offsetof(Root, node);
  return reinterpret_cast<const Root*>(at)->number;
}

bool ask_planner(const Node* parent, unsigned size, nigh_place* out) {
  int index[kMaxDepth], sizes[kMaxDepth];
  const Node* node = parent;
  for (; node->parent; node = node->parent) {
    index[node->depth - 1] = static_cast<int>(node->index);
    sizes[node->depth - 1] = static_cast<int>(node->size);
  }
  return planner_team(parent->plan->planner, root_number(node), parent->depth, index, sizes,
                      static_cast<int>(size), out);
}

// Zeroed memory that starts a cache line: nodes are read in every region, and should share no line with what
// runtimes write.
static void* lines(size_t bytes) {
  void* memory = aligned_alloc(alignof(Node), bytes);
  return memory ? memset(memory, 0, bytes) : nullptr;
}

unsigned long threads_with(const Node* parent, unsigned size) {
  unsigned long threads = size;
  for (const Node* node = parent; node->parent && threads < 1'000'000; node = node->parent)
    threads *= node->size;
  return threads;
}

// That the spec has in the levels below one, for each thread of it.
static unsigned long threads_below(const Plan* plan, int level) {
  unsigned long threads = 1;
  for (int below = level + 1; below <= plan->levels && threads < 1'000'000; below++)
    threads *= static_cast<unsigned long>(planner_size(plan->planner, below));
  return threads;
}

static void place_team(Node* parent, Kids* kids, nigh_place* places) {
  const Plan& plan = *parent->plan;
  const bool planned = plan.automatic
                           ? kids->size > 1 && automatic_places(parent, kids->size, places)
                           : parent->depth < plan.levels && ask_planner(parent, kids->size, places);
  // Teams that are not placed automatically: nobody is bound who is not yet, nobody stays who is.
  const int unplanned = !plan.automatic ? kFree : unplaced_automatically(plan, parent);
  for (unsigned i = 0; i < kids->size; i++) {
    Node& node = kids->node[i];
    node.plan = parent->plan;
    node.parent = parent;
    node.depth = parent->depth + 1;
    node.index = i;
    node.size = kids->size;
    // A team of one changes nothing but the level. Deeper than the spec says: the master stays, the rest
    // roam.
    if (kids->size == 1 && !(plan.automatic && automatic_reason()))
      node.place = parent->place;
    else if (planned && places[i].pu >= 0)
      node.place = place_of_pu(places[i].pu);
    else
      node.place = i == 0 && (parent->place != kKeep || !plan.automatic) ? parent->place : unplanned;
  }
}

static Kids* find_kids(Node* parent, unsigned size) {
  Kids* kids = parent->kids.load(std::memory_order_acquire);
  while (kids && kids->size != size) kids = kids->next;
  return kids;
}

Kids* make_kids(Node* parent, unsigned size) {
  if (parent->depth >= kMaxDepth) return nullptr;
  bool made = false;
  lock();
  Kids* kids = find_kids(parent, size);
  if (!kids) {
    kids = static_cast<Kids*>(lines(sizeof(Kids)));
    Node* nodes = static_cast<Node*>(lines(size * sizeof(Node)));
    auto* places = static_cast<nigh_place*>(calloc(size, sizeof(nigh_place)));
    if (kids && nodes && places) {
      kids->size = size;
      kids->node = nodes;
      place_team(parent, kids, places);
      kids->next = parent->kids.load(std::memory_order_relaxed);
      parent->kids.store(kids, std::memory_order_release);
    } else {
      free(kids);
      free(nodes);
      kids = nullptr;
    }
    free(places);
    made = kids != nullptr;
  }
  unlock();
  if (made && !parent->plan->automatic && parent->depth < parent->plan->levels)
    note_threads(threads_with(parent, size), threads_below(parent->plan, parent->depth + 1));
  return kids;
}

// ---- roots --------------------------------------------------------------------------------------
static Node* find_root(Plan* plan, int number) {
  for (Root* root = plan->roots; root; root = root->next)
    if (root->number == number) return &root->node;
  auto* root = static_cast<Root*>(lines(sizeof(Root)));
  if (!root) return nullptr;
  root->number = number;
  root->node.plan = plan;
  root->next = plan->roots;
  plan->roots = root;
  return &root->node;
}

// Numbers are reused when their thread ends, so a program that makes a thread per request keeps the same few
// roots.
static bool g_taken[1024];
static pthread_key_t g_key;
static bool g_have_key;

static void drop_root(void*) {
  lock();
  if (t.root_number > 0) g_taken[t.root_number - 1] = false;
  t.root_number = 0;
  t.plan = nullptr;
  unlock();
}

static int free_number() {
  const int count = static_cast<int>(sizeof g_taken / sizeof *g_taken);
  for (int i = 0; i < count; i++)
    if (!g_taken[i]) {
      g_taken[i] = true;
      return i;
    }
  return count - 1;  // more than a thousand threads open regions at once: the rest share the last root
}

static Node* take_root(Plan* plan) {
  lock();
  if (!t.root_number) {
    if (!g_have_key) g_have_key = pthread_key_create(&g_key, drop_root) == 0;
    t.root_number = free_number() + 1;
    if (g_have_key) pthread_setspecific(g_key, &t);
  }
  Node* root = find_root(plan, cured(Cure::kRoots) ? t.root_number - 1 : 0);
  unlock();
  if (!root) return nullptr;
  // A thread that comes with a narrower mask of its own (an attribute, numactl's calls) keeps it for all it
  // starts.
  if (t.held == kKeep && !t.has_own && t.root_number > 1) t.has_own = t.own.load(0);
  t.plan = plan;
  t.root = root;
  if (automatic_waits()) t.look = t.period = 1;
  return root;
}

// A thread's first region under the plan in force. A lone thread's region binds nobody, but it is a level.
Node* first_opener() {
  if (!g.prepared.load(std::memory_order_acquire)) first_region();
  Plan* plan = g.plan.load(std::memory_order_acquire);
  return plan ? take_root(plan) : nullptr;
}

void forget_other_roots() {
  memset(g_taken, 0, sizeof g_taken);
  if (t.root_number > 0) g_taken[t.root_number - 1] = true;
}

void reset_lock() { pthread_mutex_init(&g_lock, nullptr); }

// ---- binding ------------------------------------------------------------------------------------
static void refused(int pu, long rc) {
  static std::atomic<bool> said;
  account_refused();
  if (narrowed_from_outside()) return;
  if (!said.exchange(true))
    say("cannot bind a thread to PU %d (%s): it runs where it was", pu, strerror(static_cast<int>(-rc)));
}

void note_bound(int place, unsigned epoch) {
  t.held = place;
  t.epoch = epoch;
  t.self = (uintptr_t)pthread_self();
  t.look = t.period = 1;
  t.strange = false;
  account_bound(place);
}

void settle(Node* node) {
  const int place = node->place;
  const unsigned epoch = g.epoch.load(std::memory_order_relaxed);
  if (place == kKeep || (place == t.held && t.epoch == epoch)) return;
  if (t.first_place && !cured(Cure::kRebind)) return;
  if (node->plan && node->plan->automatic && place > kKeep && t.held > kKeep && place != t.held)
    automatic_moved();
  if (place == kFree || !home().has(pu_of_place(place))) {  // no longer ours: a plan from before
    own_mask().store(0);
  } else {
    Mask one{};
    one.add(pu_of_place(place));
    const long rc = one.store(0);
    if (rc < 0) refused(pu_of_place(place), rc);
  }
  note_bound(place, epoch);
}

}  // namespace nigh::preload
