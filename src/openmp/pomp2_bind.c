/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opari2 calls us in every thread at the start of its implicit task but says nothing of the parent, so the
 * thread reads its path from OpenMP's ancestor functions, which every runtime has. It then binds itself,
 * unless it is there already: a region whose threads all come back to their places costs no system call.
 * Where the preloaded library (nigh run) is in the process, it places the threads and we stand aside. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "openmp/pomp2.h"
#include "sys/cpu_list.h"
#include "sys/raw.h"

/* From any runtime that the program is linked to; absent in a program without one. */
extern int omp_get_level(void) __attribute__((weak));
extern int omp_get_ancestor_thread_num(int level) __attribute__((weak));
extern int omp_get_team_size(int level) __attribute__((weak));

__attribute__((visibility("default"))) int nigh_omp_set_nesting_info(const char* spec);
/* The same under a name that nobody can interpose: its address is ours for certain. */
extern int own_set_nesting_info(const char* spec)
    __attribute__((alias("nigh_omp_set_nesting_info"), visibility("hidden")));

enum { MASK_WORDS = 128, WORD_BITS = 8 * (int)sizeof(unsigned long), MAX_PU = MASK_WORDS * WORD_BITS - 1 };
/* A thread that may be elsewhere than on one PU: on any that the process may use, or where we have not
 * looked yet (a new thread inherits the mask of the one that made it). */
enum { ANYWHERE = -1, UNTOUCHED = -2 };

static struct {
  unsigned long mask[MASK_WORDS]; /* what the process may use, read before anything was bound */
  size_t mask_bytes;              /* as much of it as the kernel has */
  int pretend;                    /* NIGH_MACHINE: plan for another machine, bind nothing */
  _Atomic(struct pomp2_plan*) active;
  _Atomic(struct pomp2_plan*) next; /* set during a region, taken up at the next outermost one */
} process;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static __thread int bound_pu __attribute__((tls_model("initial-exec"))) = UNTOUCHED;

void pomp2_say(const char* format, ...) {
  char line[1400] = "nigh-pomp2: ";
  size_t at = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line + at, sizeof line - at - 1, format, arguments);
  va_end(arguments);
  if (n > 0) at += (size_t)n < sizeof line - at - 1 ? (size_t)n : sizeof line - at - 2;
  line[at++] = '\n';
  nigh_raw_say(2, line, at);
}

static void bind_to(int pu);

/* ---- once per process ---- */

static void child_of_fork(void) { /* the new process is not a thread of any team */ bind_to(ANYWHERE); }

static void account(void) {
  struct pomp2_plan* plan = atomic_load(&process.active);
  const char* want = getenv("NIGH_EXPLAIN");
  const char* file = getenv("NIGH_EXPLAIN_FILE");
  char path[4096];
  if (plan == NULL || want == NULL || *want == '\0') return;
  const char* mark = file == NULL ? NULL : strstr(file, "%p");
  if (mark != NULL) {
    snprintf(path, sizeof path, "%.*s%ld%s", (int)(mark - file), file, (long)getpid(), mark + 2);
    file = path;
  }
  pomp2_plan_account(plan, file);
}

/* Read at load time: the later the mask is read, the more likely somebody has bound this thread. */
__attribute__((constructor)) static void read_mask(void) {
  long got = nigh_raw_getaffinity(0, process.mask, sizeof process.mask);
  process.mask_bytes = got > 0 ? (size_t)got : 0;
}

/* PUs of NIGH_MASK ("0-5,8"). 0: there are none, or that is no list, which is told once. */
static int pus_of_list(int* out) {
  static atomic_flag told = ATOMIC_FLAG_INIT;
  const char *list = getenv("NIGH_MASK"), *at = list;
  int count = 0;
  long first, last;
  if (list == NULL) return 0;
  while (nigh_next_cpus(&at, MAX_PU, &first, &last)) {
    for (long pu = first; pu <= last && count <= MAX_PU; ++pu) out[count++] = (int)pu;
    if (*at == '\0') return count;
  }
  char shown[64];
  size_t bytes = 0;
  for (; list[bytes] != '\0' && bytes < sizeof shown - 1; ++bytes)
    shown[bytes] = list[bytes] >= ' ' && list[bytes] <= '~' ? list[bytes] : '?';
  shown[bytes] = '\0';
  if (!atomic_flag_test_and_set(&told))
    pomp2_say("NIGH_MASK='%s': it may be a list of PUs, such as 0-5,8; it counts as not set", shown);
  return 0;
}

/* Those or, without them, PUs of the mask read at load time; all there may be on another machine, of which
 * our own mask says nothing. Returns their number. */
static int usable_pus(int* out) {
  int count = pus_of_list(out);
  if (count > 0) return count;
  for (int pu = 0; pu < (process.pretend ? MAX_PU + 1 : (int)process.mask_bytes * 8); ++pu)
    if (process.pretend || ((process.mask[pu / WORD_BITS] >> (pu % WORD_BITS)) & 1)) out[count++] = pu;
  return count;
}

/* One plan per distinct spec, kept for good: threads may be using any of them. */
static struct pomp2_plan* plan_for(const char* spec, char* error, size_t size) {
  static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
  static struct pomp2_plan* plans;
  pthread_mutex_lock(&making);
  struct pomp2_plan* plan = pomp2_plan_find(plans, spec);
  int* pus = plan == NULL ? malloc((MAX_PU + 1) * sizeof *pus) : NULL;
  if (pus != NULL) {
    int count = usable_pus(pus);
    plan = pomp2_plan_new(&plans, spec, pus, count, error, size);
    free(pus);
  }
  pthread_mutex_unlock(&making);
  return plan;
}

/* The variable that makes the runtime bind threads by itself, if one is set. */
static const char* foreign_binding(void) {
  static const char* const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (getenv(names[i]) != NULL) return names[i];
  return NULL;
}

static int other_library_places(void) {
  void* found = dlsym(RTLD_DEFAULT, "nigh_omp_set_nesting_info");
  return found != NULL && found != (void*)own_set_nesting_info;
}

static void start(void) {
  const char* machine = getenv("NIGH_MACHINE");
  const char* spec = getenv("OMP_NESTING_TEAM_SIZE");
  process.pretend = machine != NULL && *machine != '\0';
  if (spec == NULL || *spec == '\0' || other_library_places()) return;
  if (foreign_binding() != NULL) {
    pomp2_say(
        "%s makes the OpenMP runtime bind the threads itself; unset it to have OMP_NESTING_TEAM_SIZE obeyed",
        foreign_binding());
    return;
  }
  char error[1024] = "out of memory";
  struct pomp2_plan* plan = plan_for(spec, error, sizeof error);
  if (plan == NULL) pomp2_say("OMP_NESTING_TEAM_SIZE: %s; the program runs unbound", error);
  atomic_store(&process.active, plan);
}

static void start_once(void) {
  start();
  pthread_atfork(NULL, NULL, child_of_fork);
  atexit(account);
}

int nigh_omp_set_nesting_info(const char* spec) {
  char error[1024] = "out of memory";
  pthread_once(&started, start_once);
  struct pomp2_plan* plan = spec == NULL ? NULL : plan_for(spec, error, sizeof error);
  if (plan != NULL) {
    atomic_store(&process.next, plan);
    return 0;
  }
  pomp2_say("omp_set_nesting_info: %s; the plan stays as it was",
            spec == NULL ? "the argument is a null pointer" : error);
  return -1;
}

/* ---- at each region ---- */

void pomp2_fork(void) {
  pthread_once(&started, start_once);
  if (atomic_load_explicit(&process.next, memory_order_relaxed) == NULL) return;
  if (omp_get_level != NULL && omp_get_level() > 0) return;
  struct pomp2_plan* plan = atomic_exchange(&process.next, NULL);
  if (plan != NULL) atomic_store(&process.active, plan);
}

static void read_path(struct pomp2_path* path) {
  int levels = omp_get_level();
  path->depth = levels < POMP2_MAX_DEPTH ? levels : POMP2_MAX_DEPTH;
  for (int i = 0; i < path->depth; ++i) {
    path->index[i] = omp_get_ancestor_thread_num(i + 1);
    path->size[i] = omp_get_team_size(i + 1);
  }
}

static long set_mask(int pu) { /* ANYWHERE: all that the process may use */
  if (process.pretend) return 0;
  if (pu == ANYWHERE) return nigh_raw_setaffinity(0, process.mask, process.mask_bytes);
  unsigned long mask[MASK_WORDS];
  size_t words = (size_t)pu / WORD_BITS + 1;
  memset(mask, 0, words * sizeof *mask);
  mask[words - 1] = 1UL << (pu % WORD_BITS);
  return nigh_raw_setaffinity(0, mask, words * sizeof *mask);
}

/* Others may change our mask (taskset, cpusets): looked at once for each tick of the coarse clock. */
static int still_on(int pu) {
  static __thread long looked __attribute__((tls_model("initial-exec")));
  struct timespec now;
  unsigned long mask[MASK_WORDS];
  if (pu < 0 || process.pretend) return 1;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (looked == now.tv_nsec) return 1;
  looked = now.tv_nsec;
  long bytes = nigh_raw_getaffinity(0, mask, sizeof mask);
  for (int word = 0; word * (long)sizeof *mask < bytes; ++word)
    if (mask[word] != (word == pu / WORD_BITS ? 1UL << (pu % WORD_BITS) : 0)) return 0;
  return 1;
}

static void bind_to(int pu) {
  if (pu > MAX_PU || (pu == bound_pu && still_on(pu))) return;
  bound_pu = pu;
  if (set_mask(pu) >= 0) return;
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&said))
    pomp2_say("can't bind a thread to PU %d; is it offline or forbidden here?", pu);
}

/* The only thread of a team, and the master of a team deeper than the spec goes, stay where their parent is;
 * the others of such a deep team are free. */
static void place(struct pomp2_plan* plan, struct pomp2_path* path) {
  int planned = pomp2_plan_levels(plan);
  while (path->depth > 0) {
    int last = path->depth - 1;
    if (path->size[last] > 1 && (path->depth <= planned || path->index[last] != 0)) break;
    --path->depth;
  }
  if (path->depth > planned)
    bind_to(ANYWHERE);
  else if (path->depth > 0) {
    int pu = pomp2_plan_pu(plan, path);
    if (pu >= 0) bind_to(pu);
  }
}

void pomp2_begin(void) {
  struct pomp2_plan* plan = atomic_load_explicit(&process.active, memory_order_acquire);
  if (plan == NULL || omp_get_level == NULL || omp_get_team_size == NULL ||
      omp_get_ancestor_thread_num == NULL)
    return;
  struct pomp2_path path;
  read_path(&path);
  place(plan, &path);
}
