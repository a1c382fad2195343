/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The instructions of one call of an intercepted function, counted by single steps, so that no clock and no
 * counter of the machine is needed. The parent steps a child through int3; MPI_Get_count(...); int3 with the
 * library that the child was linked to, with or without us preloaded.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MARK() __asm__ volatile("int3" ::: "memory")
#define MARK_CODE SI_KERNEL
#elif defined(__aarch64__)
#define MARK() __asm__ volatile("brk #0" ::: "memory")
#define MARK_CODE TRAP_BRKPT
#endif

static void child(int argc, char** argv) {
  MPI_Status status;
  int count = 0;
  memset(&status, 0, sizeof status);
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) MPI_Get_count(&status, MPI_BYTE, &count);  // symbols are bound
  MARK();
  MPI_Get_count(&status, MPI_BYTE, &count);
  MARK();
  MPI_Finalize();
}

static int wait_for_trap(pid_t pid) {
  int status;
  for (;;) {
    if (waitpid(pid, &status, 0) < 0 || WIFEXITED(status) || WIFSIGNALED(status)) return 0;
    if (WSTOPSIG(status) == SIGTRAP) return 1;
    ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status));
  }
}

/* True if it was the second mark that trapped, not a step. */
static int is_breakpoint(pid_t pid) {
  siginfo_t info;
  return ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 && info.si_code == MARK_CODE;
}

int main(int argc, char** argv) {
  if (getenv("STEPS_CHILD")) {
    child(argc, argv);
    return 0;
  }
  pid_t pid = fork();
  if (pid == 0) {
    setenv("STEPS_CHILD", "1", 1);
    if (getenv("STEPS_PRELOAD")) setenv("LD_PRELOAD", getenv("STEPS_PRELOAD"), 1);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(argv[0], argv);
    _exit(127);
  }
  if (!wait_for_trap(pid)) return 1;  // exec
  ptrace(PTRACE_CONT, pid, 0, 0);
  if (!wait_for_trap(pid)) return 1;  // the first mark
  long steps = 0;
  do {
    ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
    if (!wait_for_trap(pid)) return 1;
    ++steps;
  } while (!is_breakpoint(pid) && steps < 100000);
  printf("%ld\n", steps);
  ptrace(PTRACE_KILL, pid, 0, 0);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  return 0;
}
