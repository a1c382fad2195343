/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * refuse CALL[,CALL..] ERRNO COMMAND..: runs the command where the kernel refuses these system calls, as
 * container runtimes do. `socket` is refused for local sockets only: the launchers need the others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct call {
  const char* name;
  int number;
} const calls[] = {{"memfd_create", SYS_memfd_create},
                   {"socket", SYS_socket},
                   {"sendmsg", SYS_sendmsg},
                   {"recvmsg", SYS_recvmsg},
                   {"process_vm_readv", SYS_process_vm_readv},
                   {"pidfd_open", SYS_pidfd_open},
                   {"fallocate", SYS_fallocate},
                   {"ftruncate", SYS_ftruncate},
                   {"madvise", SYS_madvise},
                   {"futex_wait", 455},
                   {"getrandom", SYS_getrandom},
                   {"mremap", SYS_mremap},
                   {"prctl", SYS_prctl},
                   {"fcntl", SYS_fcntl},
                   {"sched_getaffinity", SYS_sched_getaffinity}};

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  struct sock_filter code[64];
  unsigned short n = 0;
  int error = atoi(argv[2]);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (char* name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
    int number = -1;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
      if (!strcmp(calls[i].name, name)) number = calls[i].number;
    if (number < 0) return fprintf(stderr, "refuse: no %s\n", name), 2;
    if (number == SYS_socket) {
      code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 4);
      code[n++] =
          (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
      code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1);
      code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
      code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    } else {
      code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
      code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    }
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    return fprintf(stderr, "refuse: no seccomp here: %s\n", strerror(errno)), 77;
  if (getenv("REFUSE_PRELOAD")) setenv("LD_PRELOAD", getenv("REFUSE_PRELOAD"), 1);
  execvp(argv[3], argv + 3);
  return fprintf(stderr, "refuse: %s: %s\n", argv[3], strerror(errno)), 127;
}
