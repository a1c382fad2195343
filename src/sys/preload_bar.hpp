// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What keeps a preloaded library of this machine's glibc out of a program, as far as the program's file tells
// before it is started. No allocation, no libc, some kilobytes of stack: also for the child of a vfork().
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

// Of a file, relative to a folder (AT_FDCWD: the current one), or, where `path` is empty, of the open file
// `folder` itself; of a script, that of its interpreter. A file that can't be read has no bar.
PreloadBar preload_bar(int folder, const char* path);
// Of a file as execvp() finds it: by PATH where its name has no '/'.
PreloadBar preload_bar_of_command(const char* name);

// Whether a list of LD_PRELOAD names the library of such a sanitizer.
bool names_sanitizer(const char* preload);
// What a user reads of it; "" for none.
const char* reason_of(PreloadBar bar);

// Whether a program with this loader runs on another C library than glibc, for which our libraries are made:
// musl, uClibc, Android's. A loader that we don't know is taken for glibc's.
bool is_foreign_loader(const char* path);

}  // namespace nigh::sys
