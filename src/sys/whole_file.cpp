// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// read_file() and write_file() of os.hpp, the only ways to read what a user names and to write what we leave.
// Reading: regular files (of /proc, too, which report size 0) up to a size, nothing that may block or never
// end. Writing: what is no regular file (a device, a FIFO, a terminal, what a descriptor is open on) is
// written straight into. A regular file is replaced by a rename, from a file beside it whose name nobody can
// guess, opened so that nothing planted there is followed. Links lead to where they point, if we, root or the
// folder's owner made them, and the file there is replaced.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sys/os.hpp"

namespace nigh::sys {

namespace {

constexpr int most_links = 40;

const char* name_of_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::string folder_with_slash(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  // 0, or errno: some file systems tell only now that the disk is full.
  int close() {
    const int done = ::close(fd_) == 0 ? 0 : errno;
    fd_ = -1;
    return done;
  }

 private:
  int fd_;
};

// The number in /dev/fd/N, /proc/self/fd/N, /dev/stdout, /dev/stderr; -1: another name. Opening such a name
// anew would begin at the start of the file again.
int descriptor_in(const std::string& path) {
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string number = path.starts_with(folder) ? path.substr(folder.size()) : "";
    if (number.empty() || number.size() > 6 || number.find_first_not_of("0123456789") != std::string::npos)
      continue;
    return std::atoi(number.c_str());
  }
  return -1;
}

// The target of a name.
struct Target {
  std::string path;
  int descriptor = -1;
  bool exists = false;
  struct stat facts{};
};

// Others may have put a link into a folder of all: only who could have written in our place anyway is
// believed.
bool is_trusted(const struct stat& link, const std::string& path) {
  const std::string folder = folder_with_slash(path);
  struct stat facts{};
  if (link.st_uid == ::geteuid() || link.st_uid == 0) return true;
  return ::stat(folder.empty() ? "." : folder.c_str(), &facts) == 0 && facts.st_uid == link.st_uid;
}

Result<Target> resolve(const std::string& name) {
  Target at{.path = name};
  for (int links = 0; links <= most_links; ++links) {
    at.descriptor = descriptor_in(at.path);
    if (at.descriptor >= 0) return at;
    if (::lstat(at.path.c_str(), &at.facts) != 0) {
      if (errno == ENOENT) return at;
      return io_error("can't write " + name, errno);
    }
    at.exists = !S_ISLNK(at.facts.st_mode);
    if (at.exists) return at;
    if (!is_trusted(at.facts, at.path))
      return fail(Errc::permission, "can't write " + name + ": another user has put a link there", EPERM);
    char text[PATH_MAX];
    const ssize_t bytes = ::readlink(at.path.c_str(), text, sizeof text);
    if (bytes < 0) return io_error("can't write " + name, errno);
    const std::string to(text, static_cast<std::size_t>(bytes));
    at.path = to.starts_with('/') ? to : folder_with_slash(at.path) + to;
  }
  return io_error("can't write " + name, ELOOP);
}

// By a rename; what is no regular file is written into.
bool is_replaced(const Target& target) {
  return target.descriptor < 0 && (!target.exists || S_ISREG(target.facts.st_mode));
}

// The longest time for which a FIFO may have no reader, or one that does not read.
constexpr int patience_ms = 10'000;

// 0, or errno; EAGAIN: nobody takes it.
int put(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      if (::poll(&room, 1, patience_ms) == 0) return EAGAIN;
    } else if (n < 0 && errno != EINTR) {
      return errno;
    }
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
}

// A reader that goes is an error of this thread's write, and no signal: we may be in a user's program.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    was_pending_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    const timespec now{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

// To write straight into. A FIFO gets the time that its reader may need to come.
int open_straight(const Target& target) {
  if (target.descriptor >= 0) return ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 3);
  constexpr int step_ms = 20, how = O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  const bool is_fifo = S_ISFIFO(target.facts.st_mode);
  int fd = ::open(target.path.c_str(), is_fifo ? how | O_NONBLOCK : how);
  for (int waited = 0; fd < 0 && is_fifo && errno == ENXIO && waited < patience_ms; waited += step_ms) {
    ::poll(nullptr, 0, step_ms);
    fd = ::open(target.path.c_str(), how | O_NONBLOCK);
  }
  return fd;
}

int put_straight(const Target& target, const std::string& text) {
  const bool is_open = target.descriptor >= 0;
  const NoPipeSignal quiet;
  Descriptor file(open_straight(target));
  if (file.get() < 0) return errno;
  if (is_open) std::fflush(nullptr);  // what was printed before comes before
  return put(file.get(), text);
}

// In digits: who finds one that was left by a kill knows it by them.
Result<std::string> temporary_beside(const std::string& path) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return io_error("the kernel gives no random numbers", errno);
  const std::string end = ".nigh-" + std::to_string(random), folder = folder_with_slash(path);
  const bool fits = path.size() - folder.size() + end.size() <= NAME_MAX;
  return (fits ? path : folder) + end;
}

// The rights of the file that it replaces: a reader that had access still has it, and no other. A user that
// may not give files away keeps the file, and so its group's rights are not given to another group.
int take_over_rights(int fd, const Target& target) {
  if (!target.exists) return 0;
  mode_t mode = target.facts.st_mode & 0777U;
  struct stat made{};
  if (::fstat(fd, &made) != 0) return errno;
  const bool same = made.st_uid == target.facts.st_uid && made.st_gid == target.facts.st_gid;
  if (!same && ::fchown(fd, target.facts.st_uid, target.facts.st_gid) != 0 &&
      ::fchown(fd, static_cast<uid_t>(-1), target.facts.st_gid) != 0)
    mode &= ~mode_t{0070};
  return ::fchmod(fd, mode) == 0 ? 0 : errno;
}

int sync(int fd) {
  if (::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return 0;
  return errno;
}

int replace(const Target& target, const std::string& temporary, const std::string& text) {
  constexpr int how = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(::open(temporary.c_str(), how, target.exists ? 0600 : 0666));
  if (file.get() < 0) return errno;
  int error = put(file.get(), text);
  if (error == 0) error = take_over_rights(file.get(), target);
  if (error == 0) error = sync(file.get());
  if (const int closed = file.close(); error == 0) error = closed;
  if (error == 0 && ::rename(temporary.c_str(), target.path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::uint64_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENXIO) return io_error("can't open " + path + ": it is no file", errno);
  if (file.get() < 0) return io_error("can't open " + path, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return io_error("can't read " + path, errno);
  if (!S_ISREG(facts.st_mode))
    return fail(Errc::invalid,
                "can't read " + path + ": it is " + name_of_kind(facts.st_mode) + ", not a file");
  const auto refuse = [&] {
    return fail(Errc::invalid, "can't read " + path + ": it has more than " + std::to_string(most >> 20) +
                                   " MiB, which is no file of ours");
  };
  if (static_cast<std::uint64_t>(facts.st_size) > most) return refuse();
  std::string text;
  text.reserve(static_cast<std::size_t>(facts.st_size));
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("can't read " + path, errno);
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > most) return refuse();
  }
}

Result<void> write_file(const std::string& path, const std::string& text) {
  const auto target = resolve(path);
  if (!target) return tl::unexpected(target.error());
  const bool is_regular = is_replaced(*target);
  int error = 0;
  if (is_regular) {
    const auto temporary = temporary_beside(target->path);
    if (!temporary) return tl::unexpected(temporary.error());
    error = replace(*target, *temporary, text);
  } else {
    error = put_straight(*target, text);
  }
  if (error == 0) return {};
  const bool is_fifo = target->exists && S_ISFIFO(target->facts.st_mode);
  if (is_fifo && (error == ENXIO || error == EAGAIN))
    return fail(Errc::io, "can't write " + path + ": it is a FIFO, and nobody reads it", error);
  return io_error("can't write " + path, error);
}

Result<std::string> inherited_file(const char* name, const std::string& text) {
  const int fd = ::memfd_create(name, 0);
  if (fd < 0) return io_error("can't make a file of memory", errno);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int error = put(fd, text);
  if (error == 0) return path;
  ::close(fd);
  return io_error("can't write a file of memory", error);
}

bool is_replaced(const std::string& path) {
  const auto target = resolve(path);
  return !target || is_replaced(*target);
}

}  // namespace nigh::sys
