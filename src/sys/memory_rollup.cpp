// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/memory_rollup.hpp"

#include <initializer_list>

#include "sys/raw_file.hpp"

namespace nigh::sys {

MemoryRollup memory_rollup(const char* text) {
  const auto mib = [text](std::initializer_list<const char*> keys) {
    double kib = 0;
    for (const char* key : keys) kib += static_cast<double>(number_after(text, key));
    return kib / 1024;
  };
  // Pages of hugetlbfs are not among the resident ones.
  const double reserved = mib({"Shared_Hugetlb:", "Private_Hugetlb:"});
  return {.resident_mib = mib({"Rss:"}) + reserved,
          .huge_mib = mib({"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"}) + reserved};
}

MemoryRollup own_memory_rollup() {
  char text[4096];
  return raw_read_file("/proc/self/smaps_rollup", text, sizeof text) > 0 ? memory_rollup(text)
                                                                         : MemoryRollup{};
}

}  // namespace nigh::sys
