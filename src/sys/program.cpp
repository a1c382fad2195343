// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The look at the program is advice only; whether it can run is the kernel's word, asked last by exec.
#include "sys/program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace nigh::sys {

namespace {

bool is_executable_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// True if the kernel starts the file with rights that the caller lacks (AT_SECURE): the loader then ignores
// LD_PRELOAD. Rights that the caller has anyway change nothing.
bool raises_rights(const std::string& path, const struct stat& info) {
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != ::geteuid()) return true;
  if ((info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 && info.st_gid != ::getegid())
    return true;
  return ::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string read_at(int fd, std::uint64_t file_bytes, std::uint64_t offset, std::size_t size) {
  std::string bytes;
  if (offset >= file_bytes) return bytes;
  bytes.resize(std::min<std::uint64_t>(size, file_bytes - offset));
  std::size_t got = 0;
  while (got < bytes.size()) {
    ssize_t n = ::pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

// Names of symbols are short and near each other: they come out of one window of the file.
class Window {
 public:
  Window(int fd, std::uint64_t file_bytes) : fd_(fd), file_bytes_(file_bytes) {}
  std::string read(std::uint64_t offset, std::size_t size) {
    if (size > bytes_of_window / 2) return read_at(fd_, file_bytes_, offset, size);
    if (offset < start_ || offset - start_ + size > bytes_.size()) {
      start_ = offset;
      bytes_ = read_at(fd_, file_bytes_, offset, bytes_of_window);
    }
    return bytes_.substr(std::min<std::size_t>(offset - start_, bytes_.size()), size);
  }

 private:
  static constexpr std::size_t bytes_of_window = 8192;
  int fd_;
  std::uint64_t file_bytes_, start_ = 0;
  std::string bytes_;
};

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos)
    return is_executable_file(name) ? std::optional(name) : std::nullopt;
  const char* variable = std::getenv("PATH");
  std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
  for (std::size_t at = 0; at <= path.size();) {
    std::size_t end = std::min(path.find(':', at), path.size());
    std::string folder = path.substr(at, end - at);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_executable_file(candidate)) return candidate;
    at = end + 1;
  }
  return std::nullopt;
}

Result<ProgramFacts> inspect_program(const std::string& path, bool deep) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info{};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    int error = errno;
    if (fd >= 0) ::close(fd);
    return fail(error == EACCES ? Errc::permission : Errc::io,
                "can't read " + path + ": " + std::strerror(error), error);
  }
  Window window(fd, static_cast<std::uint64_t>(info.st_size));
  ProgramFacts facts =
      elf_facts([&](std::uint64_t offset, std::size_t size) { return window.read(offset, size); }, deep);
  ::close(fd);
  facts.gains_rights = raises_rights(path, info);
  return facts;
}

Result<std::string> own_executable() {
  char path[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0 || n == static_cast<ssize_t>(sizeof path))
    return fail(Errc::io, "nigh can't find its own files, as there is no /proc/self/exe (is /proc mounted?)",
                errno);
  return std::string(path, static_cast<std::size_t>(n));
}

bool is_readable_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), R_OK) == 0;
}

std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) out.emplace_back(*entry);
  return out;
}

std::vector<char*> exec_words(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const auto& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

int become(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  if (command.empty()) return EINVAL;
  auto arguments = exec_words(command);
  auto variables = exec_words(environment);
  ::execvpe(arguments[0], arguments.data(), variables.data());
  return errno;
}

}  // namespace nigh::sys
