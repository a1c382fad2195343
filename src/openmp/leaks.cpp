// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A bound thread hands its one-PU mask to every thread and process it starts; the program never asked for
// that. So what the program starts begins with the mask its maker would have had without us. A thread sets it
// for itself, in front of its own start routine; for a child process the maker steps out of its binding for
// the length of the call. After vfork() the child shares our memory but not our mask, so exec* changes the
// mask alone and leaves no trace in memory.
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "openmp/account.hpp"
#include "openmp/automatic.hpp"
#include "openmp/birth.hpp"
#include "openmp/callsite.hpp"
#include "openmp/core.hpp"
#include "openmp/cures.hpp"
#include "openmp/leaks.hpp"
#include "openmp/libc.hpp"
#include "openmp/ompt.hpp"
#include "openmp/started.hpp"

namespace nigh::preload {

// ---- threads ------------------------------------------------------------------------------------
template <class Routine>
struct Start {
  Routine run;
  void* arg;
  bool has_own;
  Mask mask;
};

template <class Routine>
static auto start(void* data) {
  auto* given = static_cast<Start<Routine>*>(data);
  const Routine run = given->run;
  void* arg = given->arg;
  given->mask.store(0);
  if (given->has_own) t.own = given->mask;
  t.has_own = given->has_own;
  free(given);
  return run(arg);
}

// The first act of a new thread of the program; null: none, it starts as the program says.
template <class Routine>
static Start<Routine>* start_for(Routine run, void* arg, void* caller) {
  if (!is_bound() || from_runtime(caller) || !cure_now(Cure::kPthread)) return nullptr;
  auto* given = static_cast<Start<Routine>*>(malloc(sizeof(Start<Routine>)));
  if (given) *given = {run, arg, t.has_own, own_mask()};
  return given;
}

// A mask in the attributes is the program's own wish. glibc fills the set with ones where there is none.
static bool has_mask(const pthread_attr_t* attr) {
  Mask mask{};
  if (!attr || !is_glibc() ||
      pthread_attr_getaffinity_np(attr, sizeof mask.word, reinterpret_cast<cpu_set_t*>(mask.word)))
    return false;
  return mask.count() < kMaskCpus;
}

// ---- forked children ----------------------------------------------------------------------------
// The lock is not held across the fork: the runtimes hold theirs when they call us, and take them in handlers
// of their own. All lists are published by one store, so the child finds them whole and only needs a lock
// that nobody holds.
static void in_child() {
  reset_lock();
  forget_other_roots();
  account_forget();
  automatic_forget();
  g.initial = &t;
  if (ompt_active()) t.node = nullptr;  // libomp starts afresh in the child, libgomp goes on
  if (!is_bound() || !cure_now(Cure::kFork)) return;
  own_mask().store(0);
  t.held = kKeep;
}

// The work of pthread_atfork; that is a static stub in glibc, and would need the symbol strongly.
void watch_forks() {
  if (__register_atfork) __register_atfork(nullptr, nullptr, in_child, &__dso_handle);
}

// ---- started programs ---------------------------------------------------------------------------
// Out of our binding for the length of a call. Touches the mask only, see above.
struct Unbound {
  const bool left;
  explicit Unbound(Cure cure) : left(is_bound() && cure_now(cure)) {
    if (left) own_mask().store(0);
  }
  ~Unbound() {
    Mask now, one{};
    if (!left) return;
    // A process that was started may have changed it, as `taskset -p` does: the next region looks at that.
    if (now.load(0) && !(now == own_mask()) && cured(Cure::kOutside)) return;
    one.add(pu_of_place(t.held));
    one.store(0);
  }
  Unbound(const Unbound&) = delete;
  Unbound& operator=(const Unbound&) = delete;
};

// The arguments of execl and its like, as a vector on the stack: malloc is not ours to call after vfork().
#define NIGH_COLLECT(first, args)                                         \
  size_t count = 1;                                                       \
  va_start(args, first);                                                  \
  while (va_arg(args, char*)) count++;                                    \
  va_end(args);                                                           \
  auto** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  argv[0] = const_cast<char*>(first);                                     \
  va_start(args, first);                                                  \
  for (size_t i = 1; i <= count; i++) argv[i] = va_arg(args, char*)

}  // namespace nigh::preload

using namespace nigh::preload;

NIGH_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*run)(void*),
                               void* arg) {
  auto* real = NIGH_NEXT(pthread_create);
  account_thread_made(__builtin_return_address(0));
  int rc = 0;
  if (t.opening && from_runtime(__builtin_return_address(0)) &&
      create_team_thread(thread, attr, run, arg, &rc))
    return rc;
  if (has_mask(attr)) return real(thread, attr, run, arg);
  auto* given = start_for(run, arg, __builtin_return_address(0));
  if (!given) return real(thread, attr, run, arg);
  rc = real(thread, attr, start<void* (*)(void*)>, given);
  if (rc) free(given);
  return rc;
}

NIGH_EXPORT int thrd_create(thrd_t* thread, thrd_start_t run, void* arg) {
  auto* real = NIGH_NEXT(thrd_create);
  auto* given = start_for(run, arg, __builtin_return_address(0));
  if (!given) return real(thread, run, arg);
  const int rc = real(thread, start<thrd_start_t>, given);
  if (rc != thrd_success) free(given);
  return rc;
}

NIGH_EXPORT int system(const char* command) {
  Unbound unbound(Cure::kSystem);
  return NIGH_NEXT(system)(command);
}

NIGH_EXPORT FILE* popen(const char* command, const char* mode) {
  Unbound unbound(Cure::kPopen);
  return NIGH_NEXT(popen)(command, mode);
}

NIGH_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attr, char* const* argv, char* const* envp) {
  const StartedEnvironment started(Started{AT_FDCWD, path, false}, envp);
  char* const* entries = NIGH_ENTRIES(started);
  Unbound unbound(Cure::kSpawn);
  return NIGH_NEXT(posix_spawn)(pid, path, actions, attr, argv, entries);
}

NIGH_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attr, char* const* argv, char* const* envp) {
  const StartedEnvironment started(Started{AT_FDCWD, file, true}, envp);
  char* const* entries = NIGH_ENTRIES(started);
  Unbound unbound(Cure::kSpawn);
  return NIGH_NEXT(posix_spawnp)(pid, file, actions, attr, argv, entries);
}

static int exec_path(const char* path, char* const* argv, char* const* envp) {
  const StartedEnvironment started(Started{AT_FDCWD, path, false}, envp);
  char* const* entries = NIGH_ENTRIES(started);
  Unbound unbound(Cure::kExec);
  return NIGH_NEXT(execve)(path, argv, entries);
}

NIGH_EXPORT int execve(const char* path, char* const* argv, char* const* envp) {
  return exec_path(path, argv, envp);
}

NIGH_EXPORT int execv(const char* path, char* const* argv) { return exec_path(path, argv, environ); }

static int exec_command(const char* file, char* const* argv, char* const* envp) {
  const StartedEnvironment started(Started{AT_FDCWD, file, true}, envp);
  char* const* entries = NIGH_ENTRIES(started);
  Unbound unbound(Cure::kExec);
  return NIGH_NEXT(execvpe)(file, argv, entries);
}

NIGH_EXPORT int execvpe(const char* file, char* const* argv, char* const* envp) {
  return exec_command(file, argv, envp);
}

NIGH_EXPORT int execvp(const char* file, char* const* argv) { return exec_command(file, argv, environ); }

NIGH_EXPORT int fexecve(int fd, char* const* argv, char* const* envp) {
  const StartedEnvironment started(Started{fd, "", false}, envp);
  char* const* entries = NIGH_ENTRIES(started);
  Unbound unbound(Cure::kExec);
  return NIGH_NEXT(fexecve)(fd, argv, entries);
}

NIGH_EXPORT int execveat(int folder, const char* path, char* const* argv, char* const* envp, int flags) {
  const StartedEnvironment started(Started{folder, path, false}, envp);
  char* const* entries = NIGH_ENTRIES(started);
  Unbound unbound(Cure::kExec);
  return NIGH_NEXT(execveat)(folder, path, argv, entries, flags);
}

NIGH_EXPORT int execl(const char* path, const char* first, ...) {
  va_list args;
  NIGH_COLLECT(first, args);
  va_end(args);
  return exec_path(path, argv, environ);
}

NIGH_EXPORT int execlp(const char* file, const char* first, ...) {
  va_list args;
  NIGH_COLLECT(first, args);
  va_end(args);
  return exec_command(file, argv, environ);
}

NIGH_EXPORT int execle(const char* path, const char* first, ...) {
  va_list args;
  NIGH_COLLECT(first, args);
  char* const* envp = va_arg(args, char* const*);
  va_end(args);
  return exec_path(path, argv, envp);
}
