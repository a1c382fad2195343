/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Another user who besets the ranks: connects to every abstract socket of ours that /proc/net/unix lists,
 * again and again, for as long as its standard input is open. Prints how many connections were made. beset
 * THREADS
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { most = 256, held = 1000 };
static struct sockaddr_un names[most];
static socklen_t bytes[most];
static volatile int count, over;
static long made;

static void look(void) {
  char line[512];
  int found = 0;
  FILE* file = fopen("/proc/net/unix", "re");
  while (file && fgets(line, sizeof line, file) && found < most) {
    const char* at = strstr(line, "@nigh-");
    if (!at) continue;
    size_t length = strcspn(at, "\n");
    names[found].sun_family = AF_UNIX;
    memset(names[found].sun_path, 0, sizeof names[found].sun_path);
    memcpy(names[found].sun_path + 1, at + 1, length - 1);
    bytes[found++] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  }
  if (file) fclose(file);
  count = found;
}

static void* knock(void* unused) {
  int open_fd[held], next = 0;
  memset(open_fd, -1, sizeof open_fd);
  while (!over) {
    if (count == 0) usleep(20);
    for (int i = 0; i < count && !over; ++i) {
      if (open_fd[next] >= 0) close(open_fd[next]);
      open_fd[next] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
      if (connect(open_fd[next], (struct sockaddr*)&names[i], bytes[i]) == 0) __sync_fetch_and_add(&made, 1);
      next = (next + 1) % held;
    }
  }
  return unused;
}

int main(int argc, char** argv) {
  struct rlimit files;
  pthread_t thread;
  if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 77;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; --i)
    if (pthread_create(&thread, NULL, knock, NULL) != 0) return 1;
  struct pollfd end = {.fd = 0, .events = POLLIN, .revents = 0};
  while (poll(&end, 1, 0) == 0) look();
  over = 1;
  printf("%ld\n", made);
  return 0;
}
