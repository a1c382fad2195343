// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Raw calls: glibc has no wrappers for them, and older headers lack PAGEMAP_SCAN, whose layout
// (linux/fs.h, Documentation/admin-guide/mm/pagemap.rst) is therefore repeated here.
#include "sys/pages.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace nigh::sys {

namespace {
constexpr int mpol_mf_move = 1 << 1, mpol_mf_move_all = 1 << 2;  // linux/mempolicy.h

struct Region {
  std::uint64_t start, end, categories;
};
struct ScanArgument {
  std::uint64_t size = sizeof(ScanArgument), flags = 0, start = 0, end = 0, walk_end = 0, regions = 0,
                regions_count = 0, most_pages = 0, inverted = 0, required = 0, any_of = 0, returned = 0;
};
static_assert(sizeof(ScanArgument) == 96, "struct pm_scan_arg of the kernel");
constexpr unsigned long pagemap_scan = _IOWR('f', 16, ScanArgument);
constexpr std::uint64_t is_present = 1 << 3, is_zero = 1 << 5, is_huge = 1 << 6;

tl::unexpected<Error> call_error(const char* call, int pid, int error) {
  Errc code = error == EPERM || error == EACCES ? Errc::permission
              : error == ENOSYS                 ? Errc::unsupported
                                                : Errc::io;
  return fail(code,
              std::string("the pages of process ") + std::to_string(pid) + " can't be reached (" + call +
                  "): " + std::strerror(error) +
                  (error == EPERM ? "; it needs to be yours and open to ptrace, or CAP_SYS_PTRACE" : ""),
              error);
}
}  // namespace

Result<void> query_pages(int pid, std::span<const std::uint64_t> pages, std::span<int> status) {
  std::fill(status.begin(), status.end(), untold);
  if (pages.empty()) return {};
  if (::syscall(SYS_move_pages, pid, pages.size(), pages.data(), nullptr, status.data(), 0) == 0) return {};
  return call_error("move_pages", pid, errno);
}

long move_pages_to(int pid, std::span<const std::uint64_t> pages, int node, std::span<int> status,
                   bool also_shared) {
  std::fill(status.begin(), status.end(), untold);
  if (pages.empty()) return 0;
  std::vector<int> nodes(pages.size(), node);
  long left = ::syscall(SYS_move_pages, pid, pages.size(), pages.data(), nodes.data(), status.data(),
                        also_shared ? mpol_mf_move_all : mpol_mf_move);
  return left >= 0 ? left : -errno;
}

Result<PresentPages> PresentPages::open(const Os& os, int pid) {
  std::string path = os.path("/proc/" + std::to_string(pid == 0 ? ::getpid() : pid) + "/pagemap");
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return call_error("pagemap", pid, errno);
  ScanArgument empty;  // an empty range: only whether the kernel knows the call
  if (::ioctl(fd, pagemap_scan, &empty) == 0 || (errno != ENOTTY && errno != EINVAL)) return PresentPages(fd);
  int error = errno;
  ScanArgument some;
  Region one{};
  some.end = page_bytes();
  some.regions = reinterpret_cast<std::uint64_t>(&one);
  some.regions_count = 1;
  some.any_of = some.returned = is_present;
  if (error == EINVAL && ::ioctl(fd, pagemap_scan, &some) >= 0) return PresentPages(fd);
  ::close(fd);
  return fail(Errc::unsupported, "this kernel can't tell which pages are there (PAGEMAP_SCAN, Linux 6.7)",
              error);
}

PresentPages::~PresentPages() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::vector<PageRun>> PresentPages::scan(std::uint64_t first, std::uint64_t last) const {
  std::vector<PageRun> out;
  std::vector<Region> regions(1024);
  while (first < last) {
    ScanArgument ask;
    ask.start = first;
    ask.end = last;
    ask.regions = reinterpret_cast<std::uint64_t>(regions.data());
    ask.regions_count = regions.size();
    ask.required = is_present | is_zero;
    ask.inverted = is_zero;  // present and not the zero page
    ask.returned = is_present | is_huge;
    int got = ::ioctl(fd_, pagemap_scan, &ask);
    if (got < 0) return call_error("pagemap", 0, errno);
    for (int i = 0; i < got; ++i)
      out.push_back({regions[static_cast<std::size_t>(i)].start, regions[static_cast<std::size_t>(i)].end,
                     (regions[static_cast<std::size_t>(i)].categories & is_huge) != 0});
    if (ask.walk_end <= first) break;
    first = ask.walk_end;
  }
  return out;
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void want_huge_pages(void* data, std::size_t bytes, bool huge) {
  ::madvise(data, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

}  // namespace nigh::sys
