// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The end of another process, learned without being its parent. A pidfd tells of this process and no later
// one with its number, also across pid namespaces; where descriptors are scarce or the kernel has none, /proc
// tells by number and start time. A descriptor that the program closed behind our back, and perhaps opened
// anew as something else, must never make a living process look dead: the word of a pidfd is confirmed.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sys/raw.h"
#include "sys/socket.hpp"

namespace nigh::sys {

struct ProcessFacts {
  char state = '?';
  long threads = 0;
  std::uint64_t start = 0;  // ticks since boot
};

// From /proc/PID/stat. False: no such process, or it may not be looked at.
inline bool process_facts(int pid, ProcessFacts& out) {
  char path[32], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  long fd =
      nigh_raw_syscall6(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (fd < 0) return false;
  long got = nigh_raw_syscall3(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  close_fd(static_cast<int>(fd));
  if (got <= 0) return false;
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');  // the name before it may hold anything
  if (at == nullptr || at[1] == '\0') return false;
  out.state = at[2];
  ++at;
  for (int field = 3; field <= 22 && *at != '\0'; ++field) {  // at " STATE ..."
    at += std::strspn(at, " ");
    if (field == 20) out.threads = std::strtol(at, nullptr, 10);
    if (field == 22) out.start = std::strtoull(at, nullptr, 10);
    at += std::strcspn(at, " ");
  }
  return out.start != 0;
}

// One process, from the moment it was seen at the other end of a socket.
struct Witness {
  int pid = 0;  // 0: not visible from our pid namespace
  int pidfd = -1;
  std::uint64_t start = 0;
};

// `keep_fd`: whether a descriptor may be held for it. It goes to a high number, out of the way of programs
// that count on low ones (select).
inline Witness witness_of(int socket, bool keep_fd) {
  constexpr int so_peerpidfd = 77;  // Linux 6.5; not in older headers
  Witness out;
  ucred peer{};
  if (peer_credentials(socket, peer)) out.pid = peer.pid;
  ProcessFacts facts;
  if (out.pid > 0 && process_facts(out.pid, facts)) out.start = facts.start;
  if (!keep_fd && out.start != 0) return out;
  int fd = -1;
  unsigned bytes = sizeof fd;
  if (nigh_raw_syscall6(SYS_getsockopt, socket, SOL_SOCKET, so_peerpidfd, reinterpret_cast<long>(&fd),
                        reinterpret_cast<long>(&bytes), 0) != 0)
    fd = out.pid > 0 ? static_cast<int>(nigh_raw_syscall3(SYS_pidfd_open, out.pid, 0, 0)) : -1;
  if (fd < 0) return out;
  rlimit limit{};
  int least = 3;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) least = limit.rlim_cur >= 1024 ? 640 : 3;
  int moved = move_fd(fd, least);
  out.pidfd = moved >= 0 ? moved : above_standard(fd);
  return out;
}

// This process, for one that goes on beside it. The descriptor is the caller's; -1: the kernel gives none.
inline Witness own_witness() {
  Witness out;
  out.pid = static_cast<int>(nigh_raw_syscall3(SYS_getpid, 0, 0, 0));
  ProcessFacts facts;
  if (process_facts(out.pid, facts)) out.start = facts.start;
  const long fd = nigh_raw_syscall3(SYS_pidfd_open, out.pid, 0, 0);
  out.pidfd = fd < 0 ? -1 : static_cast<int>(fd);
  return out;
}

inline bool has_ended_by_proc(const Witness& who) {
  ProcessFacts facts;
  if (who.pid <= 0 || who.start == 0) return false;  // nothing known: it lives
  if (!process_facts(who.pid, facts)) {
    // Not there, or not to be looked at: the kernel's word on the number decides.
    return nigh_raw_syscall3(SYS_kill, who.pid, 0, 0) == -ESRCH;
  }
  // A program whose main thread has left is shown as a zombie while others of its threads go on.
  return facts.start != who.start || ((facts.state == 'Z' || facts.state == 'X') && facts.threads <= 1);
}

inline bool has_ended(const Witness& who) {
  if (who.pidfd < 0) return has_ended_by_proc(who);
  pollfd look = {.fd = who.pidfd, .events = POLLIN, .revents = 0};
  if (wait_for(&look, 1, 0) <= 0 || (look.revents & (POLLIN | POLLNVAL)) == 0) return false;
  if (who.start != 0) return has_ended_by_proc(who);
  return nigh_raw_syscall6(SYS_pidfd_send_signal, who.pidfd, 0, 0, 0, 0, 0) == -ESRCH;
}

inline void forget(Witness& who) {
  close_fd(who.pidfd);
  who = {};
}

}  // namespace nigh::sys
