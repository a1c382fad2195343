// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory calls straight to the kernel (see raw.h), for code that itself stands in for mmap and malloc: libc's
// wrappers would lead back to it. Each returns the kernel's value: >= 0 (or an address), or -errno.
#pragma once

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "sys/raw.h"

namespace nigh::sys {

// Newer than some C libraries' headers.
inline constexpr int kPopulateRead = 22;
inline constexpr int kPopulateWrite = 23;
inline constexpr int kDontNeedLocked = 24;
inline constexpr int kCollapse = 25;

constexpr bool is_error(long value) { return value < 0 && value >= -4095; }

inline long raw_map(std::uintptr_t at, std::size_t bytes, int prot, int flags, int fd, long offset) {
  return nigh_raw_syscall6(SYS_mmap, static_cast<long>(at), static_cast<long>(bytes), prot, flags, fd,
                           offset);
}
inline long raw_unmap(std::uintptr_t at, std::size_t bytes) {
  return nigh_raw_syscall3(SYS_munmap, static_cast<long>(at), static_cast<long>(bytes), 0);
}
inline long raw_protect(std::uintptr_t at, std::size_t bytes, int prot) {
  return nigh_raw_syscall3(SYS_mprotect, static_cast<long>(at), static_cast<long>(bytes), prot);
}
inline long raw_advise(std::uintptr_t at, std::size_t bytes, int advice) {
  return nigh_raw_syscall3(SYS_madvise, static_cast<long>(at), static_cast<long>(bytes), advice);
}
inline long raw_remap(std::uintptr_t from, std::size_t old_bytes, std::size_t bytes, int flags,
                      std::uintptr_t to) {
  return nigh_raw_syscall6(SYS_mremap, static_cast<long>(from), static_cast<long>(old_bytes),
                           static_cast<long>(bytes), flags, static_cast<long>(to), 0);
}
// One byte per page, bit 0: it is in memory.
inline long raw_resident(std::uintptr_t at, std::size_t bytes, unsigned char* pages) {
  return nigh_raw_syscall3(SYS_mincore, static_cast<long>(at), static_cast<long>(bytes),
                           reinterpret_cast<long>(pages));
}
inline long raw_lock_all(int flags) { return nigh_raw_syscall3(SYS_mlockall, flags, 0, 0); }

// Forgets the memory policy of these bytes; a shared file keeps it beyond munmap.
inline long raw_default_policy(std::uintptr_t at, std::size_t bytes) {
  return nigh_raw_syscall6(SYS_mbind, static_cast<long>(at), static_cast<long>(bytes), 0, 0, 0, 0);
}

// Gives a new file its size, and a number out of the way of programs that count on low ones.
inline long raw_finish_memory_file(long fd, std::uint64_t bytes) {
  long sized = nigh_raw_syscall3(SYS_ftruncate, fd, static_cast<long>(bytes), 0);
  if (sized < 0) {
    nigh_raw_syscall3(SYS_close, fd, 0, 0);
    return sized;
  }
  for (int least : {700, 3}) {
    long moved = nigh_raw_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
    if (moved < 0) continue;
    nigh_raw_syscall3(SYS_close, fd, 0, 0);
    return moved;
  }
  return fd;
}
// A file of memory, sparse, close-on-exec.
inline long raw_memory_file(const char* name, std::uint64_t bytes) {
  const long fd = nigh_raw_syscall3(SYS_memfd_create, reinterpret_cast<long>(name), MFD_CLOEXEC, 0);
  return fd < 0 ? fd : raw_finish_memory_file(fd, bytes);
}
inline long raw_close(int fd) { return nigh_raw_syscall3(SYS_close, fd, 0, 0); }
inline long raw_punch(int fd, std::uint64_t offset, std::uint64_t bytes) {
  return nigh_raw_syscall6(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           static_cast<long>(offset), static_cast<long>(bytes), 0, 0);
}
// The offset at or after `offset` where data (or the next hole) begins; -ENXIO: no data any more.
inline long raw_seek_data(int fd, std::uint64_t offset) {
  return nigh_raw_syscall3(SYS_lseek, fd, static_cast<long>(offset), SEEK_DATA);
}
inline long raw_seek_hole(int fd, std::uint64_t offset) {
  return nigh_raw_syscall3(SYS_lseek, fd, static_cast<long>(offset), SEEK_HOLE);
}
inline long raw_read_at(int fd, void* data, std::size_t bytes, std::uint64_t offset) {
  return nigh_raw_syscall6(SYS_pread64, fd, reinterpret_cast<long>(data), static_cast<long>(bytes),
                           static_cast<long>(offset), 0, 0);
}

// The identity of a file, as /proc/PID/maps shows it.
struct FileIdentity {
  unsigned major = 0, minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  bool operator==(const FileIdentity& other) const {
    return inode == other.inode && major == other.major && minor == other.minor && inode != 0;
  }
};
inline FileIdentity raw_identity(int fd) {
  struct statx got{};
  static const char empty[] = "";
  if (fd < 0 || nigh_raw_syscall6(SYS_statx, fd, reinterpret_cast<long>(empty), AT_EMPTY_PATH,
                                  STATX_INO | STATX_SIZE, reinterpret_cast<long>(&got), 0) != 0)
    return {};
  return {
      .major = got.stx_dev_major, .minor = got.stx_dev_minor, .inode = got.stx_ino, .bytes = got.stx_size};
}

// The soft limit; RLIM_INFINITY also when it can't be asked.
inline std::uint64_t raw_limit(int resource) {
  rlimit got = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  nigh_raw_syscall6(SYS_prlimit64, 0, resource, 0, reinterpret_cast<long>(&got), 0, 0);
  return got.rlim_cur;
}

}  // namespace nigh::sys
