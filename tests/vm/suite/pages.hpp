// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Small pages of our own, and where each of them is: move_pages without targets is the kernel's own answer.
#pragma once

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

class Pages {
 public:
  static constexpr std::size_t size = 4096;

  explicit Pages(std::size_t count) : count_(count) {
    base_ = static_cast<char*>(
        mmap(nullptr, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(base_, count * size, MADV_NOHUGEPAGE);
  }
  ~Pages() { munmap(base_, count_ * size); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void touch() { std::memset(base_, 1, count_ * size); }
  [[nodiscard]] char* base() const { return base_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  // node -> pages there; negative keys are the kernel's error numbers (-ENOENT: not touched yet).
  [[nodiscard]] std::map<int, int> where() const {
    std::vector<int> status = move(nullptr);
    std::map<int, int> found;
    for (int one : status) ++found[one];
    return found;
  }
  [[nodiscard]] bool all_on(int node) const {
    const std::map<int, int> found = where();
    return found.size() == 1 && found.begin()->first == node;
  }
  std::vector<int> move_to(int node) const {
    const std::vector<int> targets(count_, node);
    return move(targets.data());
  }
  long bind(int mode, int node) const {
    const unsigned long mask[2] = {node < 64 ? 1UL << node : 0, node < 64 ? 0 : 1UL << (node - 64)};
    return syscall(SYS_mbind, base_, count_ * size, mode, mask, 129UL, 0U);
  }

 private:
  std::vector<int> move(const int* targets) const {
    std::vector<void*> addresses;
    for (std::size_t i = 0; i < count_; ++i) addresses.push_back(base_ + i * size);
    std::vector<int> status(count_, -EIO);
    if (syscall(SYS_move_pages, 0, count_, addresses.data(), targets, status.data(), MPOL_MF_MOVE) < 0)
      status.assign(count_, -errno);
    return status;
  }

  char* base_;
  std::size_t count_;
};

inline bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}
