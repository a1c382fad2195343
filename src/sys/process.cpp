// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// fork and exec with three pipes: output, errors, and one that closes on exec and so brings errno when exec
// failed. Between fork and exec only async-signal-safe calls are made, since we may have threads.
#include "sys/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sys/os.hpp"
#include "sys/program.hpp"
#include "sys/threads.hpp"

namespace nigh::sys {

namespace {

// The most output of a command before it is cut off: enough for any report, too little to hurt.
constexpr std::size_t most_output = std::size_t{64} << 20;
// The time for which output is still read after the command has ended but a child of its keeps the pipe open.
constexpr double linger_seconds = 0.25;

class Pipe {
 public:
  Pipe() = default;
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool open() { return ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_read() { shut(ends_[0]); }
  void close_write() { shut(ends_[1]); }

 private:
  static void shut(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

[[noreturn]] void child(const std::string& file, char* const* words, char* const* environment, int out,
                        int err, int trouble) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0 && ::dup2(null, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2)
    ::execve(file.c_str(), words, environment);
  int error = errno;
  [[maybe_unused]] auto written = ::write(trouble, &error, sizeof error);
  ::_exit(127);
}

// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  std::array<char, 65536> buffer{};
  ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (into.size() < most_output) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

struct Watch {
  pid_t pid = -1;
  double deadline = 0;
  bool ended = false;
  int wait_status = 0;
};

// Only looks: while the ended command is not reaped its number can't become another group's.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

void look_at_child(Watch& watch, Finished& done) {
  if (watch.ended) return;
  if (has_ended(watch.pid)) {
    watch.ended = true;
    watch.deadline = std::min(watch.deadline, now_seconds() + linger_seconds);
  } else if (now_seconds() >= watch.deadline) {
    done.timed_out = true;
    ::kill(-watch.pid, SIGKILL);
    watch.ended = true;
  }
}

void collect(Watch& watch, Pipe& out, Pipe& err, Finished& done) {
  std::array<pollfd, 2> open{pollfd{out.reader(), POLLIN, 0}, pollfd{err.reader(), POLLIN, 0}};
  while (true) {
    bool reading = open[0].fd >= 0 || open[1].fd >= 0;
    if (watch.ended && (!reading || now_seconds() >= watch.deadline)) break;
    // Without an open pipe only the child's end is left to wait for.
    ::poll(open.data(), open.size(), reading ? 20 : 1);
    if (open[0].revents != 0 && !drain(open[0].fd, done.out)) open[0].fd = -1;
    if (open[1].revents != 0 && !drain(open[1].fd, done.err)) open[1].fd = -1;
    look_at_child(watch, done);
  }
  ::kill(-watch.pid, SIGKILL);  // whatever it left behind
  rusage used{};
  while (::wait4(watch.pid, &watch.wait_status, 0, &used) < 0 && errno == EINTR) {}
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  done.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  done.peak_kib = used.ru_maxrss;
}

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<std::string> executable_of(const Command& command) {
  if (command.words.empty()) return fail(Errc::invalid, "there is no command to run");
  auto file = find_program(command.words[0]);
  if (!file) return fail(Errc::invalid, command.words[0] + ": there is no such program", ENOENT);
  return *file;
}

}  // namespace

std::vector<std::string> command_environment(const Command& command, const std::vector<std::string>& ours) {
  auto cleared = [&](const std::string& name) {
    return std::any_of(command.clear.begin(), command.clear.end(), [&](const std::string& pattern) {
      bool prefix = !pattern.empty() && pattern.back() == '*';
      return prefix ? name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0
                    : name == pattern;
    });
  };
  std::vector<std::string> out;
  for (const std::string& entry : ours) {
    std::string name = entry.substr(0, entry.find('='));
    if (!cleared(name) && command.environment.count(name) == 0) out.push_back(entry);
  }
  for (const auto& [name, value] : command.environment)
    if (value) out.push_back(name + "=" + *value);
  return out;
}

double busy_cpu_seconds() {
  const auto text = read_file("/proc/stat");
  long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  if (!text || std::sscanf(text->c_str(), "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &user, &nice,
                           &system, &idle, &wait, &irq, &soft, &steal) < 4)
    return 0;
  return static_cast<double>(user + nice + system + irq + soft + steal) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<Finished> run_command(const Command& command) {
  auto file = executable_of(command);
  if (!file) return tl::unexpected(file.error());
  Pipe out, err, trouble;
  if (!out.open() || !err.open() || !trouble.open())
    return fail(Errc::io, "can't make a pipe: " + std::string(std::strerror(errno)), errno);
  auto environment = command_environment(command, sys::environment());
  auto words = exec_words(command.words), variables = exec_words(environment);

  Finished done;
  double started = now_seconds();
  Watch watch;
  watch.deadline = started + command.timeout_seconds;
  watch.pid = ::fork();
  if (watch.pid < 0)
    return fail(Errc::io, "can't start a process: " + std::string(std::strerror(errno)), errno);
  if (watch.pid == 0)
    child(*file, words.data(), variables.data(), out.writer(), err.writer(), trouble.writer());
  ::setpgid(watch.pid, watch.pid);  // both sides, whoever is first
  out.close_write(), err.close_write(), trouble.close_write();

  int error = 0;
  if (::read(trouble.reader(), &error, sizeof error) == sizeof error) {
    ::waitpid(watch.pid, nullptr, 0);
    return fail(error == EACCES ? Errc::permission : Errc::io, *file + ": " + std::strerror(error), error);
  }
  collect(watch, out, err, done);
  done.status = status_of(watch.wait_status);
  done.seconds = now_seconds() - started;
  return done;
}

}  // namespace nigh::sys
