// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Masks in the kernel's words; files are in whole_file.cpp.
#include "sys/os.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sys/raw.h"

namespace nigh::sys {

tl::unexpected<Error> io_error(const std::string& what, int error) {
  return fail(error == EACCES || error == EPERM ? Errc::permission : Errc::io,
              what + ": " + std::strerror(error), error);
}

Os::Os(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::string Os::path(const std::string& absolute) const { return root_ + absolute; }

Result<std::string> Os::read(const std::string& absolute) const { return read_file(path(absolute)); }

Result<std::string> Os::read_line(const std::string& absolute) const {
  auto text = read(absolute);
  if (text) text->resize(std::min(text->find('\n'), text->size()));
  return text;
}

std::vector<std::string> Os::list(const std::string& absolute) const {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path(absolute), error), end; !error && it != end;
       it.increment(error))
    out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

bool Os::exists(const std::string& absolute) const {
  std::error_code error;
  return std::filesystem::exists(path(absolute), error);
}

Result<CpuSet> affinity(int tid) {
  std::vector<unsigned long> words((CpuSet::max_cpu + 1) / (8 * sizeof(unsigned long)), 0);
  long got = nigh_raw_getaffinity(tid, words.data(), words.size() * sizeof(unsigned long));
  if (got < 0)
    return io_error("can't read the affinity mask of thread " + std::to_string(tid), static_cast<int>(-got));
  words.resize(static_cast<std::size_t>(got) / sizeof(unsigned long));
  return CpuSet::from_words({words.begin(), words.end()});
}

Result<void> set_affinity(const CpuSet& cpus, int tid) {
  std::vector<unsigned long> words(cpus.words().begin(), cpus.words().end());
  long got = nigh_raw_setaffinity(tid, words.data(), words.size() * sizeof(unsigned long));
  if (got < 0)
    return io_error("can't bind thread " + std::to_string(tid) + " to PUs " + cpus.to_list(),
                    static_cast<int>(-got));
  return {};
}

int current_cpu() { return ::sched_getcpu(); }

}  // namespace nigh::sys
