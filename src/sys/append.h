/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens a file of lines (a log, an account) to append to it, also from inside a user's process: plain C, libc
 * and nothing else. Such names are often predictable and in folders of all, so what somebody may have planted
 * there is not written to: a link is followed if we or root made it, a file with further names is refused,
 * and a FIFO that nobody reads holds nobody up.
 */
#ifndef NIGH_SYS_APPEND_H
#define NIGH_SYS_APPEND_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor, or -1 with errno. */
static inline int nigh_open_append(const char* path) {
  const int how = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  struct stat facts;
  int fd = open(path, how | O_NOFOLLOW, 0666);
  if (fd < 0 && errno == ELOOP) {
    if (lstat(path, &facts) != 0) return -1;
    if (facts.st_uid != geteuid() && facts.st_uid != 0) {
      errno = EPERM;
      return -1;
    }
    fd = open(path, how, 0666);
  }
  if (fd < 0) return -1;
  if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink > 1) {
    close(fd);
    errno = EMLINK;
    return -1;
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

#endif
