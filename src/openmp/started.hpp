// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// LD_PRELOAD is inherited by whatever a script starts, also by programs whose loader refuses our libraries or
// mistakes them: those on another C library, with a sanitizer's library, of another machine, in another root.
// The environment of such a program leaves our libraries out. All of it is made on the stack, without malloc
// or other calls of libc, since the child of a vfork() does it.
#pragma once

#include <stddef.h>

namespace nigh::preload {

// A program that is about to be started.
struct Started {
  int folder;        // of a relative path, or, with an empty path, the open file itself
  const char* file;  // a path, or
  bool by_path;      // a name that is looked up in PATH
};

class StartedEnvironment {
 public:
  StartedEnvironment(const Started& program, char* const* entries);
  // The size of the memory that entries() needs; 0: the environment stays as it is.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  char* const* entries(void* memory) const;

 private:
  char* const* entries_;
  const char* preload_ = nullptr;  // the value of LD_PRELOAD
  bool all_ = false;               // of ours leave; else those alone that are not there
  bool tells_ = false;  // where teams were asked for: libnigh-openmp.so stays, to say that it can't
  size_t bytes_ = 0;
};

// The entries, in memory of the caller's frame.
#define NIGH_ENTRIES(started) (started).entries((started).bytes() ? alloca((started).bytes()) : nullptr)

}  // namespace nigh::preload
