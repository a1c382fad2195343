/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * automatic MODE SECONDS [OUTER [INNER]]: opens regions for so long, then tells where the threads of one more
 * may run: "0:3 1:7" are thread 0 on PU 3, thread 1 on PU 7; "*": on several. Knows nothing of nigh.
 *   plain      teams of OUTER threads (0: the runtime's choice), each thread of which opens one of INNER
 *   own        the threads bind themselves first, to their PUs in reverse order
 *   fork       the last region is a forked child's
 *   root       the last region is another thread's
 *   closed     all descriptors are closed before a larger team; "0:0": a file of the program's own, which has
 *              got a number of nigh's, has a lock then; "0:*": it has none
 *   slow       as plain, but after 200 regions at most 50 a second
 *   alternate  the teams are of OUTER and of INNER threads in turn */
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int outer, inner;
static const char* mode;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void where(char* text, size_t size) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  snprintf(text, size, CPU_COUNT(&mask) == 1 ? "%d" : "*", sched_getcpu());
}

static void work(void) {
  volatile double sum = 0;
  for (int i = 0; i < 2000; i++) sum += i;
}

static void team(int threads, int below, char (*seen)[16]) {
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    work();
    if (below > 1) {
#pragma omp parallel num_threads(below)
      {
        work();
        if (seen) where(seen[me * below + omp_get_thread_num()], sizeof *seen);
      }
    } else if (seen) {
      where(seen[me], sizeof *seen);
    }
  }
}

static void bind_in_reverse(void) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
#pragma omp parallel num_threads(outer)
  {
    int left = CPU_COUNT(&all) - omp_get_thread_num(), cpu = -1;
    while (left > 0 && ++cpu < CPU_SETSIZE) left -= CPU_ISSET(cpu, &all) ? 1 : 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

static void* tell(void* unused) {
  static char seen[4096][16];
  const int below = strcmp(mode, "alternate") != 0 && inner > 1 ? inner : 1;
  team(outer, below, seen);
  for (int i = 0; i < outer * below; i++) printf("%s%d:%s", i > 0 ? " " : "", i, seen[i]);
  printf("\n");
  fflush(stdout);
  return unused;
}

/* Our own file under all numbers that somebody may take for his. */
static void close_all(void) {
  const int own = open("/dev/null", O_RDWR);
  const int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  for (int fd = own + 2; fd < 200; fd++) dup2(file, fd);
}

/* POSIX locks are the process's own, so a child asks. */
static void tell_locks(void) {
  if (fork() == 0) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    fcntl(150, F_GETLK, &lock);
    printf(lock.l_type == F_UNLCK ? "0:*\n" : "0:0\n");
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  mode = argv[1];
  outer = argc > 3 ? atoi(argv[3]) : 0;
  inner = argc > 4 ? atoi(argv[4]) : 0;
  if (outer < 1) outer = omp_get_max_threads();
  const int alternate = strcmp(mode, "alternate") == 0, slow = strcmp(mode, "slow") == 0;
  int regions = 0;
  const double end = now() + atof(argv[2]);
  if (inner > 1) omp_set_max_active_levels(2);
  if (strcmp(mode, "own") == 0) bind_in_reverse();
  if (strcmp(mode, "closed") == 0) {
    while (now() < end) team(outer, 1, NULL);
    close_all();
    team(outer + 1, 1, NULL);
    tell_locks();
    return 0;
  }
  while (now() < end) {
    team(outer, alternate ? 1 : inner, NULL);
    if (alternate) team(inner, 1, NULL);
    if (slow && ++regions > 200) usleep(20000);
  }
  if (strcmp(mode, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      tell(NULL);
      _exit(0);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  }
  if (strcmp(mode, "root") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, tell, NULL);
    pthread_join(thread, NULL);
    return 0;
  }
  tell(NULL);
  return 0;
}
