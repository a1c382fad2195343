// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See limits.hpp. A slot is address space, not memory, so a limit on address space forbids it: the slots of
// all ranks are far larger than any such limit. Memory of a file is charged when it is touched; where the
// kernel keeps strict account (overcommit 2) its lack would come as SIGBUS instead of as a refused malloc.
#include "space/limits.hpp"

#include <string.h>

#include "space/slot.hpp"
#include "sys/raw_file.hpp"
#include "sys/variables.hpp"

// Present if, and only if, a sanitizer with an allocator of its own is in this process.
extern "C" {
void __asan_init() __attribute__((weak));
void __hwasan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
void __msan_init() __attribute__((weak));
void __lsan_init() __attribute__((weak));
}

namespace nigh::space {

static bool sanitized() {
  return __asan_init != nullptr || __hwasan_init != nullptr || __tsan_init != nullptr ||
         __msan_init != nullptr || __lsan_init != nullptr;
}

const char* forbidden(std::uint64_t& span) {
  if (sys::is_off("NIGH_SPACE", look_up_at_start)) return "NIGH_SPACE=off asks for none";
  if (sanitized()) return "a sanitizer's allocator is in this process";
  if (sys::raw_limit(RLIMIT_AS) != RLIM_INFINITY)
    return "the address space of this process is limited (ulimit -v); 'ulimit -v unlimited' allows a space";
  if (sys::raw_limit(RLIMIT_DATA) != RLIM_INFINITY)
    return "the data of this process is limited (ulimit -d); 'ulimit -d unlimited' allows a space";
  if (sys::raw_overcommit() == 2)
    return "the kernel keeps strict account of memory here (vm.overcommit_memory is 2)";
  const std::uint64_t file = sys::raw_limit(RLIMIT_FSIZE);
  if (file < span) span = file & ~(kHugePage - 1);
  if (span < std::uint64_t{4} << 30)
    return "files of this process are limited (ulimit -f) to less than 4 GiB; 'ulimit -f unlimited' allows a "
           "space";
  return nullptr;
}

bool affordable(std::size_t bytes, std::uint64_t used) {
  constexpr std::size_t large = std::size_t{64} << 20;
  // Set after we began; mappings of files don't count there, so the kernel would not say no.
  if (used + bytes > sys::raw_limit(RLIMIT_DATA)) return false;
  if (bytes < large) return true;
  return bytes <= g_slot.total && bytes <= sys::raw_headroom();
}

}  // namespace nigh::space
