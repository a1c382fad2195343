// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/start.hpp"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "sys/cgroup.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"

#ifndef MPOL_F_NUMA_BALANCING
#define MPOL_F_NUMA_BALANCING (1 << 13)
#endif
// Members of an enum in the kernel's header, which may be older than the kernel.
#define MPOL_PREFERRED_MANY 5
#define MPOL_WEIGHTED_INTERLEAVE 6

namespace nigh::sys {

namespace {

// True if the cpuset leaves us none of them.
bool none_allowed(const CpuSet& nodes) {
  std::vector<std::uint64_t> allowed(16, 0);  // 1024 nodes: as many as a kernel can be built for
  if (::syscall(SYS_get_mempolicy, nullptr, allowed.data(), allowed.size() * 64, nullptr,
                MPOL_F_MEMS_ALLOWED) != 0)
    return false;
  return !nodes.intersects(CpuSet::from_words(std::move(allowed)));
}

tl::unexpected<Error> cannot_start(const std::vector<std::string>& words, int error) {
  return fail(Errc::io, "can't start " + words.front() + ": " + std::strerror(error), error);
}

// The report of the child in the pipe when it could not become the program; the pipe closes by itself when it
// could.
struct Trouble {
  int stage = 0;  // 1: the policy, 2: exec
  int error = 0;
};

[[noreturn]] void become_child(const std::vector<std::string>& words, const std::optional<CpuSet>& nodes,
                               const std::string& group_procs, int pipe) {
  Trouble trouble;
  if (!group_procs.empty()) static_cast<void>(write_in_place(group_procs, "0"));
  if (nodes) {
    if (auto set = measure_only_policy(*nodes); !set) trouble = {1, set.error().sys_errno};
  }
  if (trouble.stage == 0) trouble = {2, become(words, environment())};
  static_cast<void>(!::write(pipe, &trouble, sizeof trouble));
  ::_exit(127);
}

// Stage 0: it became the program.
Trouble told_by(int pipe) {
  Trouble trouble;
  ssize_t got = 0;
  do { got = ::read(pipe, &trouble, sizeof trouble); } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof trouble) ? trouble : Trouble{};
}

}  // namespace

namespace {

Result<void> set_mode(unsigned long mode, const char* what, const char* needs, const CpuSet& nodes) {
  if (::syscall(SYS_set_mempolicy, mode, nodes.words().data(), nodes.words().size() * 64 + 1) == 0) return {};
  const int error = errno;
  const std::string why = ": " + std::string(std::strerror(error));
  if (error == EPERM) return fail(Errc::permission, "a memory policy may not be set here" + why, error);
  if (error == ENOSYS) return fail(Errc::unsupported, "this kernel has no NUMA memory policies" + why, error);
  if (error == EINVAL && none_allowed(nodes))
    return fail(Errc::invalid,
                "none of the nodes \"" + nodes.to_list() +
                    "\" has memory that may be used here; see Mems_allowed_list in /proc/self/status",
                error);
  return fail(Errc::unsupported,
              std::string("the kernel refuses the ") + what + " memory policy on nodes " + nodes.to_list() +
                  " (needs " + needs + ")" + why,
              error);
}

}  // namespace

Result<void> measure_only_policy(const CpuSet& nodes) {
  return set_mode(MPOL_BIND | MPOL_F_NUMA_BALANCING, "measure-only", "Linux 5.12", nodes);
}

Result<void> set_memory_policy(MemoryPolicy policy, const CpuSet& nodes) {
  switch (policy) {
    case MemoryPolicy::bind: return set_mode(MPOL_BIND, "bind", "NUMA", nodes);
    // Older kernels than 5.15 know MPOL_PREFERRED alone, with one node.
    case MemoryPolicy::preferred:
      return set_mode(nodes.count() == 1 ? MPOL_PREFERRED : MPOL_PREFERRED_MANY, "preferred", "Linux 5.15",
                      nodes);
    case MemoryPolicy::interleave: return set_mode(MPOL_INTERLEAVE, "interleave", "NUMA", nodes);
    case MemoryPolicy::weighted_interleave:
      return set_mode(MPOL_WEIGHTED_INTERLEAVE, "weighted interleave", "Linux 6.9", nodes);
  }
  return {};
}

Result<int> start_program(const std::vector<std::string>& words, const std::optional<CpuSet>& nodes,
                          const std::string& group_procs) {
  if (words.empty() || words.front().empty())
    return fail(Errc::invalid, "no program is named: there is nothing to start", ENOENT);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_start(words, errno);
  const int pid = ::fork();
  if (pid == 0) become_child(words, nodes, group_procs, ends[1]);
  const int fork_error = errno;
  ::close(ends[1]);
  const Trouble trouble = pid > 0 ? told_by(ends[0]) : Trouble{};
  ::close(ends[0]);
  if (pid < 0) return cannot_start(words, fork_error);
  if (trouble.stage == 0) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
  const std::string why = ": " + std::string(std::strerror(trouble.error));
  if (trouble.stage == 1)
    return fail(Errc::unsupported,
                words.front() + ": the kernel refuses the measure-only memory policy on nodes " +
                    nodes->to_list() + why,
                trouble.error);
  return fail(trouble.error == EACCES ? Errc::permission : Errc::invalid,
              words.front() + ": can't execute it" + why, trouble.error);
}

std::optional<int> ended(int pid) {
  int status = 0;
  const int got = ::waitpid(pid, &status, WNOHANG);
  if (got == 0) return std::nullopt;
  if (got < 0) return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<int> ended_within(int pid, double seconds) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd look = {.fd = fd, .events = POLLIN, .revents = 0};
  // Without a descriptor (Linux before 5.3, none left) it is asked more often.
  ::poll(&look, fd < 0 ? 0 : 1, static_cast<int>(1000 * (fd < 0 ? std::min(seconds, 0.02) : seconds)));
  if (fd >= 0) ::close(fd);
  return ended(pid);
}

Result<int> start_copy(const std::function<Result<void>()>& ready) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Errc::io, std::string("can't make a pipe: ") + std::strerror(errno), errno);
  const int pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(ends[0]), ::close(ends[1]);
    return fail(Errc::io, std::string("can't fork: ") + std::strerror(error), error);
  }
  char go = 0;
  if (pid == 0) {
    ::close(ends[1]);
    ssize_t got = 0;
    do { got = ::read(ends[0], &go, 1); } while (got < 0 && errno == EINTR);
    ::close(ends[0]);
    if (got != 1) ::_exit(0);
    return 0;
  }
  ::close(ends[0]);
  Result<void> done = ready();
  if (done) static_cast<void>(!::write(ends[1], &go, 1));
  ::close(ends[1]);
  if (done) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
  return tl::unexpected(done.error());
}

namespace {

void close_all_but(const std::vector<int>& keep) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {0, 1, 2})
    if (nothing < 0 || ::dup2(nothing, fd) < 0) ::close(fd);
  std::vector<int> open;
  for (const std::string& name : Os().list("/proc/self/fd")) open.push_back(std::atoi(name.c_str()));
  for (const int fd : open)
    if (fd > 2 && std::find(keep.begin(), keep.end(), fd) == keep.end()) ::close(fd);
}

}  // namespace

Result<void> start_detached(const std::vector<int>& keep, const std::function<void()>& work) {
  const int pid = ::fork();
  if (pid < 0) return fail(Errc::io, std::string("can't fork: ") + std::strerror(errno), errno);
  if (pid == 0) {
    if (::setsid() < 0 || ::fork() != 0) ::_exit(0);
    close_all_but(keep);
    static_cast<void>(!::chdir("/"));
    work();
    ::_exit(0);
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
  return {};
}

int own_pid() { return ::getpid(); }

void send_signal(int pid, int signal) { ::kill(pid, signal); }

}  // namespace nigh::sys
