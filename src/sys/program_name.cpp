// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/program_name.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace nigh::sys {
namespace {

constexpr std::size_t longest = 100;

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_interpreter(std::string_view name) {
  for (const std::string_view one : {"python", "pypy", "perl", "ruby", "julia", "Rscript", "bash", "octave"})
    if (name.starts_with(one)) return true;
  return name == "sh" || name == "dash";
}

std::string_view take_argument(std::string_view& arguments) {
  const std::size_t end = std::min(arguments.find('\0'), arguments.size());
  const std::string_view one = arguments.substr(0, end);
  arguments.remove_prefix(std::min(end + 1, arguments.size()));
  return one;
}

}  // namespace

std::string program_name(std::string_view arguments) {
  const std::string_view program = file_of(take_argument(arguments));
  std::string name(program);
  while (is_interpreter(program) && !arguments.empty()) {
    const std::string_view word = take_argument(arguments);
    if (word == "-c" || word == "-e") break;  // what follows is its text
    if (word.empty() || word.front() == '-') continue;
    name += " " + std::string(file_of(word));
    break;
  }
  return name.substr(0, longest);
}

std::string own_program_name() {
  char text[4096];
  const int fd = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const ssize_t length = ::read(fd, text, sizeof text);
  ::close(fd);
  return length > 0 ? program_name({text, static_cast<std::size_t>(length)}) : "";
}

}  // namespace nigh::sys
