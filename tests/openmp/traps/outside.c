/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Somebody outside changes the masks of all threads while the program runs, as `taskset -ap` and kubelet do.
 * "all": to all CPUs, and the threads must be back on their own within 0.6 s of regions; "one": to a single
 * CPU, which is then the program's; "self": one thread changes its own, past libc; "cpuset
 * FILE": the cpuset that it runs in is cut to that CPU. */
#include <dirent.h>
#include <omp.h>
#include <time.h>

#include "trap.h"

typedef struct {
  unsigned long words[128];
} Cpus;

static void set_all(int pid, const Cpus* cpus) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* tasks = opendir(path);
  for (struct dirent* entry; (entry = readdir(tasks));)
    if (atoi(entry->d_name) > 0) syscall(SYS_sched_setaffinity, atoi(entry->d_name), sizeof *cpus, cpus);
  closedir(tasks);
}

static void by_another_process(const Cpus* cpus) {
  const int me = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    set_all(me, cpus);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
}

static void by_cpuset(const char* path, const char* cpus) {
  FILE* file = fopen(path, "w");
  if (!file || fputs(cpus, file) < 0 || fclose(file)) exit(2);
}

static int cpu[2], size[2];

static void region(void) {
#pragma omp parallel num_threads(2)
  {
    cpu[omp_get_thread_num()] = only_cpu();
    size[omp_get_thread_num()] = mask_size();
  }
}

static void regions_for_a_while(void) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    region();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1e3 + (now.tv_nsec - start.tv_nsec) / 1e6 < 600);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "all";
  Cpus whole = {{0}}, wish = {{0}};
  syscall(SYS_sched_getaffinity, 0, sizeof whole, &whole);
  region();
  const int first = cpu[0], second = cpu[1];
  expect("whether both threads are bound", first >= 0 && second >= 0 && first != second, 1);
  if (!strcmp(what, "all")) wish = whole;
  if (!strcmp(what, "one")) wish.words[second / 64] = 1UL << (second % 64);
  char all[64], one[16];
  snprintf(all, sizeof all, "%d,%d", first, second);
  snprintf(one, sizeof one, "%d", second);
  const int cut = !strcmp(what, "one") || !strcmp(what, "cpuset");
  if (!strcmp(what, "cpuset")) {
    by_cpuset(argv[2], one);
  } else if (!strcmp(what, "self")) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) syscall(SYS_sched_setaffinity, 0, sizeof whole, &whole);
  } else {
    by_another_process(&wish);
  }
  regions_for_a_while();
  expect("thread 0's number of CPUs", size[0], 1);
  expect("thread 1's number of CPUs", size[1], 1);
  expect("thread 0's CPU", cpu[0], cut ? second : first);
  expect("thread 1's CPU", cpu[1], second);
  if (cut) { /* and back again: what the program had at first is taken up again */
    if (!strcmp(what, "cpuset"))
      by_cpuset(argv[2], all);
    else
      by_another_process(&whole);
    regions_for_a_while();
    expect("thread 0's CPU when all are there again", cpu[0], first);
    expect("thread 1's CPU when all are there again", cpu[1], second);
  }
  return verdict();
}
