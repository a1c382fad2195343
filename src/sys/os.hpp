// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The one door to the operating system for the commands: files of /sys and /proc through an injectable
// root (a test hands in a recorded tree), and the calls on threads. Nothing outside this room opens such a
// file or makes a system call, so everything above can be tested on machines we do not have.
#pragma once

#include <cstdint>
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

// permission or io, and what the system says of `error` (errno).
tl::unexpected<Error> io_error(const std::string& what, int error);

// A whole regular file anywhere (not below a root), of at most `most` bytes. Errors: io, permission; invalid:
// it is a device, a FIFO, a folder, or too large.
inline constexpr std::uint64_t most_of_input = std::uint64_t{256} << 20;
inline constexpr std::uint64_t any_size = std::uint64_t{1} << 62;
Result<std::string> read_file(const std::string& path, std::uint64_t most = most_of_input);
// Replaces a whole file, so that a reader or a crash never sees half of one, nor anybody's planted link or
// file is written to; it keeps its permissions. What is no regular file (a device, a FIFO, /dev/stdout) is
// written into.
Result<void> write_file(const std::string& path, const std::string& text);
// A file of memory with this text, which programs that this process becomes or starts inherit; returns its
// path, the same for them, "/proc/self/fd/5". It is gone when the last of them ends. Errors: io.
Result<std::string> inherited_file(const char* name, const std::string& text);
// True if writing would replace a file, or make one.
bool is_replaced(const std::string& path);

// The affinity mask of a thread (0: the caller). Errors: io (no such thread), permission.
Result<CpuSet> affinity(int tid = 0);
Result<void> set_affinity(const CpuSet& cpus, int tid = 0);
int current_cpu();

}  // namespace nigh::sys
