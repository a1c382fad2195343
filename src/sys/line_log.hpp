// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A file that lines are appended to, each by one write, so that it is whole after a crash and two writers do
// not mix theirs. Programs that we start do not inherit it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace nigh::sys {

class LineLog {
 public:
  // Made where missing. Error: io (also: it may have been planted, see append.h).
  static Result<LineLog> open(const std::string& path);
  LineLog(LineLog&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  LineLog& operator=(LineLog&&) = delete;
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;
  ~LineLog();
  // The line without its newline. Error: io (a full disk).
  Result<void> add(const std::string& line);

 private:
  explicit LineLog(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace nigh::sys
