// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that other processes of this node may map: a file without a name, opened by the others through
// /proc, so that nothing is left of it when all have died. It begins at a huge page and is made of those
// where the kernel has them: a transpose walks through as many pages as there are rows, more than a TLB holds
// of small ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::transpose {

class SharedPages {
 public:
  // The name by which another process finds it.
  struct Name {
    std::uint64_t process = 0, file = 0, bytes = 0, device = 0, inode = 0;
  };

  SharedPages() = default;
  ~SharedPages();
  SharedPages(SharedPages&& other) noexcept;
  SharedPages& operator=(SharedPages&& other) noexcept;

  // at() is nullptr if the kernel refuses. Zeroed; huge pages are there at once, others when they are
  // touched.
  static SharedPages make(std::size_t bytes);
  // The pages of another process, or this one, while it has not been sealed. at() is nullptr if it can't be
  // had: another user's, another container's.
  static SharedPages open(const Name& name);

  [[nodiscard]] std::byte* at() const { return at_; }
  [[nodiscard]] Name name() const;
  // Nobody can open it any more; who has keeps it.
  void seal();

 private:
  bool map();
  int file_ = -1;
  std::size_t bytes_ = 0;
  std::byte* at_ = nullptr;
};

}  // namespace nigh::transpose
