// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/regular_file.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "sys/os.hpp"

namespace nigh::sys {

Result<std::uint64_t> file_size(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return io_error("can't open " + path, errno);
  if (!S_ISREG(found.st_mode)) return fail(Errc::invalid, path + " is no regular file");
  return static_cast<std::uint64_t>(found.st_size);
}

}  // namespace nigh::sys
