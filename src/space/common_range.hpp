// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses that mean the same in all processes of a job: what lies there can go from one to another without
// a pointer being changed (isomalloc: Antoniu, Bouge, Namyst, IPPS 1999). Every process keeps the same range
// free; who may use which part of it is the caller's to say. Its memory is a process's own, to be copied to
// where it goes, or that of a file of memory, which all of them see.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nigh::space {

class CommonRange {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 43;
  // Below the slots of a space (layout.hpp), above what programs have at the low end. (The first is free
  // beside the address sanitizer, too.)
  static constexpr std::array<std::uintptr_t, 3> places = {0x180000000000, 0x100000000000, 0x080000000000};

  // Keeps each of these places that is free in this process.
  CommonRange();
  CommonRange(const CommonRange&) = delete;
  CommonRange& operator=(const CommonRange&) = delete;
  ~CommonRange();

  // Bit i: places[i]. For the others to know.
  [[nodiscard]] std::uint32_t free_places() const { return free_; }
  // It is the first place that is free in all; the others are given back. False: there is none.
  bool settle(std::uint32_t free_in_all);
  // For this process and those that it forks: any place. False: address space is limited.
  bool settle_alone();

  // A file of memory for all of it, to be opened by the others while this process lives. Empty: there can't
  // be one.
  std::string make_file();
  bool share(const std::string& file);
  [[nodiscard]] bool is_shared() const { return file_ >= 0; }

  [[nodiscard]] bool settled() const { return bytes_ > 0; }
  [[nodiscard]] std::uintptr_t first() const { return first_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool has(const void* data, std::size_t size) const {
    const auto offset = reinterpret_cast<std::uintptr_t>(data) - first_;
    return offset < bytes_ && size <= bytes_ - offset;
  }

  // These bytes may be read and written from now on; any thread. False: there is no memory.
  bool use(const void* data, std::size_t size);
  // Nobody needs what is in these pages.
  void discard(void* data, std::size_t size) const;

 private:
  static constexpr std::size_t slab = std::size_t{64} << 20;  // as few mappings as possible
  static std::uintptr_t keep(std::uintptr_t at, std::size_t bytes);
  void open_slabs();

  std::uint32_t free_ = 0;
  std::uintptr_t first_ = 0;
  std::size_t bytes_ = 0;
  int file_ = -1;
  std::vector<std::atomic<std::uint64_t>> in_use_;  // slabs, a bit each
};

}  // namespace nigh::space
