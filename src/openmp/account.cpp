// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collecting the account. Counters are relaxed atomics and records only grow, so that the account can be
// written while other threads still run, and whichever thread calls exit(). Only the first process of a run
// says that it saw no region; its children speak only if they have something to tell. The first process marks
// the variable it passes on by its case: NIGH_EXPLAIN=text becomes Text, in place, since libc is not there
// yet to change the environment.
#include "openmp/account.hpp"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openmp/automatic.hpp"
#include "openmp/callsite.hpp"
#include "openmp/cures.hpp"
#include "openmp/say.hpp"
#include "openmp/session.hpp"
#include "sys/launchers.hpp"

namespace nigh::preload {

static constinit struct {
  std::atomic<unsigned> outer, inner, bindings, refused, threads, moved;
  std::atomic<bool> program_made_threads;
  bool json;
  bool line;  // one line is wanted, no account
  std::atomic<bool> told;
  bool first_process;
  const char* stripped[16];
  int nstripped;
  Runtime runtime[kRuntimes];
  std::atomic<int> nruntimes;
} a{};

static void add(std::atomic<unsigned>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

Tally account_tally() { return {a.outer, a.inner, a.bindings, a.refused, a.threads, a.moved}; }

void account_begin(char* wish) {
  if (!wish || !*wish) return;
  const char first = static_cast<char>(*wish | 0x20);
  if (first != 't' && first != 'j' && first != 'l') return;
  a.line = first == 'l';
  if (a.line) return;
  g.explain = true;
  a.json = first == 'j';
  a.first_process = *wish == first;
  *wish = static_cast<char>(first & ~0x20);
}

void account_stripped(const char* entry) {
  if (a.nstripped < static_cast<int>(sizeof a.stripped / sizeof *a.stripped))
    a.stripped[a.nstripped++] = entry;
}

int account_stripped_entries(const char* const** list) {
  *list = a.stripped;
  return a.nstripped;
}

void account_runtime(const char* name, const char* path, const char* version) {
  lock();
  const int n = a.nruntimes.load(std::memory_order_relaxed);
  bool room = n < kRuntimes;
  for (int i = 0; i < n; i++) room = room && strcmp(a.runtime[i].path, path) != 0;
  if (room) {
    Runtime& runtime = a.runtime[n];
    runtime.name = name;
    strncpy(runtime.path, path, sizeof runtime.path - 1);
    strncpy(runtime.version, version ? version : "", sizeof runtime.version - 1);
    a.nruntimes.store(n + 1, std::memory_order_release);
  }
  unlock();
}

int account_runtimes(const Runtime** list) {
  *list = a.runtime;
  return a.nruntimes.load(std::memory_order_acquire);
}

void account_refused() { add(a.refused); }

void account_bound(int place) {
  if (place > kKeep && !t.first_place) {
    t.first_place = place;
    if (g.explain) add(a.threads);
  } else if ((g.explain || a.line) && place > kKeep && place != t.first_place && !t.counted) {
    t.counted = true;
    add(a.moved);
  }
  if (g.explain) add(a.bindings);
}

static Visits* visits_of(Node* node) {
  Visits* visits = node->visits.load(std::memory_order_acquire);
  if (visits) return visits;
  auto* made = static_cast<Visits*>(calloc(1, sizeof(Visits)));
  if (made && node->visits.compare_exchange_strong(visits, made)) return made;
  free(made);
  return visits;
}

static void note_thread(Visits& visits, int tid) {
  for (auto& slot : visits.thread) {
    int there = slot.load(std::memory_order_relaxed);
    if (there == tid || (there == 0 && slot.compare_exchange_strong(there, tid)) || there == tid) return;
  }
  add(visits.more_threads);
}

void account_enter(Node* node) {
  if (node == &g.helper) return;
  if (node->index == 0) add(node->depth == 1 ? a.outer : a.inner);
  Visits* visits = visits_of(node);
  if (!visits) return;
  add(visits->count);
  const int cpu = sched_getcpu();
  visits->seen.store(cpu + 1, std::memory_order_relaxed);
  if (node->place > kKeep && cpu != pu_of_place(node->place)) add(visits->elsewhere);
  note_thread(*visits, static_cast<int>(nigh_raw_gettid()));
}

static void forget_visits(Node* node) {
  if (Visits* visits = node->visits.load(std::memory_order_relaxed))
    memset(static_cast<void*>(visits), 0, sizeof *visits);
  for (Kids* kids = node->kids.load(std::memory_order_acquire); kids; kids = kids->next)
    for (unsigned i = 0; i < kids->size; i++) forget_visits(&kids->node[i]);
}

void account_forget() {
  a.outer = a.inner = a.bindings = a.refused = a.threads = a.moved = 0;
  a.first_process = false;
  a.told = true;  // the line is the parent's
  for (auto& count : g_cures_used) count = 0;
  for (const Plan* plan = all_plans(); plan; plan = plan->next)
    for (Root* root = plan->roots; root; root = root->next) forget_visits(&root->node);
}

// ---- a libgomp that was linked in ---------------------------------------------------------------
// A static libgomp calls libc's pthread_create, thus us, from the program's own code: worth a look at the
// end.
void account_thread_made(void* caller) {
  if (a.program_made_threads.load(std::memory_order_relaxed) || g.prepared.load(std::memory_order_relaxed))
    return;
  if (!from_runtime(caller)) a.program_made_threads.store(true, std::memory_order_relaxed);
}

// libgomp's error messages and variables are in its read-only data, wherever that was linked to.
static int look_for_libgomp(dl_phdr_info* info, size_t, void* found) {
  if (info->dlpi_name && *info->dlpi_name) return 1;  // the program itself comes first, and has no name
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_R)) continue;
    const auto* start =
        reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);  // NOLINT(performance-no-int-to-ptr)
    if (memmem(start, part.p_filesz, "GOMP_SPINCOUNT", 14)) *static_cast<bool*>(found) = true;
  }
  return 1;
}

bool has_static_libgomp() {
  bool found = false;
  dl_iterate_phdr(look_for_libgomp, &found);
  return found;
}

// ---- one line -----------------------------------------------------------------------------------
// The largest team of those that this node opened and whose threads are bound.
static const Kids* widest_team(const Node& node) {
  const Kids* widest = nullptr;
  for (const Kids* kids = node.kids.load(std::memory_order_acquire); kids; kids = kids->next)
    if (kids->size > 1 && kids->node[1].place > kKeep && (!widest || kids->size > widest->size))
      widest = kids;
  return widest;
}

static int teams_text(const Node* node, char* text, size_t size) {
  int length = 0;
  for (const Kids* team = widest_team(*node); team; team = widest_team(team->node[0])) {
    const int n =
        snprintf(text + length, size - static_cast<size_t>(length), "%s%u", length ? "x" : "", team->size);
    if (n < 0 || n >= static_cast<int>(size) - length) break;
    length += n;
  }
  return length;
}

// "teams of 4x2 bound, 0 threads moved since"; 0: no team was placed, and nothing kept it from that.
static int line_text(char* text, size_t size) {
  char teams[128] = "";
  for (const Plan* plan = all_plans(); plan && !*teams; plan = plan->next)
    for (const Root* root = plan->roots; root; root = root->next)
      if (root->number == 0) teams_text(&root->node, teams, sizeof teams);
  const char* reason = automatic_reason();
  if (reason && a.line) return snprintf(text, size, "teams not bound: %s", reason);
  if (!*teams) return 0;
  return snprintf(text, size, "teams of %s bound, %u thread%s moved since", teams, a.moved.load(),
                  a.moved.load() == 1 ? "" : "s");
}

static void print_line() {
  char text[512];
  // Only a process that opened regions has something to tell.
  if (!g.prepared.load() || a.told.load() || !sys::speaks_for_node(sys::lookup_variable, nullptr)) return;
  if (line_text(text, sizeof text) > 0) say("%s: %s", program_invocation_short_name, text);
}

void account_end() {
  if (teams_are_off()) return;
  if (a.line) return print_line();
  const bool saw_regions = a.outer.load() > 0;
  if (g.explain) {
    // Unless somebody named teams, only a process with an OpenMP runtime reports: not a shell, nor mpirun.
    const bool asked = automatic_wanted() || automatic_reason() ? a.nruntimes.load() > 0 : a.first_process;
    if (saw_regions || automatic_needless() || asked) print_account(a.json);
    return;
  }
  const char* spec = wished_spec();
  if (g.prepared.load() || !a.program_made_threads.load() || !spec) return;
  if (has_static_libgomp())
    say("this program has libgomp linked into it (-static-libgomp or -static), where its regions can't be "
        "seen: it ran unbound; link it with the shared libgomp");
}

}  // namespace nigh::preload

// For the account of MPI, which then speaks for both.
NIGH_EXPORT int nigh_openmp_line(char* text, size_t size) {
  nigh::preload::a.told.store(true);
  return nigh::preload::line_text(text, size);
}
