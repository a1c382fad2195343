// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The one door to the operating system for the commands: files of /sys and /proc through an injectable
// root (a test hands in a recorded tree), and the calls on threads. Nothing outside this room opens such a
// file or makes a system call, so everything above can be tested on machines we do not have.
#pragma once

#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"

namespace nigh::sys {

class Os {
 public:
  // `root` is put before every absolute path: "/" is the real machine.
  explicit Os(std::string root = "/");
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string path(const std::string& absolute) const;
  [[nodiscard]] Result<std::string> read(const std::string& absolute) const;
  // The first line, without its newline.
  [[nodiscard]] Result<std::string> read_line(const std::string& absolute) const;
  // Names in a directory, sorted; empty when there is no such directory.
  [[nodiscard]] std::vector<std::string> list(const std::string& absolute) const;
  [[nodiscard]] bool exists(const std::string& absolute) const;

 private:
  std::string root_;
};

// Reads or replaces a whole file anywhere (not below a root); writing goes through a temporary file and a
// rename, so that a reader or a crash never sees half a file.
Result<std::string> read_file(const std::string& path);
Result<void> write_file(const std::string& path, const std::string& text);

// The affinity mask of a thread (0: the caller). Errors: io (no such thread), permission.
Result<CpuSet> affinity(int tid = 0);
Result<void> set_affinity(const CpuSet& cpus, int tid = 0);
int current_cpu();

}  // namespace nigh::sys
