/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The planner itself is C++ and brings hwloc along, so it stays in libnigh.so and is opened when the first
 * plan is made; a program that never asks for one does not load it. Its answers are kept for good in a hash
 * table that is only ever added to: readers walk it without a lock, one writer at a time asks the planner.
 *
 *   buckets[hash(ancestors, n)] -> team -> team     team: the ancestors' numbers and sizes, n, the n PUs */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nigh/plan.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openmp/pomp2.h"
#include "sys/append.h"
#include "sys/raw.h"

#ifndef NIGH_LIBDIR
#define NIGH_LIBDIR "/usr/local/lib"
#endif

enum { BUCKETS = 1024 }; /* a program has about as many teams as outer threads: far fewer than this */

struct team {
  struct team* next;
  struct pomp2_path path; /* of its threads; the innermost index is not used */
  int pu[];
};

struct planner_calls {
  int (*abi)(void);
  nigh_planner* (*make)(const char*, const int*, int, const char*, char*, size_t);
  int (*levels)(const nigh_planner*);
  int (*team)(const nigh_planner*, int, int, const int*, const int*, int, nigh_place*);
};

struct pomp2_plan {
  struct pomp2_plan* next;
  char* spec;
  nigh_planner* planner;
  const struct planner_calls* calls;
  pthread_mutex_t adding;
  _Atomic(struct team*) buckets[BUCKETS];
};

/* libnigh.so, where this library itself lies, where it was to be installed, or where the loader looks. */
static void* open_planner_library(void) {
  static const char name[] = "libnigh.so.0";
  char path[4096];
  Dl_info self;
  const char* slash = NULL;
  if (dladdr((const void*)open_planner_library, &self) != 0 && self.dli_fname != NULL)
    slash = strrchr(self.dli_fname, '/');
  void* library = NULL;
  if (slash != NULL && snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname,
                                name) < (int)sizeof path)
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) library = dlopen(NIGH_LIBDIR "/libnigh.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return library;
}

static void find(void* library, const char* name, void* function) {
  *(void**)function = dlsym(library, name);
}

/* The planner's functions, looked up once; NULL with a sentence in `error`. */
static const struct planner_calls* planner_calls(char* error, size_t size) {
  static struct planner_calls calls;
  if (calls.abi != NULL) return &calls;
  void* library = open_planner_library();
  if (library == NULL) {
    snprintf(error, size, "the planner could not be opened (%s)", dlerror());
    return NULL;
  }
  struct planner_calls found;
  find(library, "nigh_plan_abi", &found.abi);
  find(library, "nigh_planner_new", &found.make);
  find(library, "nigh_planner_levels", &found.levels);
  find(library, "nigh_planner_team", &found.team);
  if (found.abi == NULL || found.make == NULL || found.levels == NULL || found.team == NULL ||
      found.abi() != NIGH_PLAN_ABI) {
    snprintf(error, size,
             "the libnigh.so found is not version %d of the planner, install both from one build",
             NIGH_PLAN_ABI);
    return NULL;
  }
  calls = found;
  return &calls;
}

struct pomp2_plan* pomp2_plan_find(struct pomp2_plan* list, const char* spec) {
  while (list != NULL && strcmp(list->spec, spec) != 0) list = list->next;
  return list;
}

struct pomp2_plan* pomp2_plan_new(struct pomp2_plan** list, const char* spec, const int* cpus, int ncpus,
                                  char* error, size_t size) {
  const struct planner_calls* calls = planner_calls(error, size);
  if (calls == NULL) return NULL;
  const char* machine = getenv("NIGH_MACHINE");
  if (machine != NULL && *machine == '\0') machine = NULL;
  nigh_planner* planner = calls->make(spec, cpus, ncpus, machine, error, size);
  if (planner == NULL) return NULL;
  struct pomp2_plan* plan = calloc(1, sizeof *plan);
  char* copy = strdup(spec);
  if (plan == NULL || copy == NULL) { /* the planner is lost, as is all else by now */
    free(plan);
    free(copy);
    snprintf(error, size, "out of memory");
    return NULL;
  }
  plan->spec = copy;
  plan->planner = planner;
  plan->calls = calls;
  pthread_mutex_init(&plan->adding, NULL);
  plan->next = *list;
  *list = plan;
  return plan;
}

int pomp2_plan_levels(const struct pomp2_plan* plan) { return plan->calls->levels(plan->planner); }

static unsigned hash(const struct pomp2_path* path) {
  unsigned value = (unsigned)path->size[path->depth - 1];
  for (int i = 0; i < path->depth - 1; ++i)
    value = value * 31 + (unsigned)path->index[i] * 7919 + (unsigned)path->size[i];
  return (value ^ (value >> 10)) % BUCKETS;
}

static int same_team(const struct pomp2_path* a, const struct pomp2_path* b) {
  if (a->depth != b->depth) return 0;
  int parents = a->depth - 1;
  if (a->size[parents] != b->size[parents]) return 0;
  for (int i = 0; i < parents; ++i)
    if (a->index[i] != b->index[i] || a->size[i] != b->size[i]) return 0;
  return 1;
}

static struct team* find_team(struct team* first, const struct pomp2_path* path) {
  while (first != NULL && !same_team(&first->path, path)) first = first->next;
  return first;
}

static struct team* ask_planner(const struct pomp2_plan* plan, const struct pomp2_path* path) {
  int depth = path->depth - 1;
  int n = path->size[depth];
  nigh_place* places = malloc((size_t)n * sizeof *places);
  struct team* team = malloc(sizeof *team + (size_t)n * sizeof(int));
  int failed = places == NULL || team == NULL ||
               plan->calls->team(plan->planner, 0, depth, path->index, path->size, n, places) != 0;
  if (failed) {
    free(team);
    team = NULL;
  } else {
    team->path = *path;
    for (int i = 0; i < n; ++i) team->pu[i] = places[i].pu;
  }
  free(places);
  return team;
}

int pomp2_plan_pu(struct pomp2_plan* plan, const struct pomp2_path* path) {
  _Atomic(struct team*)* bucket = &plan->buckets[hash(path)];
  struct team* team = find_team(atomic_load_explicit(bucket, memory_order_acquire), path);
  if (team == NULL) {
    pthread_mutex_lock(&plan->adding);
    struct team* first = atomic_load_explicit(bucket, memory_order_relaxed);
    team = find_team(first, path);
    if (team == NULL && (team = ask_planner(plan, path)) != NULL) {
      team->next = first;
      atomic_store_explicit(bucket, team, memory_order_release);
    }
    pthread_mutex_unlock(&plan->adding);
  }
  return team == NULL ? -1 : team->pu[path->index[path->depth - 1]];
}

static int by_path(const void* left, const void* right) {
  const struct pomp2_path* a = &(*(struct team* const*)left)->path;
  const struct pomp2_path* b = &(*(struct team* const*)right)->path;
  for (int i = 0; i < a->depth - 1 && i < b->depth - 1; ++i) {
    if (a->size[i] != b->size[i]) return a->size[i] - b->size[i];
    if (a->index[i] != b->index[i]) return a->index[i] - b->index[i];
  }
  if (a->depth != b->depth) return a->depth - b->depth;
  return a->size[a->depth - 1] - b->size[b->depth - 1];
}

static void print_team(FILE* out, const struct team* team) {
  const struct pomp2_path* path = &team->path;
  int n = path->size[path->depth - 1];
  fprintf(out, "nigh-pomp2: team ");
  for (int i = 0; i < path->depth - 1; ++i) fprintf(out, "/%d:%d", path->index[i], path->size[i]);
  fprintf(out, "/*:%d on PUs", n);
  for (int i = 0; i < n; ++i) fprintf(out, " %d", team->pu[i]);
  fputc('\n', out);
}

/* Copies up to `room` teams to `out` (if there is room) and returns how many there are. */
static size_t collect(struct pomp2_plan* plan, struct team** out, size_t room) {
  size_t count = 0;
  for (int b = 0; b < BUCKETS; ++b)
    for (struct team* t = atomic_load(&plan->buckets[b]); t != NULL; t = t->next, ++count)
      if (count < room) out[count] = t;
  return count;
}

void pomp2_plan_account(struct pomp2_plan* plan, const char* file) {
  char* text = NULL;
  size_t bytes = 0;
  int fd = file == NULL ? STDERR_FILENO : nigh_open_append(file);
  FILE* out = fd < 0 ? NULL : open_memstream(&text, &bytes);
  if (out == NULL) {
    if (fd > STDERR_FILENO) close(fd);
    pomp2_say("can't write the account to %s", file == NULL ? "standard error" : file);
    return;
  }
  size_t room = collect(plan, NULL, 0);
  struct team** teams = calloc(room + 1, sizeof *teams);
  if (teams != NULL) {
    size_t count = collect(plan, teams, room);
    if (count > room) count = room; /* another thread met a new team just now */
    qsort(teams, count, sizeof *teams, by_path);
    for (size_t i = 0; i < count; ++i) print_team(out, teams[i]);
  }
  free(teams);
  if (fclose(out) == 0) nigh_raw_say(fd, text, bytes);
  free(text);
  if (fd != STDERR_FILENO) close(fd);
}
