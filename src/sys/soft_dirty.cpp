// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Files of /proc are written in one write(2), without a buffer: the kernel acts on each write.
#include "sys/soft_dirty.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "sys/pages.hpp"

namespace nigh::sys {

bool soft_dirty_works() {
  void* page = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  *static_cast<volatile char*>(page) = 1;
  std::uint64_t entry = 0;
  int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    auto offset = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page) / page_bytes() * sizeof entry);
    if (::pread(fd, &entry, sizeof entry, offset) != sizeof entry) entry = 0;
    ::close(fd);
  }
  ::munmap(page, page_bytes());
  return ((entry >> 55) & 1) != 0;
}

Result<void> clear_soft_dirty(const Os& os, int pid) {
  std::string path = os.path("/proc/" + std::to_string(pid) + "/clear_refs");
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (::write(fd, "4", 1) != 1) error = errno;
    ::close(fd);
  }
  if (error == 0) return {};
  return fail(error == EACCES || error == EPERM ? Errc::permission : Errc::io,
              "can't write " + path + ": " + std::strerror(error), error);
}

}  // namespace nigh::sys
