// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/in_child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sys/socket.hpp"

namespace nigh::sys {

namespace {
constexpr std::size_t longest_answer = std::size_t{64} << 20;
constexpr char end_of_answer = 0;  // which no JSON has

void limit(int resource, rlim_t value) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  now.rlim_cur = std::min(value, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// A sanitizer's shadow has more addresses than any limit.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool limits_memory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif
#else
constexpr bool limits_memory = true;
#endif

void limit_memory(std::uint64_t bytes) {
  unsigned long long pages = 0;
  std::FILE* file = limits_memory ? std::fopen("/proc/self/statm", "re") : nullptr;
  if (file == nullptr) return;
  if (std::fscanf(file, "%llu", &pages) == 1)
    limit(RLIMIT_AS, pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes);
  std::fclose(file);
}

// Handlers of the program's would tell of a crash that is none of its own.
void forget_handlers() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU, SIGPIPE,
                           SIGTERM, SIGINT, SIGALRM})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t some = ::write(fd, text.data() + done, text.size() - done);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return;
    done += static_cast<std::size_t>(some);
  }
}

[[noreturn]] void be_child(int out, const std::function<std::string()>& work, const ChildLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  forget_handlers();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu_seconds));
  limit_memory(limits.bytes);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  try {
    write_all(out, work() + end_of_answer);
  } catch (...) { _exit(1); }
  _exit(0);
}

// Until the child has closed its end; false: it took too long, or says too much.
bool listen_to(int in, int seconds, std::string& heard) {
  const std::int64_t end = now_ms() + std::int64_t{1000} * seconds;
  char some[65536];
  while (heard.size() <= longest_answer) {
    const std::int64_t left = end - now_ms();
    if (left <= 0) return false;
    pollfd watched{in, POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t bytes = ::read(in, some, sizeof some);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    heard.append(some, static_cast<std::size_t>(bytes));
  }
  return false;
}

// 0 where the program takes the ends of its children itself.
int wait_for(int child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

std::string how_it_failed(bool in_time, int status, const ChildLimits& limits) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (!in_time) return "took more than " + std::to_string(limits.seconds) + " seconds and was given up";
  if (signal == SIGXCPU)
    return "took more than " + std::to_string(limits.cpu_seconds) + " seconds of a CPU and was given up";
  if (signal != 0)
    return "crashed (signal " + std::to_string(signal) + ", " + ::strsignal(signal) + "): it is damaged";
  return "failed, or needs more memory than " + std::to_string(limits.bytes >> 30) + " GiB";
}
}  // namespace

Result<std::string> in_child(const std::string& what, const std::function<std::string()>& work,
                             const ChildLimits& limits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Errc::io, what + ": no pipe can be made: " + ::strerror(errno), errno);
  const pid_t child = ::fork();
  if (child == 0) be_child(ends[1], work, limits);
  const int error = errno;
  ::close(ends[1]);
  std::string heard;
  const bool in_time = child > 0 && listen_to(ends[0], limits.seconds, heard);
  ::close(ends[0]);
  if (child < 0)
    return fail(Errc::io, what + ": no process can be started for it: " + ::strerror(error), error);
  if (!in_time) ::kill(child, SIGKILL);
  const int status = wait_for(child);
  if (in_time && !heard.empty() && heard.back() == end_of_answer) {
    heard.pop_back();
    return heard;
  }
  return fail(Errc::invalid, what + ' ' + how_it_failed(in_time, status, limits));
}

}  // namespace nigh::sys
