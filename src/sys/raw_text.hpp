// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Texts without libc: its string functions may be the program's own (ThreadSanitizer's, a tool's), which are
// not ready yet while the first constructors run, and are not ours to call after vfork().
#pragma once

#include <cstddef>

namespace nigh::sys {

// Keeps the compiler from making a call of strlen, memcpy or the like of a loop.
inline void keep_loop() { __asm__ volatile("" ::: "memory"); }

inline std::size_t raw_length(const char* text) {
  std::size_t length = 0;
  for (; text[length] != '\0'; ++length) keep_loop();
  return length;
}

// Length of the part in front of the first `stop`, or of all.
inline std::size_t raw_length_to(const char* text, char stop) {
  std::size_t length = 0;
  for (; text[length] != '\0' && text[length] != stop; ++length) keep_loop();
  return length;
}

inline bool raw_begins(const char* text, const char* begin) {
  for (; *begin != '\0'; ++text, ++begin) {
    if (*text != *begin) return false;
    keep_loop();
  }
  return true;
}

inline bool raw_equal(const char* one, const char* other) {
  return raw_begins(one, other) && raw_length(one) == raw_length(other);
}

// The part behind the last '/'.
inline const char* raw_base_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
    keep_loop();
  }
  return name;
}

// At most `bytes` - 1 characters and a NUL; false: there was no room for all.
inline bool raw_copy(char* to, std::size_t bytes, const char* from, std::size_t length) {
  const bool fits = length < bytes;
  if (!fits) length = bytes - 1;
  for (std::size_t i = 0; i < length; ++i) {
    to[i] = from[i];
    keep_loop();
  }
  to[length] = '\0';
  return fits;
}

// The value of NAME=VALUE among the entries; null: there is none.
inline const char* raw_variable(char* const* entries, const char* name) {
  for (; *entries != nullptr; ++entries)
    if (raw_begins(*entries, name))
      if (const char* rest = *entries + raw_length(name); *rest == '=') return rest + 1;
  return nullptr;
}

}  // namespace nigh::sys
