// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Files of /proc are written in one write(2), without a buffer: the kernel acts on each write.
#include "sys/page_watch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace nigh::sys {

namespace {
// One call asks for at most this many pages: the kernel copies the list.
constexpr std::size_t most_at_once = 16384;

tl::unexpected<Error> page_error(int pid, int error) {
  std::string what =
      "can't ask where the pages of process " + std::to_string(pid) + " are: " + std::strerror(error);
  if (error == EPERM || error == EACCES)
    return fail(Errc::permission, what + "; other users' processes need CAP_SYS_PTRACE", error);
  return fail(error == ENOSYS ? Errc::unsupported : Errc::io, what, error);
}
}  // namespace

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Result<std::vector<int>> page_nodes(int pid, std::span<const std::uint64_t> addresses) {
  std::vector<int> nodes(addresses.size(), -ENOENT);
  std::vector<void*> pages;
  for (std::size_t done = 0; done < addresses.size(); done += most_at_once) {
    std::size_t count = std::min(most_at_once, addresses.size() - done);
    pages.clear();
    for (std::uint64_t address : addresses.subspan(done, count))
      pages.push_back(reinterpret_cast<void*>(address & ~(page_size() - 1)));
    if (::syscall(SYS_move_pages, pid, count, pages.data(), nullptr, nodes.data() + done, 0) < 0)
      return page_error(pid, errno);
  }
  return nodes;
}

bool soft_dirty_works() {
  void* page = ::mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  *static_cast<volatile char*>(page) = 1;
  std::uint64_t entry = 0;
  int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    auto offset = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page) / page_size() * sizeof entry);
    if (::pread(fd, &entry, sizeof entry, offset) != sizeof entry) entry = 0;
    ::close(fd);
  }
  ::munmap(page, page_size());
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
