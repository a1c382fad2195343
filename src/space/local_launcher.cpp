// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One thread and one poll loop over a signalfd, a pipe for failed execs and the desk. The ranks stay in the
// launcher's process group, so that the terminal is theirs as well: rank 0 may read it, Ctrl-C and Ctrl-Z
// reach all of them without us. Only signals that somebody sent to the launcher alone are handed on.
#include "space/local_launcher.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "space/door.hpp"
#include "space/job.hpp"
#include "sys/children.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"
#include "sys/socket.hpp"

namespace nigh::space {

namespace {

// From a rank's failure: the others may end by themselves, as they often do; then they are asked to; then
// ended.
constexpr long grace_ms = 250;
constexpr long ask_ms = 2000;

constexpr std::array handed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

bool ends_programs(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

struct Rank {
  pid_t pid = -1;
  bool running = false;
};

struct ExecFailure {
  int error = 0;
};

class Launcher {
 public:
  explicit Launcher(const RankLaunch& launch) : launch_(launch), desk_(launch.key) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  Result<RankOutcome> run();

 private:
  Result<void> take_signals();
  Result<void> start_all();
  [[noreturn]] void become_rank(std::size_t number, char* const* words, char* const* variables, int null);
  void wait_once();
  void read_signals();
  void read_failures();
  void reap();
  void rank_ended(std::size_t number, int wait_status);
  void failed(int status, const std::string& sentence);
  void signal_all(int signal);
  void press_on();
  void end_orphans();
  [[nodiscard]] std::size_t running() const;

  const RankLaunch& launch_;
  Desk desk_;
  std::vector<Rank> ranks_;
  RankOutcome outcome_;
  pid_t self_ = ::getpid();
  sigset_t taken_{}, before_{};
  int signals_ = -1;
  int trouble_[2] = {-1, -1};
  int user_signal_ = 0;  // the last one handed on that asks programs to end
  long failed_at_ = -1;  // when the first rank failed
  int pressed_ = 0;      // 1: the others were asked to end, 2: killed
  bool masked_ = false;
};

Launcher::~Launcher() {
  for (int fd : {signals_, trouble_[0], trouble_[1]})
    if (fd >= 0) ::close(fd);
  if (masked_) ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

// A signal that is ignored (nohup, a shell's background job) stays so, for the ranks too.
Result<void> Launcher::take_signals() {
  ::sigemptyset(&taken_);
  ::sigaddset(&taken_, SIGCHLD);
  for (int signal : handed_on) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::sigaddset(&taken_, signal);
  }
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &plain, nullptr);  // who ignores it is not told how its children end
  masked_ = ::sigprocmask(SIG_BLOCK, &taken_, &before_) == 0;
  signals_ = ::signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ >= 0 && ::pipe2(trouble_, O_CLOEXEC | O_NONBLOCK) == 0) return {};
  return fail(Errc::io, "can't watch the ranks: " + std::string(std::strerror(errno)), errno);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

void Launcher::become_rank(std::size_t number, char* const* words, char* const* variables, int null) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != self_) ::_exit(127);  // it has died already
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  const CpuSet& mask = launch_.ranks[number].mask;
  if (!mask.empty()) (void)sys::set_affinity(mask);
  if (number != 0 && null >= 0) ::dup2(null, 0);
  ::execvpe(words[0], words, variables);
  ExecFailure failure = {errno};
  [[maybe_unused]] auto written = ::write(trouble_[1], &failure, sizeof failure);
  ::_exit(127);
}

Result<void> Launcher::start_all() {
  auto words = pointers(launch_.command);
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ranks_.resize(launch_.ranks.size());
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    auto variables = pointers(launch_.ranks[number].environment);
    pid_t pid = ::fork();
    if (pid == 0) become_rank(number, words.data(), variables.data(), null);
    if (pid < 0) {
      int error = errno;
      signal_all(SIGKILL);
      if (null >= 0) ::close(null);
      return fail(Errc::io,
                  "can't start rank " + std::to_string(number) + " of " + std::to_string(ranks_.size()) +
                      ": " + std::strerror(error),
                  error);
    }
    ranks_[number] = {.pid = pid, .running = true};
  }
  if (null >= 0) ::close(null);
  ::close(trouble_[1]);
  trouble_[1] = -1;
  return {};
}

std::size_t Launcher::running() const {
  return static_cast<std::size_t>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; }));
}

void Launcher::signal_all(int signal) {
  for (const Rank& rank : ranks_)
    if (rank.running) ::kill(rank.pid, signal);
}

// Hands a signal on that was sent to us alone; what the terminal sends reaches the whole group.
void Launcher::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (ends_programs(signal)) user_signal_ = signal;
    if (info.ssi_code <= 0) signal_all(signal);
  }
}

void Launcher::read_failures() {
  ExecFailure failure;
  if (trouble_[0] < 0) return;
  ssize_t got = ::read(trouble_[0], &failure, sizeof failure);
  if (got == static_cast<ssize_t>(sizeof failure) && outcome_.exec_errno == 0)
    outcome_.exec_errno = failure.error;
  if (got != 0) return;
  ::close(trouble_[0]);  // all ranks have become the program, or ended
  trouble_[0] = -1;
}

void Launcher::failed(int status, const std::string& sentence) {
  if (failed_at_ >= 0) return;
  failed_at_ = sys::now_ms();
  outcome_.status = status;
  outcome_.sentence = sentence;
}

void Launcher::rank_ended(std::size_t number, int wait_status) {
  ranks_[number].running = false;
  desk_.note_end(static_cast<int>(number));
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return;
  std::string who =
      "rank " + std::to_string(number) + " (process " + std::to_string(ranks_[number].pid) + ")";
  std::string others = running() > 0 ? "; the other ranks are ended" : "";
  if (WIFEXITED(wait_status)) {
    int status = WEXITSTATUS(wait_status);
    return failed(status, who + " ended with status " + std::to_string(status) + others);
  }
  int signal = WTERMSIG(wait_status);
  bool news = signal != user_signal_ && signal != SIGPIPE;
  failed(128 + signal, news ? who + " was ended by signal " + std::to_string(signal) + " (" +
                                  ::strsignal(signal) + ")" + others
                            : "");
}

void Launcher::reap() {
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;)
    for (std::size_t number = 0; number < ranks_.size(); ++number)
      if (ranks_[number].running && ranks_[number].pid == pid) rank_ended(number, wait_status);
}

void Launcher::press_on() {
  if (failed_at_ < 0) return;
  long since = sys::now_ms() - failed_at_;
  if (pressed_ == 0 && since >= grace_ms) {
    signal_all(SIGCONT);
    signal_all(SIGTERM);
    pressed_ = 1;
  } else if (pressed_ == 1 && since >= grace_ms + ask_ms) {
    signal_all(SIGKILL);
    pressed_ = 2;
  }
}

void Launcher::wait_once() {
  std::vector<pollfd> watched = {{.fd = signals_, .events = POLLIN, .revents = 0},
                                 {.fd = trouble_[0], .events = POLLIN, .revents = 0}};
  desk_.add_to(watched);
  long limit = 1000;
  if (failed_at_ >= 0) limit = failed_at_ + grace_ms + (pressed_ > 0 ? ask_ms : 0) - sys::now_ms();
  if (desk_.is_resting()) limit = 1;
  sys::wait_for(watched.data(), watched.size(), static_cast<int>(std::clamp(limit, 1L, 1000L)));
  read_failures();
  read_signals();
  reap();
  desk_.serve();
  press_on();
}

// Processes that failed ranks had started are ours now, and so are those that these start meanwhile.
void Launcher::end_orphans() {
  for (int round = 0; round < 50; ++round) {
    auto orphans = sys::own_children();
    if (orphans.empty()) return;
    for (int pid : orphans) ::kill(pid, SIGKILL);
    sys::wait_for(nullptr, 0, 2);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
  }
}

Result<RankOutcome> Launcher::run() {
  if (auto taken = take_signals(); !taken) return tl::unexpected(taken.error());
  auto started = start_all();
  if (!started) {
    end_orphans();
    return tl::unexpected(started.error());
  }
  while (running() > 0) wait_once();
  read_failures();
  desk_.serve_all();  // what ranks said at their very end
  remove_doors(launch_.key, static_cast<int>(ranks_.size()));
  outcome_.account = desk_.account();
  if (outcome_.status != 0) end_orphans();
  return outcome_;
}

bool is_entry_of(const std::string& entry, const std::string& name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0;
}

}  // namespace

Result<RankOutcome> launch_ranks(const RankLaunch& launch) {
  NIGH_CHECK(!launch.ranks.empty() && !launch.command.empty());
  return Launcher(launch).run();
}

Result<std::string> make_job_key(unsigned char (&key)[16]) {
  std::size_t got = 0;
  while (got < sizeof key) {
    ssize_t n = ::getrandom(key + got, sizeof key - got, 0);
    if (n < 0 && errno != EINTR)
      return fail(Errc::io, "the kernel gives no random numbers: " + std::string(std::strerror(errno)),
                  errno);
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  std::string text;
  for (unsigned char byte : key) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::vector<std::string> rank_environment(const std::vector<std::string>& common, int rank, int size,
                                          const std::string& key) {
  std::vector<std::string> out = common;
  std::erase_if(out, [](const std::string& entry) {
    for (const char* name : {"NIGH_RANK", "NIGH_SIZE", "NIGH_JOB"})
      if (is_entry_of(entry, name)) return true;
    for (const sys::LauncherVariables& one : sys::launcher_variables)
      for (const char* name : {one.local_rank, one.local_size})
        if (name != nullptr && is_entry_of(entry, name)) return true;
    return false;
  });
  out.push_back("NIGH_RANK=" + std::to_string(rank));
  out.push_back("NIGH_SIZE=" + std::to_string(size));
  out.push_back("NIGH_JOB=" + key);
  return out;
}

}  // namespace nigh::space
