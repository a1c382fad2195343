// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/start.hpp"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sys/program.hpp"

#ifndef MPOL_F_NUMA_BALANCING
#define MPOL_F_NUMA_BALANCING (1 << 13)
#endif

namespace nigh::sys {

namespace {

std::string words_of(const std::vector<std::string>& words) { return words.empty() ? "" : words.front(); }

// What the child writes into the pipe when it could not become the program; the pipe closes by itself when it
// could.
struct Trouble {
  int stage = 0;  // 1: the policy, 2: exec
  int error = 0;
};

[[noreturn]] void become_child(const std::vector<std::string>& words, const std::optional<CpuSet>& nodes,
                               int pipe) {
  Trouble trouble;
  if (nodes) {
    if (auto set = measure_only_policy(*nodes); !set) trouble = {1, set.error().sys_errno};
  }
  if (trouble.stage == 0) trouble = {2, become(words, environment())};
  static_cast<void>(!::write(pipe, &trouble, sizeof trouble));
  ::_exit(127);
}

}  // namespace

Result<void> measure_only_policy(const CpuSet& nodes) {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(16, 0);
  for (const int node : nodes.members())
    if (static_cast<std::size_t>(node) < mask.size() * bits)
      mask[static_cast<std::size_t>(node) / bits] |= 1UL << (static_cast<std::size_t>(node) % bits);
  if (::syscall(SYS_set_mempolicy, MPOL_BIND | MPOL_F_NUMA_BALANCING, mask.data(), mask.size() * bits + 1) ==
      0)
    return {};
  const int error = errno;
  const std::string why = ": " + std::string(std::strerror(error));
  if (error == EPERM) return fail(Errc::permission, "a memory policy may not be set here" + why, error);
  if (error == ENOSYS) return fail(Errc::unsupported, "this kernel has no NUMA memory policies" + why, error);
  return fail(Errc::unsupported,
              "the kernel refuses the measure-only memory policy on nodes " + nodes.to_list() +
                  " (needs Linux 5.12, and nodes with memory that may be used)" + why,
              error);
}

Result<int> start_program(const std::vector<std::string>& words, const std::optional<CpuSet>& nodes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Errc::io, "can't start " + words_of(words) + ": " + std::strerror(errno), errno);
  const int pid = ::fork();
  if (pid == 0) become_child(words, nodes, ends[1]);
  const int fork_error = errno;
  ::close(ends[1]);
  Trouble trouble;
  const bool failed =
      pid > 0 && ::read(ends[0], &trouble, sizeof trouble) == static_cast<ssize_t>(sizeof trouble);
  ::close(ends[0]);
  if (pid < 0)
    return fail(Errc::io, "can't start " + words_of(words) + ": " + std::strerror(fork_error), fork_error);
  if (!failed) return pid;
  ::waitpid(pid, nullptr, 0);
  const std::string what =
      trouble.stage == 1 ? "the kernel refuses the measure-only memory policy" : "can't execute it";
  return fail(trouble.stage == 1        ? Errc::unsupported
              : trouble.error == EACCES ? Errc::permission
                                        : Errc::invalid,
              words_of(words) + ": " + what + ": " + std::strerror(trouble.error), trouble.error);
}

std::optional<int> ended(int pid) {
  int status = 0;
  const int got = ::waitpid(pid, &status, WNOHANG);
  if (got == 0) return std::nullopt;
  if (got < 0) return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int own_pid() { return ::getpid(); }

void send_signal(int pid, int signal) { ::kill(pid, signal); }

}  // namespace nigh::sys
