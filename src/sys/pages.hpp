// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The pages of another process: which are there, on which node each is, and the calls that move them
// (move_pages(2), migrate_pages(2)). move_pages stops at the first batch that does not move wholly and leaves
// the rest of the status array as it was, so every status begins as `untold` and the caller asks again.
#pragma once

#include <climits>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "sys/os.hpp"

namespace nigh::sys {

constexpr int untold = INT_MIN;  // the kernel said nothing about this page

// Asks for the node of each page, given by any address in it: status[i] is a node or -errno (-ENOENT: nothing
// there, before Linux 6.4 also a page that waits for a NUMA hint fault; -EFAULT: the zero page or no
// mapping). `pid` 0 is the caller. 0.2 to 0.3 us a page. Errors: permission (ptrace rights), io (ESRCH:
// gone), unsupported (a kernel without NUMA).
Result<void> query_pages(int pid, std::span<const std::uint64_t> pages, std::span<int> status);

// Asks the kernel to move all pages to one node. status[i]: the node, -errno, or untold. 0: all that could be
// has been done; > 0: about so many pages did not move; < 0: -errno of the call (ESRCH, EPERM, ENOMEM: the
// node is full, ENODEV: it has no memory, EACCES: the process's cpuset excludes it, ...). `also_shared`:
// MPOL_MF_MOVE_ALL, pages that other processes have mapped as well; needs CAP_SYS_NICE.
long move_pages_to(int pid, std::span<const std::uint64_t> pages, int node, std::span<int> status,
                   bool also_shared = false);

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

struct PageRun {
  std::uint64_t first = 0, last = 0;  // bytes [first, last)
  bool huge = false;                  // mapped by one entry of 2 MiB
};
// The pages of [first, last) that are there (PAGEMAP_SCAN, Linux 6.7; costs nothing where nothing is). Empty
// places and the zero page are left out. Errors: unsupported (an older kernel: every page has to be asked),
// permission, io (gone).
class PresentPages {
 public:
  static Result<PresentPages> open(const Os& os, int pid);
  PresentPages(PresentPages&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  PresentPages& operator=(PresentPages&&) = delete;
  PresentPages(const PresentPages&) = delete;
  PresentPages& operator=(const PresentPages&) = delete;
  ~PresentPages();
  [[nodiscard]] Result<std::vector<PageRun>> scan(std::uint64_t first, std::uint64_t last) const;

 private:
  explicit PresentPages(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// The base page of this machine in bytes.
std::uint64_t page_bytes();
// Gives a range of our own back to base pages, or asks for huge ones, before it is touched (madvise).
void want_huge_pages(void* data, std::size_t bytes, bool huge);

}  // namespace nigh::sys
