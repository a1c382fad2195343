/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The trap of inherited masks: whatever a program starts after (or in) a region must have all its CPUs. */
#include <omp.h>
#include <pthread.h>
#include <spawn.h>
#include <threads.h>

#include "trap.h"

extern char** environ;
static char self[4096];

static void* in_thread(void* out) {
  *(int*)out = mask_size();
  return NULL;
}

static int in_c11_thread(void* out) {
  *(int*)out = mask_size();
  return 0;
}

static int count_in_pthread(void) {
  int n = -1;
  pthread_t t;
  pthread_create(&t, NULL, in_thread, &n);
  pthread_join(t, NULL);
  return n;
}

static int count_in_c11_thread(void) {
  int n = -1;
  thrd_t t;
  thrd_create(&t, in_c11_thread, &n);
  thrd_join(t, NULL);
  return n;
}

static int status_of(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count_in_fork(void) {
  pid_t pid = fork();
  if (pid == 0) _exit(mask_size());
  return status_of(pid);
}

static int count_in_spawn(int by_name) {
  char* argv[] = {self, "count", NULL};
  pid_t pid;
  if (by_name ? posix_spawnp(&pid, self, NULL, NULL, argv, environ)
              : posix_spawn(&pid, self, NULL, NULL, argv, environ))
    return -1;
  return status_of(pid);
}

static int count_in_system(void) {
  char command[5000];
  snprintf(command, sizeof command, "%s count", self);
  return WEXITSTATUS(system(command));
}

static int count_in_popen(void) {
  char command[5000];
  snprintf(command, sizeof command, "%s count", self);
  FILE* f = popen(command, "r");
  return WEXITSTATUS(pclose(f));
}

static const char* const execs[] = {"execl",   "execlp", "execle",  "execv",   "execvp",
                                    "execvpe", "execve", "fexecve", "execveat"};

static void exec_by(int which) {
  char* argv[] = {self, "count", NULL};
  switch (which) {
    case 0: execl(self, self, "count", (char*)NULL); break;
    case 1: execlp(self, self, "count", (char*)NULL); break;
    case 2: execle(self, self, "count", (char*)NULL, environ); break;
    case 3: execv(self, argv); break;
    case 4: execvp(self, argv); break;
    case 5: execvpe(self, argv, environ); break;
    case 6: execve(self, argv, environ); break;
    case 7: fexecve(3, argv, environ); break;
    case 8: execveat(3, "", argv, environ, 0x1000 /* AT_EMPTY_PATH */); break;
  }
}

static int count_in_exec(int which) {
  pid_t pid = vfork();
  if (pid == 0) {
    exec_by(which);
    _exit(255);
  }
  return status_of(pid);
}

static void check_execs(int whole) {
  FILE* me = fopen(self, "r");
  dup2(fileno(me), 3);
  for (int i = 0; i < (int)(sizeof execs / sizeof *execs); i++) {
    /* the first by hand, the rest after the same region: the caller stays bound throughout */
    expect(execs[i], count_in_exec(i), whole);
    expect("the parent's mask after vfork", mask_size(), 1);
  }
  expect("a failing exec's result", execl("/nowhere", "nowhere", (char*)NULL), -1);
  expect("the mask after a failing exec", mask_size(), 1);
}

/* A mask in the attributes is the program's own wish. */
static int count_with_attribute(void) {
  int n = -1;
  pthread_t t;
  pthread_attr_t attr;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  pthread_attr_init(&attr);
  pthread_attr_setaffinity_np(&attr, sizeof one, &one);
  pthread_create(&t, &attr, in_thread, &n);
  pthread_join(t, NULL);
  return n;
}

/* Attributes copied from a thread, to have one with the same stack. */
static int count_in_twin(pthread_t of) {
  int n = -1;
  size_t stack = 0;
  pthread_t t;
  pthread_attr_t attr;
  pthread_getattr_np(of, &attr);
  pthread_attr_getstacksize(&attr, &stack);
  pthread_attr_setstack(&attr, aligned_alloc(4096, 1 << 20), 1 << 20);
  if (pthread_create(&t, &attr, in_thread, &n) == 0) pthread_join(t, NULL);
  pthread_attr_destroy(&attr);
  return n;
}

static void* in_other(void* of) {
  cpu_set_t set;
  pthread_getaffinity_np(*(pthread_t*)of, sizeof set, &set);
  return (void*)(long)(count_in_twin(*(pthread_t*)of) == CPU_COUNT(&set) ? CPU_COUNT(&set) : -1);
}

static int count_by_another(void) {
  void* n = NULL;
  pthread_t t, me = pthread_self();
  pthread_create(&t, NULL, in_other, &me);
  pthread_join(t, &n);
  return (int)(long)n;
}

static int count_as_told(void) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int n = CPU_COUNT(&set);
  pthread_getaffinity_np(pthread_self(), sizeof set, &set);
  return CPU_COUNT(&set) == n ? n : -1;
}

static void check(const char* what, int whole) {
  if (!strcmp(what, "pthread")) {
    expect("a later pthread's mask", count_in_pthread(), whole);
    expect("a C11 thread's mask", count_in_c11_thread(), whole);
    expect("the mask of a pthread with an attribute", count_with_attribute(), 1);
  }
  if (!strcmp(what, "attributes")) {
    expect("the mask of a pthread with its maker's attributes", count_in_twin(pthread_self()), whole);
    expect("the same, as another thread sees this one", count_by_another(), whole);
  }
  if (!strcmp(what, "fork")) expect("a forked child's mask", count_in_fork(), whole);
  if (!strcmp(what, "system")) expect("system's mask", count_in_system(), whole);
  if (!strcmp(what, "popen")) expect("popen's mask", count_in_popen(), whole);
  if (!strcmp(what, "posix_spawn")) {
    expect("posix_spawn's mask", count_in_spawn(0), whole);
    expect("posix_spawnp's mask", count_in_spawn(1), whole);
  }
  if (!strcmp(what, "exec")) check_execs(whole);
  if (!strcmp(what, "numprocs")) expect("omp_get_num_procs", omp_get_num_procs(), whole);
  if (!strcmp(what, "affinity")) expect("the mask the serial part is told", count_as_told(), whole);
  expect("the mask of the master", mask_size(), 1); /* bound all along: no system call was spent on leaving */
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "count")) return mask_size();
  self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
  const int whole = mask_size();
  int inside = -1, procs = -1;
#pragma omp parallel num_threads(2)
  {
#pragma omp critical
    expect("a team member's mask", mask_size(), 1);
#pragma omp barrier
#pragma omp master
    {
      if (!strcmp(what, "pthread")) inside = count_in_pthread();
      if (!strcmp(what, "attributes")) inside = count_in_twin(pthread_self());
      procs = omp_get_num_procs();
    }
  }
  if (!strcmp(what, "attributes")) expect("the mask of a twin made inside a region", inside, whole);
  if (!strcmp(what, "pthread")) expect("the mask of a pthread made inside a region", inside, whole);
  if (!strcmp(what, "numprocs")) expect("omp_get_num_procs inside a region", procs, whole);
  check(what, whole);
  return verdict();
}
