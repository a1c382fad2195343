// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libc's allocator, which has the private blocks. A library that writes a jump over libc's mmap (UCX) leads
// to ours what this allocator maps for itself. That must stay the kernel's, because the address of a block
// tells whose it is. So each thread notes that it is within libc's allocator.
#pragma once

#include <cstddef>

extern "C" {
// glibc under its own other names.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);
void* __libc_memalign(size_t, size_t);
}

namespace nigh::space {

extern constinit thread_local bool t_in_libc __attribute__((tls_model("initial-exec")));

class InLibc {
 public:
  InLibc() { t_in_libc = true; }
  ~InLibc() { t_in_libc = false; }
  InLibc(const InLibc&) = delete;
  InLibc& operator=(const InLibc&) = delete;
};

inline void* libc_malloc(std::size_t bytes) {
  const InLibc here;
  return __libc_malloc(bytes);
}
inline void* libc_calloc(std::size_t count, std::size_t each) {
  const InLibc here;
  return __libc_calloc(count, each);
}
inline void* libc_realloc(void* data, std::size_t bytes) {
  const InLibc here;
  return __libc_realloc(data, bytes);
}
// The first call of a thread makes its heap, be it this one.
inline void libc_free(void* data) {
  const InLibc here;
  __libc_free(data);
}
inline void* libc_memalign(std::size_t align, std::size_t bytes) {
  const InLibc here;
  return __libc_memalign(align, bytes);
}

void libc_heap_ready();  // libc is up
// An mmap with `flags` that has come to ours was made by libc for itself: for its allocator, or as the stack
// of a thread.
bool is_libcs_mapping(int flags);

}  // namespace nigh::space
