// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A library's questions about the process it lives in, and the one way for a rank to end its peers with a
// status of its own choosing: a real-time signal whose handler leaves at once with the status it was sent.
#pragma once

#include <signal.h>
#include <unistd.h>

#include "sys/raw.h"

namespace nigh::sys {

inline int own_pid() { return static_cast<int>(nigh_raw_syscall3(SYS_getpid, 0, 0, 0)); }

// The signal that ends a peer; far from those that programs and runtimes take (they start at SIGRTMIN).
inline int end_signal() { return SIGRTMAX - 7; }

// From now on other ranks of our user may end this process by end_process(). A handler of the program's own
// is kept: false.
inline bool accept_end() {
  struct sigaction now = {};
  if (sigaction(end_signal(), nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return false;
  struct sigaction ours = {};
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ours.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_value.sival_int); };
  return sigaction(end_signal(), &ours, nullptr) == 0;
}

inline void end_process(int pid, int status) {
  sigval value = {};
  value.sival_int = status & 0xff;
  sigqueue(pid, end_signal(), value);
}

}  // namespace nigh::sys
