// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/listen.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "sys/os.hpp"

namespace nigh::sys {

struct KeepPipeSignal::Saved {
  struct sigaction action;
};

KeepPipeSignal::KeepPipeSignal() : saved_(std::make_unique<Saved>()) {
  ::sigaction(SIGPIPE, nullptr, &saved_->action);
}

KeepPipeSignal::~KeepPipeSignal() { ::sigaction(SIGPIPE, &saved_->action, nullptr); }

void block_pipe_signal() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

void own_port(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

namespace {

struct End {
  std::string address;
  int port = 0;
};

std::optional<End> end_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (ask(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return std::nullopt;
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return End{text, ntohs(v4.sin_port)};
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return End{text, ntohs(v6.sin6_port)};
}

}  // namespace

std::vector<Connection> connections_to(int port) {
  std::vector<Connection> out;
  for (const std::string& name : Os().list("/proc/self/fd")) {
    const int fd = std::atoi(name.c_str());
    const auto here = end_of(fd, ::getsockname), there = end_of(fd, ::getpeername);
    if (here && there && here->port == port) out.push_back({fd, there->port, there->address});
  }
  return out;
}

void end_connection(const Connection& connection) {
  const auto there = end_of(connection.fd, ::getpeername);
  if (there && there->port == connection.peer_port) ::shutdown(connection.fd, SHUT_RDWR);
}

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace nigh::sys
