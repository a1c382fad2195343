// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Local sockets by which processes of one user find each other: record-preserving AF_UNIX sockets with names
// that are in no file system (abstract; they vanish with their last owner, so nothing is ever left behind),
// the kernel's word about who is at the other end, and descriptors passed along. Straight to the kernel (see
// raw.h), never blocking, closed on exec, and never numbered 0, 1 or 2: a program that closed its standard
// streams would otherwise print into our conversation. Results: >= 0, or -errno.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "sys/raw.h"

namespace nigh::sys {

inline void close_fd(int fd) {
  if (fd >= 0) nigh_raw_syscall3(SYS_close, fd, 0, 0);
}

// The same open file at a number of at least `least`; the old number is closed. -errno: the old one stays.
inline int move_fd(int fd, int least) {
  long moved = nigh_raw_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
  if (moved >= 0) close_fd(fd);
  return static_cast<int>(moved);
}

// Keeps 0, 1 and 2 free of descriptors of ours.
inline int above_standard(long fd) {
  if (fd < 0 || fd > 2) return static_cast<int>(fd);
  int moved = move_fd(static_cast<int>(fd), 3);
  if (moved < 0) close_fd(static_cast<int>(fd));
  return moved;
}

struct SocketName {
  sockaddr_un address{};
  unsigned bytes = 0;
};

// `text` is at most 100 characters, else it is cut.
inline SocketName abstract_name(const char* text) {
  SocketName name;
  name.address.sun_family = AF_UNIX;
  std::size_t length = std::strlen(text);
  if (length > 100) length = 100;
  std::memcpy(name.address.sun_path + 1, text, length);
  name.bytes = static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return name;
}

inline int open_socket() {
  return above_standard(
      nigh_raw_syscall3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// -EADDRINUSE: somebody listens there.
inline int listen_at(const SocketName& name, int backlog) {
  int fd = open_socket();
  if (fd < 0) return fd;
  long done = nigh_raw_syscall3(SYS_bind, fd, reinterpret_cast<long>(&name.address), name.bytes);
  if (done == 0) done = nigh_raw_syscall3(SYS_listen, fd, backlog, 0);
  if (done == 0) return fd;
  close_fd(fd);
  return static_cast<int>(done);
}

// 0; -ECONNREFUSED: nobody listens; -EAGAIN: too many are waiting there, try again; -EPROTOTYPE: something
// else. After an error the socket may be tried with another name.
inline int try_connect(int fd, const SocketName& name) {
  long done = 0;
  do done = nigh_raw_syscall3(SYS_connect, fd, reinterpret_cast<long>(&name.address), name.bytes);
  while (done == -EINTR);
  return static_cast<int>(done);
}

inline int connect_to(const SocketName& name) {
  int fd = open_socket();
  if (fd < 0) return fd;
  int done = try_connect(fd, name);
  if (done == 0) return fd;
  close_fd(fd);
  return done;
}

inline int accept_from(int listener) {
  return above_standard(nigh_raw_syscall6(SYS_accept4, listener, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0));
}

// Ends the conversation for every process that holds this socket, also for a child forked meanwhile. A
// listener refuses whoever comes, but keeps its name.
inline void shut_down(int fd) { nigh_raw_syscall3(SYS_shutdown, fd, SHUT_RDWR, 0); }

inline void hang_up(int fd) {
  if (fd < 0) return;
  shut_down(fd);
  close_fd(fd);
}

// Says that we have no more to say; what the other end says still arrives.
inline void end_sending(int fd) { nigh_raw_syscall3(SYS_shutdown, fd, SHUT_WR, 0); }

// The listener (seen by the process that connected) or the process that connected (seen by the listener); pid
// 0: not visible from here.
inline bool peer_credentials(int fd, ucred& peer) {
  unsigned bytes = sizeof peer;
  return nigh_raw_syscall6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, reinterpret_cast<long>(&peer),
                           reinterpret_cast<long>(&bytes), 0) == 0;
}

// One record, with `passed` (-1: none) along. -EAGAIN or -ETOOMANYREFS: try again later.
inline long send_record(int fd, const void* data, std::size_t bytes, int passed = -1) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec piece = {.iov_base = const_cast<void*>(data), .iov_len = bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &passed, sizeof passed);
  }
  long sent = 0;
  do sent = nigh_raw_syscall3(SYS_sendmsg, fd, reinterpret_cast<long>(&message), MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent == -EINTR);
  return sent;
}

// One record and the descriptor that came with it (-1: none; several, or none free here: -EMFILE). 0: hung
// up.
inline long receive_record(int fd, void* data, std::size_t bytes, int& passed) {
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  iovec piece = {.iov_base = data, .iov_len = bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  passed = -1;
  long got = 0;
  do
    got =
        nigh_raw_syscall3(SYS_recvmsg, fd, reinterpret_cast<long>(&message), MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got == -EINTR);
  if (got < 0) return got;
  bool several = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int one = -1;
      std::memcpy(&one, CMSG_DATA(head) + i * sizeof(int), sizeof one);
      several = several || passed >= 0;
      if (passed >= 0) close_fd(passed);
      passed = one;
    }
  }
  if (several) {
    close_fd(passed);
    passed = -1;
    return -EMFILE;
  }
  passed = above_standard(passed);
  return got;
}

// poll(2) without its restarts: a signal ends the wait early with 0.
inline int wait_for(pollfd* fds, std::size_t count, int limit_ms) {
  timespec limit = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L};
  long ready = nigh_raw_syscall6(SYS_ppoll, reinterpret_cast<long>(fds), static_cast<long>(count),
                                 limit_ms < 0 ? 0 : reinterpret_cast<long>(&limit), 0, 0, 0);
  return ready == -EINTR ? 0 : static_cast<int>(ready);
}

inline long now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

}  // namespace nigh::sys
