// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Checked after opening, by descriptor, so that nothing can be put in the place of what was checked.
#include "sys/run_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sys/os.hpp"

namespace nigh::sys {

namespace {
tl::unexpected<Error> refused(const std::string& path, const std::string& why, int error) {
  return fail(Errc::permission, path + " can't be used: " + why, error);
}

Result<void> own_folder(const std::string& path, bool private_to_us) {
  int made = ::mkdir(path.c_str(), 0700);
  if (made != 0 && errno != EEXIST) return refused(path, std::strerror(errno), errno);
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return refused(path, std::strerror(errno), errno);
  struct stat facts{};
  int looked = ::fstat(fd, &facts);
  ::close(fd);
  if (looked != 0 || facts.st_uid != ::geteuid()) return refused(path, "it belongs to another user", EPERM);
  unsigned forbidden = private_to_us ? 0077 : 0022;
  if ((facts.st_mode & forbidden) != 0)
    return refused(path, "other users may write to it or look into it; chmod 700 it", EPERM);
  return {};
}
}  // namespace

Result<std::string> private_folder(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return refused(path, "it has no folder above", EINVAL);
  if (auto above = own_folder(path.substr(0, slash), false); !above) return tl::unexpected(above.error());
  if (auto done = own_folder(path, true); !done) return tl::unexpected(done.error());
  return path;
}

namespace {

// Somebody else has taken the name, or has put a link there.
bool is_squatted(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && (facts.st_uid != ::geteuid() || !S_ISDIR(facts.st_mode));
}

}  // namespace

Result<std::string> folder_in_common(const std::string& common, const std::string& name) {
  const std::string usual = "nigh-" + std::to_string(::geteuid()), path = common + "/" + usual;
  if (!is_squatted(path)) return private_folder(path + "/" + name);
  // The one that was made instead before, if any: what was left there is to be found again.
  for (const std::string& other : Os("").list(common))
    if (other.starts_with(usual + "-") && !is_squatted(common + "/" + other))
      if (auto found = private_folder(common + "/" + other + "/" + name)) return found;
  std::string made = path + "-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return refused(made, std::strerror(errno), errno);
  return private_folder(made + "/" + name);
}

Result<std::string> user_folder(const char* variable, const char* in_home, const char* what) {
  const char* named = std::getenv(variable);
  const char* home = std::getenv("HOME");
  if (named != nullptr && *named == '/') return std::string(named);
  if (home != nullptr && *home != '\0') return std::string(home) + in_home;
  return fail(Errc::io,
              std::string("neither ") + variable + " nor HOME is set, so there is no place for " + what,
              ENOENT);
}

Result<std::string> run_folder(const std::string& name) {
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  if (::geteuid() == 0) return private_folder("/run/nigh/" + name);
  if (session != nullptr && session[0] == '/')
    if (auto found = private_folder(std::string(session) + "/nigh/" + name)) return found;
  return folder_in_common("/tmp", name);
}

Result<std::string> read_own_file(const std::string& path) {
  constexpr off_t most = off_t{64} << 20;
  int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(Errc::io, "can't open " + path + ": " + std::strerror(errno), errno);
  struct stat facts{};
  bool ours = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() &&
              (facts.st_mode & 0022) == 0 && facts.st_size <= most;
  std::string text(ours ? static_cast<std::size_t>(facts.st_size) : 0, '\0');
  ssize_t got = ours ? ::read(fd, text.data(), text.size()) : 0;
  ::close(fd);
  if (!ours) return refused(path, "it is not a file that only we can have written", EPERM);
  if (got != facts.st_size) return fail(Errc::io, "can't read " + path + " whole", errno);
  return text;
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail(Errc::io, "can't remove " + path + ": " + std::strerror(errno), errno);
}

}  // namespace nigh::sys
