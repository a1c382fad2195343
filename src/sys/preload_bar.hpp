// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Reasons why a preloaded library of this machine's glibc cannot be in a program, read from the program's
// file before it is started. No allocation, no libc, some kilobytes of stack: also for the child of a
// vfork().
#pragma once

namespace nigh::sys {

enum class PreloadBar {
  none,
  foreign_loader,  // musl's, uClibc's, Android's
  bits32,
  machine,    // made for another kind of processor (run by an emulator)
  sanitizer,  // AddressSanitizer, ThreadSanitizer or HWAddressSanitizer as a library
  valgrind,
};

// The bar of a file: `path` is relative to `folder` (AT_FDCWD: the current one), or empty for the open file
// `folder` itself. A script has the bar of its interpreter, a file that can't be read has none.
PreloadBar preload_bar(int folder, const char* path);
// The same for a file as execvp() finds it: by PATH where its name has no '/'.
PreloadBar preload_bar_of_command(const char* name);

// True if a list of LD_PRELOAD names the library of such a sanitizer.
bool names_sanitizer(const char* preload);
// The bar in words for users; "" for none.
const char* reason_of(PreloadBar bar);

// True for the loader of another C library than glibc, for which our libraries are made: musl, uClibc,
// Android's. A loader that we don't know is taken for glibc's.
bool is_foreign_loader(const char* path);

}  // namespace nigh::sys
