// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One loop over one socket. Everything is a raw system call on static storage. It never writes to a terminal,
// holds no descriptor but its socket, and no signal but SIGKILL and SIGSTOP reaches it.
#include "sys/supervisor.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sys/pidfd.hpp"
#include "sys/raw.h"
#include "sys/socket.hpp"

namespace nigh::sys::supervisor {

namespace {
// The processes that are frozen now. The supervisor is single-threaded and serves one owner.
struct Held {
  bool any = false;
  bool expired = false;
  long since_ms = 0, until_ms = 0, lasted_ms = 0;
  std::array<char, 512> cgroup_file{};
  int count = 0;
  std::array<Target, most_processes> targets{};
};

void thaw(Held& held) {
  if (!held.any) return;
  if (held.cgroup_file[0] != '\0') set_frozen(held.cgroup_file.data(), false);
  for (int i = 0; i < held.count; ++i) go_on(held.targets[static_cast<std::size_t>(i)]);
  held.any = false;
  held.lasted_ms = now_ms() - held.since_ms;
}

Reply freeze(Held& held, const Request& request) {
  Reply reply;
  thaw(held);
  held.any = true;
  held.expired = false;
  held.since_ms = now_ms();
  held.until_ms = held.since_ms + request.limit_ms;
  held.cgroup_file = request.cgroup_file;
  held.count = 0;
  if (held.cgroup_file[0] != '\0') {
    int done = set_frozen(held.cgroup_file.data(), true);
    if (done == 0) reply.stopped = request.count;
    if (done == 0) return reply;
    reply.error = -done;
    held.cgroup_file[0] = '\0';
    held.any = false;
    return reply;
  }
  for (int i = 0; i < request.count && i < most_processes; ++i) {
    const Target& who = request.targets[static_cast<std::size_t>(i)];
    int done = stop(who);
    if (done == 0)
      held.targets[static_cast<std::size_t>(held.count++)] = who, ++reply.stopped;
    else
      ++reply.skipped, reply.error = -done;
  }
  held.any = held.count > 0;
  return reply;
}

void alone(int socket) {
  setsid();
  prctl(PR_SET_NAME, "nigh-thaw");
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGTTIN,
                     SIGTTOU, SIGCHLD})
    ::signal(signal, SIG_IGN);
  // Nobody's pipe may stay open because of us.
  if (socket > 0) nigh_raw_syscall3(SYS_close_range, 0, socket - 1, 0);
  nigh_raw_syscall3(SYS_close_range, socket + 1, ~0U, 0);
}
}  // namespace

int stop(const Target& who) {
  long fd = nigh_raw_syscall3(SYS_pidfd_open, who.pid, 0, 0);
  if (fd < 0) return static_cast<int>(fd);
  ProcessFacts facts;
  int done = -ESRCH;
  if (process_facts(who.pid, facts) && facts.start == who.start)
    done = facts.state == 'T' || facts.state == 't'
               ? -EALREADY
               : static_cast<int>(nigh_raw_syscall6(SYS_pidfd_send_signal, fd, SIGSTOP, 0, 0, 0, 0));
  close_fd(static_cast<int>(fd));
  return done;
}

void go_on(const Target& who) {
  long fd = nigh_raw_syscall3(SYS_pidfd_open, who.pid, 0, 0);
  ProcessFacts facts;
  bool same = process_facts(who.pid, facts) && facts.start == who.start;
  if (fd >= 0 && same) nigh_raw_syscall6(SYS_pidfd_send_signal, fd, SIGCONT, 0, 0, 0, 0);
  // Out of descriptors: a stopped process can't end, so its number is still its own.
  if (fd < 0 && fd != -ESRCH) nigh_raw_syscall3(SYS_kill, who.pid, SIGCONT, 0);
  if (fd >= 0) close_fd(static_cast<int>(fd));
}

int set_frozen(const char* file, bool frozen) {
  long fd =
      nigh_raw_syscall6(SYS_openat, AT_FDCWD, reinterpret_cast<long>(file), O_WRONLY | O_CLOEXEC, 0, 0, 0);
  if (fd < 0) return static_cast<int>(fd);
  long wrote = nigh_raw_write(static_cast<int>(fd), frozen ? "1\n" : "0\n", 2);
  close_fd(static_cast<int>(fd));
  return wrote == 2 ? 0 : static_cast<int>(wrote < 0 ? wrote : -EIO);
}

void serve(int socket) {
  static Held held;
  static Request request;
  alone(socket);
  while (true) {
    long left = held.any ? held.until_ms - now_ms() : -1;
    if (held.any && left <= 0) {
      thaw(held);
      held.expired = true;
      continue;
    }
    pollfd look = {.fd = socket, .events = POLLIN, .revents = 0};
    if (wait_for(&look, 1, static_cast<int>(left)) <= 0) continue;
    int passed = -1;
    long got = receive_record(socket, &request, sizeof request, passed);
    close_fd(passed);
    if (got == -EAGAIN) continue;
    if (got != static_cast<long>(sizeof request)) break;  // end of file: our owner is gone
    Reply reply;
    if (request.order == Order::freeze) {
      reply = freeze(held, request);
    } else {
      thaw(held);
      reply.expired = held.expired ? 1 : 0;
      reply.frozen_ms = held.lasted_ms;
    }
    send_record(socket, &reply, sizeof reply);
  }
  thaw(held);
  ::_exit(0);
}

}  // namespace nigh::sys::supervisor
