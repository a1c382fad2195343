/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A child forked inside a region opens a region of its own. (libgomp can't do that after a region, with its
 * pool's threads gone, with or without us; inside one, where the child's region is nested, it can.) */
#include <omp.h>

#include "trap.h"

static int child(int whole) {
  int n = 0, bound = 0;
  expect("the forked child's mask", mask_size(), whole);
#pragma omp parallel num_threads(2) reduction(+ : n, bound)
  {
    n += omp_get_thread_num() + 1;
    bound += mask_size() == 1;
  }
  expect("the child's sum", n, 3);
  expect("the number of bound threads in the child", bound, 2);
  fflush(stdout);
  return trap_wrong;
}

int main(void) {
  const int whole = mask_size();
  int status = -1;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp master
  {
    pid_t pid = fork();
    if (pid == 0) _exit(child(whole));
    waitpid(pid, &status, 0);
  }
  expect("the child's exit status", status, 0);
  return verdict();
}
