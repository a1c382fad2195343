// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Small files of the kernel read without libc, allocation or locks: before libc is initialised, within
// malloc, in the child of a fork. Besides plain reading, the questions that such code has: the environment we
// were started with, how much memory may still be taken, what is mapped where.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::sys {

// At most `bytes` - 1 characters and a NUL; the number of characters, or -errno.
long raw_read_file(const char* path, char* text, std::size_t bytes);

// Reads the text of a file line by line, through a buffer of its own; longer lines are cut.
class RawLines {
 public:
  explicit RawLines(const char* path);
  RawLines(const RawLines&) = delete;
  RawLines& operator=(const RawLines&) = delete;
  ~RawLines();
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  // The next line without its newline, or nullptr at the end.
  const char* next();

 private:
  static constexpr std::size_t kBytes = 4096;
  int fd_ = -1;
  bool ended_ = false;
  std::size_t begin_ = 0, end_ = 0;
  char buffer_[kBytes + 1];
};

// One line of /proc/self/maps.
struct RawMapping {
  std::uintptr_t lo = 0, hi = 0;
  int prot = 0;
  bool shared = false;
  std::uint64_t offset = 0;
  unsigned major = 0, minor = 0;
  std::uint64_t inode = 0;
};
bool parse_mapping(const char* line, RawMapping& out);

// The number behind `key` in lines of "key 123 kB" or "key 123", as it stands there; 0: no such line.
std::uint64_t number_after(const char* text, const char* key);

// Bytes this process may still take before the machine or a cgroup (v1 or v2, any level) is full.
std::uint64_t raw_headroom();
// RAM and swap of the machine.
std::uint64_t raw_total_memory();
// The number of NUMA nodes with memory that we may use; at least 1.
int raw_memory_nodes();
// /proc/sys/vm/overcommit_memory; 0 when it can't be read.
int raw_overcommit();
// CPUs of the machine, whichever of them this process may use; 1 if nobody says.
int raw_cpus_online();
// The setting in the file `name` of /sys/kernel/mm/transparent_hugepage: "never", "advise", ... or "".
void raw_huge_setting(const char* name, char* word, std::size_t bytes);
// True: this is a virtual machine whose host takes free memory back by itself (virtio balloon, free page
// reporting; virtio 1.2, 5.5.6), so that memory used again may have to be fetched.
bool raw_free_pages_leave();
// Threads of this process; 0: unknown.
int raw_thread_count();

}  // namespace nigh::sys
