// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/listen.hpp"

#include <sys/socket.h>

#include <csignal>

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

}  // namespace nigh::sys
