// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A set of CPU (PU) or NUMA node numbers as Linux counts them. Unlike cpu_set_t it grows as needed, so
// a machine of any size works, and unlike hwloc_bitmap_t it is a plain value: copied, compared and
// hashed without a library. Its text form is the kernel's list format ("0-5,8,12-15").
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nigh {

class CpuSet {
 public:
  // The largest number accepted from text; the kernel's own limit (NR_CPUS) is 8192 today.
  static constexpr int max_cpu = 65535;

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus) {
    for (int c : cpus) set(c);
  }
  static CpuSet range(int first, int last);
  // Reads "0-5,8,12-15" (spaces allowed, "" is the empty set). Errors name the position.
  static Result<CpuSet> parse(std::string_view list);

  void set(int cpu);
  void clear(int cpu);
  [[nodiscard]] bool test(int cpu) const;
  [[nodiscard]] int count() const;
  [[nodiscard]] bool empty() const { return count() == 0; }
  // First member, or the first member after `cpu`; -1 when there is none.
  [[nodiscard]] int first() const { return next(-1); }
  [[nodiscard]] int next(int cpu) const;
  [[nodiscard]] bool contains(const CpuSet& other) const;
  [[nodiscard]] bool intersects(const CpuSet& other) const;
  [[nodiscard]] std::vector<int> members() const;
  [[nodiscard]] std::string to_list() const;

  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
  [[nodiscard]] CpuSet minus(const CpuSet& other) const;
  friend bool operator==(const CpuSet& a, const CpuSet& b) { return a.words_ == b.words_; }

  // The bits, 64 a word, lowest CPU first, no trailing zero words: what sched_setaffinity wants.
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
  static CpuSet from_words(std::vector<std::uint64_t> words);

 private:
  void trim();
  std::vector<std::uint64_t> words_;
};

}  // namespace nigh
