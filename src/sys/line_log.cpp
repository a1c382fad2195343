// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/line_log.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sys/append.h"

namespace nigh::sys {

Result<LineLog> LineLog::open(const std::string& path) {
  const int fd = nigh_open_append(path.c_str());
  if (fd < 0) return fail(Errc::io, "can't append to " + path + ": " + std::strerror(errno), errno);
  return LineLog(fd);
}

LineLog::~LineLog() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> LineLog::add(const std::string& line) {
  const std::string text = line + '\n';
  const ssize_t written = ::write(fd_, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return {};
  const int error = written < 0 ? errno : ENOSPC;
  return fail(Errc::io, std::string("the log can't be written: ") + std::strerror(error), error);
}

}  // namespace nigh::sys
