/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program for another C library: it uses what the preloaded library stands in front of, and must find all
 * of it as it would have. */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int cpus(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
}

static void* in_thread(void* out) {
  *(int*)out = cpus();
  return NULL;
}

int main(void) {
  int in = -1, status = -1;
  pthread_t thread;
  pthread_attr_t attr;
  pid_t pid;
  char* words[] = {"true", NULL};
  pthread_create(&thread, NULL, in_thread, &in);
  pthread_join(thread, NULL);
  pthread_getattr_np(pthread_self(), &attr);
  posix_spawnp(&pid, "true", NULL, NULL, words, environ);
  waitpid(pid, &status, 0);
  printf("%d %d %d %d\n", cpus(), in, status, system("exit 3") >> 8);
  fflush(stdout);
  return cpus() == in && status == 0 ? 0 : 1;
}
